"""The reference with transactions of a caller's own, and stores that take no part in them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from gnl_conformance.mutants.lane import GlobalFifo
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._store import MemoryJobs, _Data
from gnl_core.spi import (
    Added,
    Appended,
    Capability,
    DepthRefused,
    Known,
    KnownEvent,
    NewEvent,
    NewJob,
    TopicRefused,
)


class MemoryTransaction:
    """Writes that wait for a commit."""

    def __init__(self) -> None:
        self.writes: list[Callable[[], object]] = []
        self.ends: list[Callable[[], object]] = []

    @property
    def connection(self) -> object:
        return self

    async def commit(self) -> None:
        for write in self.writes:
            write()
        await self.rollback()

    async def rollback(self) -> None:
        self.writes.clear()
        while self.ends:
            self.ends.pop()()


class TransactionalJobs(MemoryJobs):
    """Adds a caller's jobs when its transaction commits."""

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        if not isinstance(connection, MemoryTransaction):
            return await super().add(jobs, max_depth=max_depth, connection=connection)
        return await self.join(connection, jobs)

    async def join(self, caller: MemoryTransaction, jobs: Sequence[NewJob]) -> Added:
        """Leave `jobs` to the commit of `caller`."""
        old = [self._table.get(job.org_id, job.id) for job in jobs]
        caller.writes.append(lambda: self._table.add(jobs, None))
        return Added(tuple(Known(one.type, one.payload) if one else None for one in old))


class TransactionalEvents(MemoryEvents):
    """Appends a caller's events when its transaction commits."""

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        if not isinstance(connection, MemoryTransaction):
            return await super().append(events, max_depth=max_depth, connection=connection)
        return await self.join(connection, events)

    async def join(self, caller: MemoryTransaction, events: Sequence[NewEvent]) -> Appended:
        """Leave `events` to the commit of `caller`."""
        old = [self._table._by_id.get((one.topic, one.org_id, one.id)) for one in events]
        caller.writes.append(lambda: self._table.append(events, None))
        known = (KnownEvent(one.new.payload, one.new.key) if one else None for one in old)
        return Appended(tuple(known))


class TransactionalStore(MemoryStore):
    """A memory store that takes part in a caller's transaction."""

    jobs_type: type[TransactionalJobs] = TransactionalJobs
    events_type: type[TransactionalEvents] = TransactionalEvents

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities | {Capability.TRANSACTIONS}

    def _open(self, data: _Data) -> None:
        super()._open(data)
        self._jobs = self.jobs_type(data)
        self._events = self.events_type(data.events, data.wake)


class TransactionalConformance(ReferenceConformance):
    """The reference with transactions."""

    capabilities = frozenset({Capability.WAKE_UPS, Capability.TRANSACTIONS})
    store = TransactionalStore

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncIterator[MemoryTransaction]:
        caller = MemoryTransaction()
        yield caller
        await caller.rollback()


class _AtOnce(TransactionalJobs):
    async def join(self, caller: MemoryTransaction, jobs: Sequence[NewJob]) -> Added:
        answer = await super().join(caller, jobs)
        await caller.commit()
        return answer


class _AtOnceStore(TransactionalStore):
    jobs_type = _AtOnce


@breaks("enqueue.transaction", "depth before the commit")
class IgnoresTheTransaction(TransactionalConformance):
    """Adds on a connection of its own."""

    store = _AtOnceStore


class _AtTheEnd(TransactionalJobs):
    async def join(self, caller: MemoryTransaction, jobs: Sequence[NewJob]) -> Added:
        answer = await super().join(caller, jobs)
        caller.ends += caller.writes
        caller.writes = []
        return answer


class _AtTheEndStore(TransactionalStore):
    jobs_type = _AtTheEnd


@breaks("enqueue.transaction", "grants after a rollback")
class AddsAfterARollback(TransactionalConformance):
    """Adds when the transaction ends, however it ends."""

    store = _AtTheEndStore


class _OneProducer(TransactionalJobs):
    open: set[str | None] = set()  # noqa: RUF012 - all handles share it

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        while any(job.org_id in self.open for job in jobs):  # noqa: ASYNC110 - a lock's wait
            await asyncio.sleep(0.01)
        return await super().add(jobs, max_depth=max_depth, connection=connection)

    async def join(self, caller: MemoryTransaction, jobs: Sequence[NewJob]) -> Added:
        lanes = {job.org_id for job in jobs}
        self.open |= lanes
        caller.ends.append(lambda: self.open.difference_update(lanes))
        return await super().join(caller, jobs)


class _OneProducerStore(TransactionalStore):
    jobs_type = _OneProducer


@breaks("enqueue.transaction", "waited for another producer's open transaction")
class OneProducerAtATime(TransactionalConformance):
    """Locks the lane until the transaction ends."""

    store = _OneProducerStore


class _NumberedBefore(TransactionalJobs):
    async def join(self, caller: MemoryTransaction, jobs: Sequence[NewJob]) -> Added:
        table, first = self._table, self._table._seq
        table._seq += len(jobs)

        def write() -> None:
            table._seq, latest = first, table._seq
            table.add(jobs, None)
            table._seq = latest

        answer = await super().join(caller, jobs)
        caller.writes[-1] = write
        return answer


class _NumberedBeforeStore(TransactionalStore):
    jobs_type = _NumberedBefore


@breaks("list.snapshot", "jobs listed for")
class SequenceBeforeCommit(TransactionalConformance):
    """Takes what has a smaller number for committed before."""

    store = _NumberedBeforeStore


@breaks("lane.late", "nine grants went to")
@breaks("lane.burst", "nine grants went to")
class TurnPerJobBeforeCommit(TransactionalConformance):
    """Gives each job its turn when it is added, long before the commit."""

    store = _NumberedBeforeStore
    table = GlobalFifo
