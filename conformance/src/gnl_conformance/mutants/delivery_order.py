"""Stores that hand out the wrong event next, or lose count of attempts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery, Event
from gnl_core.memory._events import EventTable
from gnl_core.spi import (
    DeliveryState,
    Duration,
    EventGrant,
    EventVerdict,
    Instant,
    Release,
    Retry,
    Start,
)


@breaks("delivery.retry", "handed out until one delay is over")
class RetriesAtOnce(Consumer):
    """Hands a failed event out again without waiting."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        if isinstance(verdict, Retry):
            verdict = Retry(0, verdict.error)
        return super().settle(delivery, verdict, now)


@breaks("delivery.retry", "us before it was due")
class ReleasesAtOnce(Consumer):
    """Hands a released event out again before its delay is over."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        state = super().settle(delivery, verdict, now)
        delivery.given_back |= isinstance(verdict, Release)
        return state


class _OtherCount(Consumer):
    """Counts attempts as `count` says."""

    def _grant(
        self,
        delivery: Delivery,
        now: Instant,
        token: int,
        ttl: Duration,
        max_attempts: int | None,
    ) -> EventGrant:
        self.count(delivery)
        return super()._grant(delivery, now, token, ttl, max_attempts)

    def count(self, delivery: Delivery) -> None:
        """Change the attempts before the grant."""


@breaks("delivery.attempt", "attempt of a grant: expected 2, got 1")
class RetriesLoseTheirAttempts(_OtherCount):
    """Counts from one again whenever an event is retried."""

    def count(self, delivery: Delivery) -> None:
        delivery.attempts = 0


@breaks("delivery.attempt", "attempt after a lease ran out")
class ReclaimIsFree(_OtherCount):
    """Does not count an attempt whose process died."""

    def count(self, delivery: Delivery) -> None:
        delivery.attempts -= delivery.reclaimed


@breaks("delivery.attempt", "attempt of a grant: expected 2, got 3")
class ReleaseCounts(Consumer):
    """Counts an attempt that was given back."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        delivery.attempts += isinstance(verdict, Release)
        return super().settle(delivery, verdict, now)


@breaks("delivery.attempt", "attempt of another")
class AttemptsAreTheEvents(EventTable):
    """Counts the attempts of all consumers together."""

    def _count(self, position: int) -> int:
        found = (c._deliveries.get(position) for c in self._consumers.values())
        return sum(d.attempts for d in found if d is not None)

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        table = self
        good = super()._register(topic, name, start)

        class Counted(_OtherCount):
            def count(self, delivery: Delivery) -> None:
                delivery.attempts = table._count(delivery.position)

        broken = Counted(good.number, topic, name, self._logs[topic], good.reach)
        self._consumers[topic, name] = broken
        return broken


@breaks("delivery.order", "the order: expected")
class GivenBackWaitsItsTurn(Consumer):
    """Puts what was given back among the retries."""

    def _given_back(self, *, by_key: bool) -> Delivery | None:
        for delivery in self._deliveries.values():
            delivery.given_back = False
        return None


@breaks("delivery.order", "the order: expected")
class LatestGivenBackFirst(Consumer):
    """Hands what was given back out in the order of giving back, the latest first."""

    def _given_back(self, *, by_key: bool) -> Delivery | None:
        back = [d for d in self._parked(by_key=by_key) if d.given_back]
        return max(back, key=lambda d: (d.due_at, d.token), default=None)


@breaks("delivery.order", "deliveries of one, with both at hand")
class RetriesFirst(Consumer):
    """Hands out every retry that is due before a new event."""

    def _in_turn(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Delivery | None:
        self._retried_last = False
        return super()._in_turn(now, passes, by_key=by_key)


@breaks("delivery.order", "deliveries of one, with both at hand")
class NewEventsFirst(Consumer):
    """Hands out retries when there is nothing new."""

    def _in_turn(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Delivery | None:
        self._retried_last = True
        return super()._in_turn(now, passes, by_key=by_key)


@breaks("delivery.order", "deliveries of one, with both at hand")
@breaks("delivery.order", "one delivery, against as many of one event")
class TheTurnIsOfOneDelivery(Consumer):
    """Begins each delivery with a retry."""

    def _end_expired(self, now: Instant) -> None:
        super()._end_expired(now)
        self._retried_last = False


@breaks("delivery.order", "retries, by when they were due")
class RetriesByPosition(Consumer):
    """Hands out retries by position, whenever they were due."""

    def _due_retry(self, now: Instant, *, by_key: bool) -> Delivery | None:
        due = [d for d in self._parked(by_key=by_key) if not d.given_back and d.due_at <= now]
        return min(due, key=lambda d: d.position, default=None)


class _OtherWaits(Consumer):
    """Has an event wait for others than it should."""

    waits_for = frozenset({DeliveryState.HELD, DeliveryState.PARKED})

    def _waits_for_key(self, event: Event) -> bool:
        return event.subject is not None and any(
            d.position < event.position and self.same(d.event, event) and d.state in self.waits_for
            for d in self._deliveries.values()
        )

    def same(self, one: Event, other: Event) -> bool:
        """Whether two events are about the same."""
        return one.subject == other.subject


@breaks("delivery.key", "handed out with every key free")
class IgnoresKeys(_OtherWaits):
    """Hands out by position alone."""

    waits_for = frozenset()


@breaks("delivery.key", "handed out by key: expected ['c1'], got")
class ParkedBreaksTheOrder(_OtherWaits):
    """Lets an event overtake one of its key that waits for a retry."""

    waits_for = frozenset({DeliveryState.HELD})


@breaks("delivery.key", "handed out by key: expected ['c2'], got []")
class QuarantineBlocksTheKey(_OtherWaits):
    """Has an event wait for one of its key that was set aside."""

    waits_for = frozenset({DeliveryState.HELD, DeliveryState.PARKED, DeliveryState.QUARANTINED})


@breaks("delivery.key", "of one key in three organizations")
class KeysAcrossOrganizations(_OtherWaits):
    """Takes a key for the same in every organization."""

    def same(self, one: Event, other: Event) -> bool:
        return one.new.key == other.new.key


@breaks("delivery.key", "handed out with every key free")
class NoKeyIsAKey(_OtherWaits):
    """Takes one event without a key for about the same as the next."""

    def _waits_for_key(self, event: Event) -> bool:
        return event.subject is None or super()._waits_for_key(event)


@breaks("delivery.key", "handed out with every key free")
class StopsAtAKey(Consumer):
    """Hands out nothing behind an event that waits for its key."""

    def _next_new(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Event | None:
        return super()._next_new(now, iter(()), by_key=by_key)


@breaks("delivery.key", "handed out of one key: expected")
class AlwaysByKey(Consumer):
    """Keeps the order of a key for those as well who did not ask for it."""

    def _next_new(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Event | None:
        return super()._next_new(now, passes, by_key=True)


@breaks("delivery.key", "expected ['first'], got ['first', 'b']")
class LooksAtEverything(Consumer):
    """Passes over as many events as there are."""

    def _next_new(self, now: Instant, passes: Iterator[int], *, by_key: bool) -> Event | None:
        return super()._next_new(now, itertools.count(), by_key=by_key)
