"""What a store does for events: the protocol `EventStore`. Its values are in `event_values`.

The log and its order
---------------------
Each topic has one log. An event gets its *position* in it, a number that grows, when it first
becomes readable: not when it is appended, but after its transaction has committed. So whatever
has a position lies behind everything that got one before, a consumer may remember a position and
lose nothing, and neither a transaction that stays open nor a number that was rolled back stops
anyone. Numbering is part of `deliver`, `rewind`, `consumers` and `topics`: each of them first
gives positions to what has committed, in the order of appending as far as that is known. It
waits for no open transaction, and is done by one caller at a time.

The order of handing out
------------------------
Each consumer has a *reach*: the last position handed out to it. Behind it lie *new* events. In
front of it, an event without a delivery of this consumer is acked; others are *held*, *parked*
or *quarantined*. A parked event was given back (released without delay, or its lease ran out),
or it is a *retry*: due at some instant.

Again and again, up to its limit, `deliver` hands out

* the given back event with the smallest position; if there is none,
* in turn, a retry that is due (by ``(due_at, position)``) and the next new event, if there are
  both; else whichever there is. What was handed out last is remembered with the consumer, who
  begins with a new event.

With `by_key`, an event is passed over while one with a smaller position, the same organization
and the same key is held or parked. A new one that is passed over is parked: it counts as given
back. Events without key are never passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gnl_core.spi.event_values import (
    Appended,
    ConsumerRecord,
    DeadPage,
    Delivered,
    DeliveryState,
    EventHold,
    EventOutcome,
    EventSettlement,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)
from gnl_core.spi.job_values import Duration, Extension


class EventStore(Protocol):
    """Events in a store. Every method is one decision, taken atomically on the store's clock.

    All that one call writes has one instant, which is read once.

    Methods raise `StoreUnavailable` (outcome unknown, safe to repeat) and `StoreRejected`
    (no effect), nothing else. A lost race is an answer, never an error.
    """

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        """Append all of `events`, or none.

        Ids in one call are distinct within topic and organization. One that is known there stays
        what it is and answers `KnownEvent`. `max_depth` refuses the call when, for some topic and
        organization, the events beyond the smallest reach of the topic's consumers (all of them,
        if it has none) plus the new ones of the call are more than the limit; a call that
        appends nothing is never refused.

        `connection` is the caller's own transaction, as in `JobStore.add`. Emitters never wait
        for each other's open transactions, except for the same new id.
        """
        ...

    async def deliver(
        self,
        topic: str,
        consumer: str,
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int | None,
        start: Start,
        by_key: bool = False,
    ) -> Delivered:
        """Hand out up to `limit` events of `topic` to `consumer`, in the order above.

        A consumer that the topic does not know is registered, at `start`; else `start` is not
        looked at. Before handing out, expired leases of this consumer (``now >= expires_at``; by
        ``(expires_at, position)``; at most `DELIVER_LOOK_LIMIT`) end: the event is quarantined
        with the error `LEASE_EXPIRED` if that was the last attempt of the budget it was granted
        with, else given back. At most `DELIVER_LOOK_LIMIT` new events are passed over.

        The cost does not depend on how many events are parked for later or quarantined.
        """
        ...

    async def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        """Move the expiry of each hold to now + `ttl`; one answer a hold, as `JobStore.extend`."""
        ...

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        """End each hold with its verdict; one answer an outcome, in order, each fenced.

        `Release` restores the attempt; with a delay it parks the event as a retry.
        """
        ...

    async def dead(self, topic: str, consumer: str, position: int | None, limit: int) -> DeadPage:
        """A page of the quarantined events of one consumer, at the cost of the page."""
        ...

    async def release(
        self, topic: str, consumer: str, org_id: str | None, id: str
    ) -> DeliveryState | None:
        """Hand a quarantined event back: given back, due now, attempts 0; for this consumer alone.

        Answers the state it was found in (None: no such event or consumer). Any other state is
        left alone.
        """
        ...

    async def consumers(self, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
        """Every consumer of one topic, or of all, by topic and name in byte order."""
        ...

    async def topics(self) -> tuple[TopicRecord, ...]:
        """Every topic that has events or consumers, by name in byte order."""
        ...

    async def rewind(self, topic: str, consumer: str, start: Start) -> bool:
        """Move the reach of a consumer; false if there is no such consumer.

        Everything behind `start` is new to it again, whatever became of it: holds on it are
        lost. What lies in front of `start` stays as it is; what was new there counts as acked.
        """
        ...

    async def remove(self, topic: str, consumer: str) -> bool:
        """Forget a consumer and its deliveries; false if there was none. Its holds are lost."""
        ...

    async def prune(
        self, topic: str | None, *, older_than: Duration | None = None, limit: int = 10_000
    ) -> int:
        """Delete events that no consumer owes, at most `limit`; the count.

        A consumer owes an event that is new, held, parked or quarantined for it. `older_than`
        spares events emitted later than so long ago; without it, topics without consumers are
        left alone. Topics go by name in byte order, the events of one by position. The ids are
        free again.
        """
        ...
