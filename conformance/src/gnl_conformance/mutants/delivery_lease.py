"""Stores that let an event be held by two, or by nobody, or by the wrong one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery
from gnl_core.memory._events import EventTable
from gnl_core.spi import (
    SECOND,
    DeliveryState,
    Duration,
    EventGrant,
    EventHold,
    EventOutcome,
    EventSettlement,
    Extension,
    HoldState,
    Instant,
    Start,
)


class _OtherExpiry(Consumer):
    """Judges leases as if it were another time."""

    def judged_at(self, now: Instant) -> Instant:
        """The time that counts."""
        return now

    def _end_expired(self, now: Instant) -> None:
        super()._end_expired(self.judged_at(now))


@breaks("delivery.exclusive", "handed out while two are held")
class TakesLiveLeases(_OtherExpiry):
    """Hands out what somebody else holds."""

    def judged_at(self, now: Instant) -> Instant:
        return now + 10**12


@breaks("delivery.boundary", "us before the lease ran out")
class ExpiresEarly(_OtherExpiry):
    """Ends a lease some time before its end."""

    def judged_at(self, now: Instant) -> Instant:
        return now + 3 * SECOND


@breaks("delivery.boundary", "although now was expires_at")
class ExpiresOneTickLate(_OtherExpiry):
    """Ends a lease only when its end has passed."""

    def judged_at(self, now: Instant) -> Instant:
        return now - 1


@breaks("delivery.reclaimed", "handed out after a lease ran out")
class NeverReclaims(_OtherExpiry):
    """Leaves an event with a process that died."""

    def judged_at(self, now: Instant) -> Instant:
        return 0


@breaks("delivery.reclaimed", "whether the grants are reclaimed ones")
class ReclaimsInSilence(Consumer):
    """Does not say that the attempt before ended with its lease."""

    def _end_expired(self, now: Instant) -> None:
        super()._end_expired(now)
        for delivery in self._deliveries.values():
            delivery.reclaimed = False


@breaks("delivery.reclaimed", "after 300 leases ran out")
class ReclaimsAHundred(Consumer):
    """Ends a hundred leases at the most."""

    def _end_expired(self, now: Instant) -> None:
        held = [d for d in self._deliveries.values() if d.state is DeliveryState.HELD]
        kept = {d.position: d.expires_at for d in held[100:]}
        for position in kept:
            self._deliveries[position].expires_at = now + 1
        super()._end_expired(now)
        for position, expires_at in kept.items():
            self._deliveries[position].expires_at = expires_at


@breaks("delivery.reclaimed", "by two calls, after 1005 leases ended")
class ReclaimsAll(Consumer):
    """Ends as many leases as have expired."""

    def _end_expired(self, now: Instant) -> None:
        for _ in range(3):
            super()._end_expired(now)


class _OtherHolds(Consumer):
    """Takes other holds for good ones."""

    def held(self, hold: EventHold) -> Delivery | None:
        delivery = self._deliveries.get(hold.position)
        return delivery if delivery is not None and self.good(delivery, hold) else None

    def good(self, delivery: Delivery, hold: EventHold) -> bool:
        """Whether the hold counts."""
        return delivery.state is DeliveryState.HELD and delivery.token == hold.token


@breaks("delivery.fenced", "settlements with wrong tokens")
class TokenIsNotChecked(_OtherHolds):
    """Settles a held event for whoever asks."""

    def good(self, delivery: Delivery, hold: EventHold) -> bool:
        return delivery.state is DeliveryState.HELD


@breaks("delivery.fenced", "a settlement by")
class SettlesTwice(_OtherHolds):
    """Takes a second outcome for the same hold."""

    def good(self, delivery: Delivery, hold: EventHold) -> bool:
        return delivery.token == hold.token


class _LooksTokensUp(EventTable):
    def token_of(self, hold: EventHold) -> EventHold:
        """The hold with the token that is good now."""
        for consumer in self._consumers.values():
            delivery = consumer._deliveries.get(hold.position)
            if consumer.number == hold.consumer and delivery is not None:
                return replace(hold, token=delivery.token)
        return hold


@breaks("delivery.fenced", "a stale extension")
class ExtendIgnoresToken(_LooksTokensUp):
    """Extends the lease of whoever holds the event."""

    def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        return super().extend([self.token_of(hold) for hold in holds], ttl)


@breaks("delivery.fenced", "a stale settlement by")
class SettleIgnoresToken(_LooksTokensUp):
    """Settles what somebody else holds by now."""

    def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        return super().settle([replace(one, hold=self.token_of(one.hold)) for one in outcomes])


@breaks("delivery.token", "tokens of one event")
class TokenIsTheAttempt(Consumer):
    """Takes the attempt's number for a token."""

    def _grant(
        self,
        delivery: Delivery,
        now: Instant,
        token: int,
        ttl: Duration,
        max_attempts: int | None,
    ) -> EventGrant:
        return super()._grant(delivery, now, delivery.attempts + 1, ttl, max_attempts)


@breaks("delivery.held", "extension of an expired lease")
class ExpiredIsLost(EventTable):
    """Takes an expired lease for lost though nobody has ended it."""

    def _held(self, hold: EventHold) -> tuple[Consumer, Delivery] | None:
        found = super()._held(hold)
        return None if found is None or found[1].expires_at <= self._now() else found


@breaks("delivery.held", "after another's call")
class EndsEveryConsumersLeases(EventTable):
    """Ends, with a delivery to one consumer, the leases of all."""

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        for consumer in self._consumers.values():
            consumer._end_expired(self._now())
        return super()._register(topic, name, start)


@breaks("delivery.batch", "answers to extend")
class OneLostHoldFailsAll(EventTable):
    """Extends all holds of a call or none."""

    def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        answers = super().extend(holds, ttl)
        lost = any(one.state is HoldState.LOST for one in answers)
        return tuple(Extension(HoldState.LOST, None) for _ in answers) if lost else answers


@breaks("delivery.batch", "answers to settle")
class AnswersByPosition(EventTable):
    """Answers in the order of the log."""

    def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        return super().settle(sorted(outcomes, key=lambda one: one.hold.position))


class _OtherExtension(EventTable):
    def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        ends = {hold: found[1].expires_at for hold in holds if (found := self._held(hold))}
        answers = []
        for hold, answer in zip(holds, super().extend(holds, ttl), strict=True):
            found = self._held(hold)
            if found is not None:
                found[1].expires_at = self.end(ends[hold], ttl)
                answers.append(Extension(HoldState.KEPT, found[1].expires_at))
            else:
                answers.append(answer)
        return tuple(answers)

    def end(self, old: Instant, ttl: Duration) -> Instant:
        """When an extended lease ends."""
        return self._now() + ttl


@breaks("delivery.extend", "handed out when the first end has passed")
class ExtendIsNoop(_OtherExtension):
    """Answers that the lease was extended, and leaves it."""

    def end(self, old: Instant, ttl: Duration) -> Instant:
        return old


@breaks("delivery.extend", "the lease ends at")
class ExtendAccumulates(_OtherExtension):
    """Adds to the lease's end."""

    def end(self, old: Instant, ttl: Duration) -> Instant:
        return old + ttl


@breaks("delivery.extend", "the lease ends at")
class NeverShortens(_OtherExtension):
    """Leaves a lease that would end sooner."""

    def end(self, old: Instant, ttl: Duration) -> Instant:
        return max(old, self._now() + ttl)


@breaks("delivery.clock", "a lease given to a client whose clock is wrong")
class ClientClockJudges(EventTable):
    """Judges leases by the time of the machine that asks."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        first = time.time_ns()
        super().__init__(lambda: now() + (time.time_ns() - first) // 1_000)
