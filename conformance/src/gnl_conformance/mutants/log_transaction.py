"""Stores that lose events to transactions, or stop for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gnl_conformance.mutants.registry import breaks, table_with
from gnl_conformance.mutants.transaction import (
    MemoryTransaction,
    TransactionalConformance,
    TransactionalEvents,
    TransactionalStore,
)
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Event
from gnl_core.memory._events import EventTable
from gnl_core.memory._store import _Data
from gnl_core.spi import Appended, Delivered, Duration, NewEvent, Start, TopicRefused


def _with(events: type[TransactionalEvents]) -> type[TransactionalStore]:
    """A store that appends like this."""
    return type(events.__name__, (TransactionalStore,), {"events_type": events})


class _AtOnce(TransactionalEvents):
    async def join(self, caller: MemoryTransaction, events: Sequence[NewEvent]) -> Appended:
        answer = await super().join(caller, events)
        await caller.commit()
        return answer


@breaks("log.transaction", "events handed out before the commit")
class AppendsAtOnce(TransactionalConformance):
    """Appends on a connection of its own."""

    store = _with(_AtOnce)


class _AtTheEnd(TransactionalEvents):
    async def join(self, caller: MemoryTransaction, events: Sequence[NewEvent]) -> Appended:
        answer = await super().join(caller, events)
        caller.ends += caller.writes
        caller.writes = []
        return answer


@breaks("log.transaction", "events handed out after a rollback")
@breaks("log.transaction", "of a transaction that never ended")
class AppendsAfterARollback(TransactionalConformance):
    """Appends when the transaction ends, however it ends."""

    store = _with(_AtTheEnd)


class _Waiting(TransactionalEvents):
    """Knows how many transactions are open."""

    open: set[object] = set()  # noqa: RUF012 - all handles share it

    async def join(self, caller: MemoryTransaction, events: Sequence[NewEvent]) -> Appended:
        self.open.add(caller)
        caller.ends.append(lambda: self.open.discard(caller))
        return await super().join(caller, events)

    async def none_open(self, but: object = None) -> None:
        """Wait for the transactions of others."""
        while self.open - {but}:  # noqa: ASYNC110 - a lock's wait
            await asyncio.sleep(0.01)


class _OneEmitter(_Waiting):
    open: set[object] = set()  # noqa: RUF012 - as above

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        await self.none_open(connection)
        return await super().append(events, max_depth=max_depth, connection=connection)


@breaks("log.transaction", "waited for the open transaction of another")
class OneEmitterAtATime(TransactionalConformance):
    """Locks the log until the transaction ends."""

    store = _with(_OneEmitter)


class _Reader(_Waiting):
    open: set[object] = set()  # noqa: RUF012 - as above

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
        await self.none_open()
        return await super().deliver(
            topic,
            consumer,
            limit,
            ttl,
            worker,
            max_attempts=max_attempts,
            start=start,
            by_key=by_key,
        )


@breaks("log.late", "a delivery waited for an emitter's open transaction")
class ReadersWait(TransactionalConformance):
    """Hands out nothing while a transaction is open."""

    store = _with(_Reader)


class _PositionsFirst(TransactionalEvents):
    """Gives positions when events are appended, long before the commit."""

    async def join(self, caller: MemoryTransaction, events: Sequence[NewEvent]) -> Appended:
        table = self._table
        answer = await super().join(caller, events)
        first = {one.topic: table._last.get(one.topic, 0) for one in events}
        for one in events:
            table._last[one.topic] = table._last.get(one.topic, 0) + 1

        def write() -> None:
            latest = dict(table._last)
            table._last.update(first)
            table.append(events, None)
            table._last = latest
            for log in table._logs.values():
                log.sort(key=lambda event: event.position)

        caller.writes[-1] = write
        return answer


@breaks("log.late", "handed out after the early one committed")
@breaks("log.late", "events handed out, in all, of nine")
@breaks("log.late", "what committed after a consumer's start")
class PositionBeforeCommit(TransactionalConformance):
    """Moves consumers past events that have not been committed."""

    store = _with(_PositionsFirst)


class _StopsAtGaps(Consumer):
    def _behind(self, position: int) -> list[Event]:
        found = super()._behind(position)
        return [event for n, event in enumerate(found, 1) if event.position == position + n]


class _GaplessStore(TransactionalStore):
    events_type = _PositionsFirst
    table: type[EventTable] = table_with(_StopsAtGaps)

    def _open(self, data: _Data) -> None:
        if type(data.events) is not self.table:
            data.events = self.table(data.jobs.now)
        super()._open(data)


@breaks("log.rolledback", "handed out to 'before'")
class WaitsAtGaps(TransactionalConformance):
    """Waits for numbers that were rolled back."""

    store = _GaplessStore
