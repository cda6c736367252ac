"""Stores that set aside what they should not, or do not let it go again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery, Event
from gnl_core.memory._events import EventTable
from gnl_core.spi import (
    DeadPage,
    DeliveryState,
    Duration,
    EventGrant,
    EventHold,
    EventVerdict,
    Instant,
    Quarantine,
    Retry,
    Start,
)


class _OtherBudget(Consumer):
    def _end_expired(self, now: Instant) -> None:
        for delivery in self._deliveries.values():
            if delivery.state is DeliveryState.HELD:
                delivery.budget = self.budget(delivery.budget)
        super()._end_expired(now)

    def budget(self, granted: int | None) -> int | None:
        """What counts instead of the budget that was granted."""
        return granted


@breaks("quarantine.budget", "handed out after the last one")
class NeverQuarantines(_OtherBudget):
    """Hands an event out for ever whose processes die."""

    def budget(self, granted: int | None) -> int | None:
        return None


@breaks("quarantine.budget", "an event was to be had")
class NoBudgetIsEight(_OtherBudget):
    """Takes no budget for one of eight attempts."""

    def budget(self, granted: int | None) -> int | None:
        return 8 if granted is None else granted


@breaks("quarantine.budget", "with different budgets ran out")
class JudgedByALaterBudget(Consumer):
    """Judges a lease by the budget of the call that ends it."""

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
        for delivery in self._deliveries.values():
            delivery.budget = max_attempts
        return super().deliver(limit, now, token, ttl=ttl, max_attempts=max_attempts, by_key=by_key)


@breaks("quarantine.budget", "the state after a verdict")
class QuarantineIsARetry(Consumer):
    """Retries what was to be set aside."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        if isinstance(verdict, Quarantine):
            verdict = Retry(0, verdict.error)
        return super().settle(delivery, verdict, now)


class _Stops(Consumer):
    stops = frozenset({DeliveryState.QUARANTINED})

    def _behind(self, position: int) -> list[Event]:
        if any(d.state in self.stops for d in self._deliveries.values()):
            return []
        return list(super()._behind(position))


@breaks("quarantine.apart", "an event was to be had")
class QuarantineStopsTheTopic(_Stops):
    """Hands out nothing behind an event that was set aside."""


@breaks("quarantine.apart", "handed out behind two that failed")
class RetryStopsTheTopic(_Stops):
    """Hands out nothing behind an event that waits for its retry."""

    stops = frozenset({DeliveryState.PARKED})


@breaks("quarantine.apart", "new ones among the next twenty")
class RetriesStarveTheRest(Consumer):
    """Hands out every retry before a new event."""

    def _end_expired(self, now: Instant) -> None:
        super()._end_expired(now)
        for delivery in self._deliveries.values():
            delivery.given_back |= delivery.due_at <= now


class _OtherPages(EventTable):
    def dead(self, topic: str, name: str, position: int | None, limit: int) -> DeadPage:
        return self.page(super().dead(topic, name, position, limit))

    def page(self, page: DeadPage) -> DeadPage:
        """The page that is answered."""
        return page


@breaks("quarantine.page", "events on each page")
class EndsAfterOnePage(_OtherPages):
    """Says that there is no more."""

    def page(self, page: DeadPage) -> DeadPage:
        return DeadPage(page.items, None)


@breaks("quarantine.page", "a full last page")
class PagesUntilOneIsEmpty(_OtherPages):
    """Says that there may be more whenever there was something."""

    def page(self, page: DeadPage) -> DeadPage:
        return DeadPage(page.items, page.items[-1].position if page.items else None)


@breaks("quarantine.page", "what the pages say")
class HidesTheError(_OtherPages):
    """Does not say why an event was set aside."""

    def page(self, page: DeadPage) -> DeadPage:
        return DeadPage(tuple(replace(one, error="failed") for one in page.items), page.position)


@breaks("quarantine.page", "events on each page")
class ListsByTime(Consumer):
    """Lists what was set aside last at the end, and goes on by position."""

    def quarantined(self) -> list[Delivery]:
        order = {id(d): n for n, d in enumerate(self.aside)}
        return sorted(super().quarantined(), key=lambda d: order[id(d)])

    def _set_aside(self, delivery: Delivery, error: str, now: Instant) -> None:
        super()._set_aside(delivery, error, now)
        self.aside.append(delivery)

    @property
    def aside(self) -> list[Delivery]:
        """What was set aside, in order."""
        found: list[Delivery] = self.__dict__.setdefault("_aside", [])
        return found


@breaks("quarantine.error", "an error came back changed")
class TrimsErrors(Consumer):
    """Takes the blanks at both ends off an error."""

    def _set_aside(self, delivery: Delivery, error: str, now: Instant) -> None:
        super()._set_aside(delivery, error.strip(), now)


@breaks("quarantine.error", "an error came back changed")
class KeepsTheFirstError(Consumer):
    """Keeps the error of the first failure."""

    def _set_aside(self, delivery: Delivery, error: str, now: Instant) -> None:
        super()._set_aside(delivery, delivery.error or error, now)


@breaks("quarantine.release", "event and attempt granted next")
class ReleaseKeepsAttempts(Consumer):
    """Hands an event back whose budget is spent."""

    def release(self, event: Event, now: Instant) -> None:
        spent = self._deliveries[event.position].attempts
        super().release(event, now)
        self._deliveries[event.position].attempts = spent


@breaks("quarantine.release", "event and attempt granted next")
class ReleasedGoesLast(Consumer):
    """Puts a released event behind all others."""

    def release(self, event: Event, now: Instant) -> None:
        super().release(event, now)
        self._deliveries[event.position].given_back = False
        self._retried_last = True


@breaks("quarantine.release", "what is owed after four releases")
class ReleasesAnything(EventTable):
    """Hands back whatever it is asked for."""

    def release(self, topic: str, name: str, org_id: str | None, id: str) -> DeliveryState | None:
        found = super().release(topic, name, org_id, id)
        if found in (DeliveryState.ACKED, DeliveryState.HELD):
            event = self._by_id[topic, org_id, id]
            self._consumers[topic, name].release(event, self._now())
        return found


@breaks("quarantine.alone", "quarantined for the other")
class ReleasesForAll(EventTable):
    """Hands an event back to every consumer."""

    def release(self, topic: str, name: str, org_id: str | None, id: str) -> DeliveryState | None:
        found = super().release(topic, name, org_id, id)
        for of, other in self._consumers:
            if of == topic and other != name:
                super().release(of, other, org_id, id)
        return found


@breaks("quarantine.alone", "an event was to be had")
class QuarantinesForAll(EventTable):
    """Sets an event aside for every consumer."""

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        consumer = super()._register(topic, name, start)
        for (of, _), other in self._consumers.items():
            if of == topic and other is not consumer:
                for delivery in other.quarantined():
                    consumer._deliveries[delivery.position] = replace(delivery)
                    consumer.reach = max(consumer.reach, delivery.position)
        return consumer


@breaks("quarantine.late", "after the release: expected None")
@breaks("quarantine.late", "the late failure before it is held")
class LateFailureUndoesARelease(Consumer):
    """Takes a failure for the token that an event had before its release."""

    def release(self, event: Event, now: Instant) -> None:
        token = self._deliveries[event.position].token
        super().release(event, now)
        self._deliveries[event.position].token = token

    def held(self, hold: EventHold) -> Delivery | None:
        delivery = self._deliveries.get(hold.position)
        return delivery if delivery is not None and delivery.token == hold.token else None


@breaks("quarantine.late", "the late failure while it is held")
class LateFailureEndsTheNextAttempt(Consumer):
    """Takes a failure for whatever attempt is under way."""

    def held(self, hold: EventHold) -> Delivery | None:
        delivery = self._deliveries.get(hold.position)
        held = delivery is not None and delivery.state is DeliveryState.HELD
        return delivery if held else None
