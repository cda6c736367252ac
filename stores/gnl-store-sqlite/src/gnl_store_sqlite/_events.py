"""The events' part of the store: each call is one trip to the handle's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

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
    Instant,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)
from gnl_store_sql import EventChanges, EventReads, Steps
from gnl_store_sqlite._append import append
from gnl_store_sqlite._callers import add_within
from gnl_store_sqlite._clock import Clock
from gnl_store_sqlite._database import Database
from gnl_store_sqlite._deliver import Order, deliver, peek
from gnl_store_sqlite._event_holds import extend, settle
from gnl_store_sqlite._schema import DIALECT, TABLES
from gnl_store_sqlite._thread import OperationThread

_T = TypeVar("_T")

_READS: Final = EventReads(TABLES, DIALECT)


class SqliteEvents:
    """`EventStore` on a SQLite file."""

    def __init__(
        self,
        database: Database,
        thread: OperationThread,
        clock: Clock,
        hint: Callable[[], None],
    ) -> None:
        self._database = database
        self._thread = thread
        self._clock = clock
        self._hint = hint
        self._changes = EventChanges(TABLES, DIALECT, _Upkeep(clock))

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        """As `EventStore.append`; `connection` as for `SqliteJobs.add`."""
        events = list(events)
        if connection is not None:
            path, lock = self._database.location.path, self._clock.lock
            return await add_within(
                connection, path, lock, lambda tick: append(tick, events, max_depth)
            )
        answer = await self._write(lambda: self._append(events, max_depth))
        self._hint()
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
        """As `EventStore.deliver`."""
        order = Order(topic, consumer, limit, ttl, worker, max_attempts, start, by_key)
        return await self._thread.run(lambda: self._deliver(order))

    async def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        """As `EventStore.extend`."""
        holds = list(holds)
        return await self._write(lambda: extend(self._clock, holds, ttl))

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        """As `EventStore.settle`."""
        outcomes = list(outcomes)
        answer = await self._write(lambda: settle(self._clock, outcomes))
        if any(settlement.state is DeliveryState.PARKED for settlement in answer):
            self._hint()
        return answer

    async def dead(self, topic: str, consumer: str, position: int | None, limit: int) -> DeadPage:
        """As `EventStore.dead`."""
        return await self._read(lambda: _READS.dead(topic, consumer, position, limit))

    async def release(
        self, topic: str, consumer: str, org_id: str | None, id: str
    ) -> DeliveryState | None:
        """As `EventStore.release`."""
        found = await self._write(lambda: self._changes.release(topic, consumer, org_id, id))
        self._hint()
        return found

    async def consumers(self, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
        """As `EventStore.consumers`."""
        return await self._read(lambda: _READS.consumers(topic))

    async def topics(self) -> tuple[TopicRecord, ...]:
        """As `EventStore.topics`."""
        return await self._read(_READS.topics)

    async def rewind(self, topic: str, consumer: str, start: Start) -> bool:
        """As `EventStore.rewind`."""
        found = await self._write(lambda: self._changes.rewind(topic, consumer, start))
        self._hint()
        return found

    async def remove(self, topic: str, consumer: str) -> bool:
        """As `EventStore.remove`."""
        return await self._write(lambda: self._changes.remove(topic, consumer))

    async def prune(
        self, topic: str | None, *, older_than: Duration | None = None, limit: int = 10_000
    ) -> int:
        """As `EventStore.prune`."""
        return await self._write(lambda: self._changes.prune(topic, older_than, limit))

    def _append(
        self, events: Sequence[NewEvent], max_depth: int | None
    ) -> Steps[Appended | TopicRefused]:
        tick = yield from self._clock.read()
        return (yield from append(tick, events, max_depth))

    def _deliver(self, order: Order) -> Delivered:
        """Look first: a consumer without work takes no lock and waits for nobody's."""
        nothing = self._database.read(lambda: peek(self._clock, order))
        if nothing is not None:
            return nothing
        return self._database.write(lambda: deliver(self._clock, order))

    async def _write(self, operation: Callable[[], Steps[_T]]) -> _T:
        return await self._thread.run(lambda: self._database.write(operation))

    async def _read(self, operation: Callable[[], Steps[_T]]) -> _T:
        return await self._thread.run(lambda: self._database.read(operation))


class _Upkeep:
    """What the shared changes need of this store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> Steps[Instant]:
        """The store's clock."""
        return (yield from self._clock.read()).now

    def number(self, topic: str) -> Steps[None]:
        """Nothing: an event has its position from the beginning."""
        yield from ()

    def became_due(self) -> Steps[None]:
        """Let those who listen know."""
        tick = yield from self._clock.read()
        tick.woken += 1
        yield tick.save()

    def forget(self, consumer: int) -> Steps[None]:
        """Nothing is kept elsewhere."""
        yield from ()
