"""One consumer of a topic: which event it gets next, and what becomes of those it had."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from gnl_core.memory._event import Delivery, Event
from gnl_core.spi.event_values import (
    DELIVER_LOOK_LIMIT,
    Ack,
    ConsumerRecord,
    DeliveryState,
    EventGrant,
    EventHold,
    EventVerdict,
    Quarantine,
)
from gnl_core.spi.job_values import LEASE_EXPIRED, Duration, Instant, Release, Retry


class Consumer:
    """Its reach, and every event up to there that is not acked. `log` is the topic's, in order."""

    def __init__(
        self, number: int, topic: str, name: str, log: Sequence[Event], reach: int
    ) -> None:
        self.number = number
        self.topic = topic
        self.name = name
        self.reach = reach
        self._log = log
        self._rewinds = 0
        self._retried_last = True
        self._deliveries: dict[int, Delivery] = {}

    # Handing out

    def deliver(
        self,
        limit: int,
        now: Instant,
        token: Callable[[], int],
        *,
        ttl: Duration,
        max_attempts: int | None,
        by_key: bool,
    ) -> list[EventGrant]:
        self._end_expired(now)
        passes = iter(range(DELIVER_LOOK_LIMIT))
        grants: list[EventGrant] = []
        while len(grants) < limit:
            delivery = self._given_back(by_key=by_key) or self._in_turn(now, passes, by_key=by_key)
            if delivery is None:
                break
            grants.append(self._grant(delivery, now, token(), ttl, max_attempts))
        return grants

    def next_due(self, now: Instant, *, by_key: bool) -> Duration | None:
        """How long until something can be handed out; 0 if it can be now."""
        if self._behind(self.reach):
            return 0
        due = min((d.due_at for d in self._parked(by_key=by_key)), default=None)
        return None if due is None else max(0, due - now)

    def _end_expired(self, now: Instant) -> None:
        expired = [
            d
            for d in self._deliveries.values()
            if d.state is DeliveryState.HELD and now >= d.expires_at
        ]
        expired.sort(key=lambda d: (d.expires_at, d.position))
        for delivery in expired[:DELIVER_LOOK_LIMIT]:
            if delivery.budget is not None and delivery.attempts >= delivery.budget:
                self._set_aside(delivery, LEASE_EXPIRED, now)
            else:
                self._park(delivery, delivery.expires_at, given_back=True, error=LEASE_EXPIRED)
                delivery.reclaimed = True

    def _in_turn(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Delivery | None:
        """A due retry and a new event in turn, if there are both."""
        new = self._next_new(now, passes, by_key=by_key)
        retry = self._due_retry(now, by_key=by_key)
        if retry is not None and (new is None or not self._retried_last):
            self._retried_last = True
            return retry
        if new is None:
            return None
        self._retried_last = False
        return self._hand_out(new, now)

    def _next_new(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Event | None:
        """The next new event; those that have to wait for their key are parked on the way."""
        for event in self._behind(self.reach):
            if not by_key or not self._waits_for_key(event):
                return event
            if next(passes, None) is None:
                return None
            self._hand_out(event, now)
        return None

    def _behind(self, position: int) -> Sequence[Event]:
        return self._log[bisect_right(self._log, position, key=lambda event: event.position) :]

    def _waits_for_key(self, event: Event) -> bool:
        return event.subject is not None and any(
            d.position < event.position
            and d.event.subject == event.subject
            and d.state is not DeliveryState.QUARANTINED
            for d in self._deliveries.values()
        )

    def _parked(self, *, by_key: bool) -> Iterable[Delivery]:
        return (
            d
            for d in self._deliveries.values()
            if d.state is DeliveryState.PARKED and not (by_key and self._waits_for_key(d.event))
        )

    def _given_back(self, *, by_key: bool) -> Delivery | None:
        back = [d for d in self._parked(by_key=by_key) if d.given_back]
        return min(back, key=lambda d: d.position, default=None)

    def _due_retry(self, now: Instant, *, by_key: bool) -> Delivery | None:
        due = [d for d in self._parked(by_key=by_key) if not d.given_back and d.due_at <= now]
        return min(due, key=lambda d: (d.due_at, d.position), default=None)

    def _hand_out(self, event: Event, now: Instant) -> Delivery:
        self.reach = event.position
        delivery = self._deliveries[event.position] = Delivery(event, DeliveryState.PARKED, now)
        return delivery

    def _grant(
        self,
        delivery: Delivery,
        now: Instant,
        token: int,
        ttl: Duration,
        max_attempts: int | None,
    ) -> EventGrant:
        delivery.state = DeliveryState.HELD
        delivery.attempts += 1
        delivery.token, delivery.budget, delivery.expires_at = token, max_attempts, now + ttl
        reclaimed, delivery.reclaimed = delivery.reclaimed, False
        event = delivery.event
        return EventGrant(
            consumer=self.number,
            position=event.position,
            token=token,
            id=event.new.id,
            org_id=event.new.org_id,
            topic=self.topic,
            key=event.new.key,
            payload=event.new.payload,
            run_id=f"event-{event.seq}-{self.number}-{self._rewinds}",
            attempt=delivery.attempts,
            max_attempts=max_attempts,
            emitted_at=event.emitted_at,
            due_at=delivery.due_at,
            granted_at=now,
            expires_at=now + ttl,
            reclaimed=reclaimed,
        )

    # What becomes of what was handed out

    def held(self, hold: EventHold) -> Delivery | None:
        """The delivery, if the hold is still the one that holds it."""
        delivery = self._deliveries.get(hold.position)
        if delivery is None or delivery.state is not DeliveryState.HELD:
            return None
        return delivery if delivery.token == hold.token else None

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        match verdict:
            case Ack():
                del self._deliveries[delivery.position]
                return DeliveryState.ACKED
            case Quarantine():
                self._set_aside(delivery, verdict.error, now)
            case Retry():
                error = verdict.error
                self._park(delivery, now + verdict.delay, given_back=False, error=error)
            case Release():
                delivery.attempts -= 1
                due_at, back = now + verdict.delay, verdict.delay == 0
                self._park(delivery, due_at, given_back=back, error=delivery.error)
        return delivery.state

    def _park(self, delivery: Delivery, due_at: Instant, *, given_back: bool, error: str) -> None:
        delivery.state, delivery.due_at = DeliveryState.PARKED, due_at
        delivery.given_back, delivery.error = given_back, error

    def _set_aside(self, delivery: Delivery, error: str, now: Instant) -> None:
        delivery.state, delivery.error = DeliveryState.QUARANTINED, error
        delivery.quarantined_at = now

    def state_of(self, event: Event) -> DeliveryState:
        if event.position > self.reach:
            return DeliveryState.NEW
        delivery = self._deliveries.get(event.position)
        return DeliveryState.ACKED if delivery is None else delivery.state

    def release(self, event: Event, now: Instant) -> None:
        """Hand a quarantined event back."""
        self._deliveries[event.position] = Delivery(event, DeliveryState.PARKED, now)

    def quarantined(self) -> list[Delivery]:
        """By position."""
        dead = [d for d in self._deliveries.values() if d.state is DeliveryState.QUARANTINED]
        return sorted(dead, key=lambda d: d.position)

    def rewind(self, reach: int) -> None:
        self._rewinds += 1
        self.reach = reach
        self._deliveries = {p: d for p, d in self._deliveries.items() if p <= reach}

    def record(self) -> ConsumerRecord:
        states = [d.state for d in self._deliveries.values()]
        return ConsumerRecord(
            self.topic,
            self.name,
            self.reach,
            lag=len(self._behind(self.reach)),
            held=states.count(DeliveryState.HELD),
            parked=states.count(DeliveryState.PARKED),
            quarantined=states.count(DeliveryState.QUARANTINED),
        )
