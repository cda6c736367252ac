"""The queue's part of the store: each call is one trip to the handle's thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from gnl_core.spi import (
    Added,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    JobPage,
    JobRecord,
    JobState,
    Lane,
    NewJob,
    Outcome,
    Scope,
    Settlement,
)
from gnl_store_sql import Changes, Horizon, Listing, Reads, Steps
from gnl_store_sqlite._add import add
from gnl_store_sqlite._callers import add_within
from gnl_store_sqlite._claim import Terms, claim, pack_types, peek
from gnl_store_sqlite._clock import Clock
from gnl_store_sqlite._database import Database
from gnl_store_sqlite._holds import extend, settle
from gnl_store_sqlite._schema import DIALECT, TABLES
from gnl_store_sqlite._thread import OperationThread
from gnl_store_sqlite._waiting import TurnUpkeep

_T = TypeVar("_T")

_READS = Reads(TABLES, DIALECT)


class SqliteJobs:
    """`JobStore` on a SQLite file."""

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
        self._changes = Changes(TABLES, DIALECT, TurnUpkeep(clock))
        self._listing = Listing(TABLES, DIALECT, self._horizon)

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        """As `JobStore.add`.

        `connection` is an ``aiosqlite.Connection``, or a SQLAlchemy ``AsyncConnection`` or
        ``AsyncSession`` of a ``sqlite+aiosqlite`` engine, on the same database file.
        """
        jobs = list(jobs)
        if connection is not None:
            path = self._database.location.path
            begin = self._clock.lock
            return await add_within(
                connection, path, begin, lambda tick: add(tick, _READS, jobs, max_depth)
            )
        answer = await self._write(lambda: self._add(jobs, max_depth))
        self._hint()
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
        """As `JobStore.claim`."""
        terms = Terms(pack_types(types), limit, ttl, worker, max_attempts)
        return await self._thread.run(lambda: self._claim(terms))

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        """As `JobStore.extend`."""
        holds = list(holds)
        return await self._write(lambda: extend(self._clock, holds, ttl))

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        """As `JobStore.settle`."""
        outcomes = list(outcomes)
        answer = await self._write(lambda: settle(self._clock, outcomes))
        if any(settlement.state is JobState.WAITING for settlement in answer):
            self._hint()
        return answer

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        """As `JobStore.cancel`."""
        return await self._write(lambda: self._changes.cancel(org_id, id))

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        """As `JobStore.revive`."""
        answer = await self._write(lambda: self._changes.revive(org_id, id))
        self._hint()
        return answer

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        """As `JobStore.get`."""
        return await self._read(lambda: _READS.get(org_id, id))

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        """As `JobStore.page`."""
        return await self._read(lambda: self._listing.page(scope, position, limit, states))

    async def depth(self, org_id: str | None) -> int:
        """As `JobStore.depth`."""
        return await self._read(lambda: _READS.depth(org_id))

    async def lanes(self) -> tuple[Lane, ...]:
        """As `JobStore.lanes`."""
        return await self._read(_READS.lanes)

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        """As `JobStore.prune`."""
        return await self._write(lambda: self._prune(states, older_than, keep, limit))

    def _add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Steps[Added | DepthRefused]:
        tick = yield from self._clock.read()
        return (yield from add(tick, _READS, jobs, max_depth))

    def _prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> Steps[int]:
        # The last job may go: its number must not be given to another.
        yield (yield from self._clock.read()).save()
        return (yield from self._changes.prune(states, older_than, keep, limit))

    def _claim(self, terms: Terms) -> Claimed:
        """Look first: a worker without work takes no lock and waits for nobody's."""
        nothing = self._database.look(lambda: peek(self._clock, terms))
        if nothing is not None:
            return nothing
        return self._database.write(lambda: claim(self._clock, terms))

    def _horizon(self) -> Steps[Horizon]:
        # One writer at a time: numbers are committed in the order in which they are given.
        return Horizon((yield from self._clock.read()).seq)

    async def _write(self, operation: Callable[[], Steps[_T]]) -> _T:
        return await self._thread.run(lambda: self._database.write(operation))

    async def _read(self, operation: Callable[[], Steps[_T]]) -> _T:
        return await self._thread.run(lambda: self._database.read(operation))
