"""The events' part of the memory store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnl_core.memory._events import EventTable
from gnl_core.spi import (
    Appended,
    ConsumerRecord,
    DeadPage,
    Delivered,
    DeliveryState,
    Duration,
    EventHold,
    EventOutcome,
    EventSettlement,
    Extension,
    NewEvent,
    Start,
    StoreRejected,
    TopicRecord,
    TopicRefused,
)


class MemoryEvents:
    """`EventStore` over a table in memory. `wake` hints at new work."""

    def __init__(self, table: EventTable, wake: Callable[[], None]) -> None:
        self._table = table
        self._wake = wake

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        if connection is not None:
            raise StoreRejected("a memory store has no transactions: leave out `connection`")
        answer = self._table.append(events, max_depth)
        self._wake()
        return answer

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
        return self._table.deliver(
            topic, consumer, limit, ttl, max_attempts=max_attempts, start=start, by_key=by_key
        )

    async def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        return self._table.extend(holds, ttl)

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        return self._table.settle(outcomes)

    async def dead(self, topic: str, consumer: str, position: int | None, limit: int) -> DeadPage:
        return self._table.dead(topic, consumer, position, limit)

    async def release(
        self, topic: str, consumer: str, org_id: str | None, id: str
    ) -> DeliveryState | None:
        found = self._table.release(topic, consumer, org_id, id)
        self._wake()
        return found

    async def consumers(self, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
        return self._table.consumers(topic)

    async def topics(self) -> tuple[TopicRecord, ...]:
        return self._table.topics()

    async def rewind(self, topic: str, consumer: str, start: Start) -> bool:
        found = self._table.rewind(topic, consumer, start)
        self._wake()
        return found

    async def remove(self, topic: str, consumer: str) -> bool:
        return self._table.remove(topic, consumer)

    async def prune(
        self, topic: str | None, *, older_than: Duration | None = None, limit: int = 10_000
    ) -> int:
        return self._table.prune(topic, older_than, limit)
