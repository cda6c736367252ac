"""The events' words for the shared engine: deliveries are taken, extended and settled like this."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from gnl_core.backoff import Backoff, next_delay
from gnl_core.codec import decode
from gnl_core.errortext import describe
from gnl_core.events._handlers import Handler
from gnl_core.events._meta import to_meta
from gnl_core.events._store import events_of
from gnl_core.runtime import (
    DeadLetter,
    GiveBack,
    Invocation,
    Retry,
    Settled,
    Signal,
    Taken,
    blocks,
)
from gnl_core.spi import (
    SECOND,
    Ack,
    DeliveryState,
    Duration,
    EventGrant,
    EventOutcome,
    EventVerdict,
    HoldState,
    Quarantine,
    Release,
    Start,
    Store,
)
from gnl_core.spi import Retry as RetryVerdict

_FATES: Final = {
    None: Settled.LOST,
    DeliveryState.PARKED: Settled.WAITS,
    DeliveryState.ACKED: Settled.ENDED,
    DeliveryState.QUARANTINED: Settled.ENDED,
}


@dataclass(frozen=True, slots=True)
class Subscription:
    """Which events a consumer takes, and how often it tries one."""

    topic: str
    consumer: str
    start: Start
    by_key: bool
    ttl: Duration
    max_attempts: int | None
    backoff: Backoff
    default_backoff: Backoff


class DeliveriesBoundary:
    """The deliveries of one consumer, through the shared engine."""

    def __init__(
        self,
        store: Store,
        handler: Handler,
        subscription: Subscription,
        *,
        worker: str,
        random: Callable[[], float],
    ) -> None:
        self._events = events_of(store)
        self._handler = handler
        self._blocks = blocks(handler)
        self._of = subscription
        self._worker = worker
        self._random = random

    async def claim(self, limit: int) -> Taken[EventGrant]:
        delivered = await self._events.deliver(
            self._of.topic,
            self._of.consumer,
            limit,
            self._of.ttl,
            self._worker,
            max_attempts=self._of.max_attempts,
            start=self._of.start,
            by_key=self._of.by_key,
        )
        due = delivered.next_due_in
        return Taken(delivered.grants, None if due is None else due / SECOND)

    async def extend(self, store: Store, grants: Sequence[EventGrant]) -> Sequence[HoldState]:
        holds = [grant.hold for grant in grants]
        extensions = await events_of(store).extend(holds, self._of.ttl)
        return [extension.state for extension in extensions]

    async def settle(
        self, outcomes: Sequence[tuple[EventGrant, EventVerdict]]
    ) -> Sequence[Settled]:
        settlements = await self._events.settle(
            [EventOutcome(grant.hold, verdict) for grant, verdict in outcomes]
        )
        return [
            self._fate(grant, settlement.state)
            for (grant, _), settlement in zip(outcomes, settlements, strict=True)
        ]

    def _fate(self, grant: EventGrant, state: DeliveryState | None) -> Settled:
        if state is not None and self._of.by_key and grant.key is not None:
            return Settled.WAITS  # the next event of its key may have waited for this one
        return _FATES[state]

    def prepare(self, grant: EventGrant, signal: Signal) -> Invocation:
        payload = decode(grant.payload)
        meta = to_meta(grant, self._of.consumer, signal)
        return Invocation(functools.partial(self._handler, payload, meta), threaded=self._blocks)

    def returned(self, grant: EventGrant, value: object) -> EventVerdict:
        return Ack()

    def raised(self, grant: EventGrant, error: BaseException) -> EventVerdict:
        if isinstance(error, GiveBack):
            return Release(error.delay)
        if isinstance(error, DeadLetter) or self._is_last(grant):
            return Quarantine(describe(error))
        if isinstance(error, Retry):
            return RetryVerdict(error.delay, describe(error))
        delay = next_delay(
            self._of.backoff, grant.attempt, self._random, default=self._of.default_backoff
        )
        return RetryVerdict(delay, describe(error))

    def given_back(self, grant: EventGrant) -> EventVerdict:
        return Release()

    def on_its_last_chance(self, grant: EventGrant) -> bool:
        return grant.reclaimed and self._is_last(grant)

    def name(self, grant: EventGrant) -> str:
        return f"event {grant.id!r} of {grant.topic!r} for {self._of.consumer!r}"

    def _is_last(self, grant: EventGrant) -> bool:
        return grant.max_attempts is not None and grant.attempt >= grant.max_attempts
