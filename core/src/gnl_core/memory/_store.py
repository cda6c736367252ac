"""The memory store: the reference for the rules, and a real queue inside one process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.memory._jobs import JobTable
from gnl_core.spi import (
    Added,
    Capability,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    Instant,
    JobPage,
    JobRecord,
    JobState,
    Lane,
    NewJob,
    Outcome,
    SchemaVersion,
    Scope,
    Settlement,
    StoreRejected,
)

SCHEMA = 1


def system_clock() -> Instant:
    """Microseconds since the epoch by the machine's clock."""
    return time.time_ns() // 1_000


class _Data:
    """What all handles of one memory store share."""

    def __init__(self, table: JobTable) -> None:
        self.jobs = table
        self.events = EventTable(table.now)
        self.listeners: dict[Callable[[], None], asyncio.AbstractEventLoop] = {}

    def wake(self) -> None:
        for listener, loop in list(self.listeners.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(listener)


class MemoryJobs:
    """`JobStore` over a table in memory."""

    def __init__(self, data: _Data) -> None:
        self._data = data
        self._table = data.jobs

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        if connection is not None:
            raise StoreRejected("a memory store has no transactions: leave out `connection`")
        answer = self._table.add(jobs, max_depth)
        self._data.wake()
        return answer

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        return self._table.claim(types, limit, ttl, worker, max_attempts)

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        return self._table.extend(holds, ttl)

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        return self._table.settle(outcomes)

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        return self._table.cancel(org_id, id)

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        found = self._table.revive(org_id, id)
        self._data.wake()
        return found

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        return self._table.get(org_id, id)

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        return self._table.page(scope, position, limit, states)

    async def depth(self, org_id: str | None) -> int:
        return self._table.depth(org_id)

    async def lanes(self) -> tuple[Lane, ...]:
        return self._table.lanes()

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        return self._table.prune(states, older_than, keep, limit)


class MemoryStore:
    """A store whose data lives and ends with this process.

    `clock` is the store's clock, in microseconds since the epoch, and `table` keeps the rules.
    Handles opened by `sibling` share the data and may be used from other threads.
    """

    def __init__(
        self,
        clock: Callable[[], Instant] = system_clock,
        *,
        table: Callable[[Callable[[], Instant]], JobTable] = JobTable,
    ) -> None:
        self._open(_Data(table(clock)))

    def _open(self, data: _Data) -> None:
        self._data = data
        self._jobs = MemoryJobs(data)
        self._events = MemoryEvents(data.events, data.wake)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.WAKE_UPS})

    @property
    def jobs(self) -> MemoryJobs:
        return self._jobs

    @property
    def events(self) -> MemoryEvents:
        return self._events

    async def now(self) -> Instant:
        return self._data.jobs.now()

    async def schema(self) -> SchemaVersion:
        return SchemaVersion(found=SCHEMA, needed=SCHEMA)

    async def upgrade(self) -> SchemaVersion:
        return await self.schema()

    async def listen(self, wake: Callable[[], None]) -> None:
        def hint() -> None:
            wake()

        self._data.listeners[hint] = asyncio.get_running_loop()
        try:
            await asyncio.Event().wait()
        finally:
            del self._data.listeners[hint]

    async def sibling(self) -> MemoryStore:
        other = type(self)()
        other._open(self._data)
        return other

    async def close(self) -> None:
        pass


_NAMED: dict[str, _Data] = {}


async def open_memory(url: str, /) -> MemoryStore:
    """Open ``memory://`` (a new, empty store) or ``memory://name`` (shared in this process)."""
    name = url.removeprefix("memory:").strip("/")
    store = MemoryStore()
    if name:
        store._open(_NAMED.setdefault(name, store._data))
    return store
