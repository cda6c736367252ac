"""The queue's part of the store: most calls are one statement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from gnl_core.spi import (
    Added,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    Instant,
    JobPage,
    JobRecord,
    JobState,
    Known,
    Lane,
    NewJob,
    Outcome,
    Scope,
    Settlement,
)
from gnl_store_postgres._add import (
    ADD,
    ADD_ONE,
    OPEN_LANES,
    answer_of,
    batch_of,
    lanes_to_open,
    values_of,
)
from gnl_store_postgres._callers import recognise
from gnl_store_postgres._claim import CLAIM, ScanStart, claimed
from gnl_store_postgres._database import CHANGE, READ, Database
from gnl_store_postgres._holds import (
    EXTEND,
    SETTLE,
    ends_of,
    extensions,
    holds_of,
    settlements,
)
from gnl_store_postgres._home import Home
from gnl_store_postgres._scripts import quoted
from gnl_store_postgres._tables import postgres_dialect, postgres_tables, visible
from gnl_store_postgres._wakeups import Hints
from gnl_store_sql import Changes, Horizon, Listing, Reads, Step, Steps

_MANY_TYPE_SETS: Final = 64


class PostgresJobs:
    """`JobStore` on PostgreSQL; what a lease may depend on goes through `urgent`."""

    def __init__(
        self, database: Database, urgent: Database, schema: str, channel: str, hints: Hints
    ) -> None:
        self._database = database
        self._urgent = urgent
        self._channel = channel
        self._hints = hints
        self._name = quoted(schema)
        self._home = Home(database, self._name)
        self._starts: dict[tuple[str, ...], ScanStart] = {}
        self._add, self._add_one, self._open_lanes, self._claim, self._settle, self._extend = (
            self._sql(sql) for sql in (ADD, ADD_ONE, OPEN_LANES, CLAIM, SETTLE, EXTEND)
        )
        tables, dialect = postgres_tables(schema), postgres_dialect()
        self._reads = Reads(tables, dialect)
        self._listing = Listing(tables, dialect, self._horizon, visible(tables))
        self._changes = Changes(tables, dialect, _Upkeep(self._name))

    def _sql(self, sql: str) -> str:
        return sql.replace("{schema}", self._name)

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        """As `JobStore.add`.

        `connection` is an ``asyncpg.Connection`` (also one from its pool), or a SQLAlchemy
        ``AsyncConnection`` or ``AsyncSession`` of a ``postgresql+asyncpg`` engine, in a
        transaction on the same database. There `max_depth` counts what the transaction sees,
        so that it never waits for others: calls at the same time can together exceed it.
        """
        if not jobs:
            return Added(())
        if connection is not None:
            return await self._add_within(connection, jobs, max_depth)
        ride = self._hints.ride()
        answer = await self._add_here(jobs, max_depth, ride.channel)
        if isinstance(answer, Added) and None in answer.known:
            self._hints.arrived(ride)
        return answer

    async def _add_here(
        self, jobs: Sequence[NewJob], max_depth: int | None, channel: str | None
    ) -> Added | DepthRefused:
        if len(jobs) == 1 and max_depth is None:
            rows = await self._database.fetch(self._add_one, *values_of(jobs[0]), channel)
            return Added((Known(*rows[0]) if rows else None,))
        rows = await self._database.fetch(
            self._add, *batch_of(jobs), max_depth, True, True, None, channel
        )
        return answer_of(rows, len(jobs), max_depth)

    async def _add_within(
        self, connection: object, jobs: Sequence[NewJob], max_depth: int | None
    ) -> Added | DepthRefused:
        caller = await recognise(connection)
        batch = batch_of(jobs)
        last = (await self._home.name(), self._channel)
        answer = await caller.fetch(self._add, *batch, max_depth, False, False, *last)
        lanes = lanes_to_open(answer)
        if lanes is not None:
            # In a transaction of our own: nobody shall wait for the caller's to end.
            await self._database.fetch(self._open_lanes, *lanes)
            answer = await caller.fetch(self._add, *batch, max_depth, False, True, *last)
        return answer_of(answer, len(jobs), max_depth)

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
        asked = tuple(sorted(set(types)))
        start = self._start(asked)
        began, turn, due_at, full = start.begin()
        rows = await self._database.fetch(
            self._claim, asked, limit, ttl, worker, max_attempts, turn, due_at, full
        )
        answer = claimed(rows, ttl)
        _, next_turn, *_, next_due, now, _ = rows[0]
        start.end(
            began,
            next_turn,
            now if next_due is None else min(now, next_due),
            swept=turn == 0,
            full=full and len(answer.grants) < limit,
        )
        return answer

    def _start(self, types: tuple[str, ...]) -> ScanStart:
        if types not in self._starts and len(self._starts) >= _MANY_TYPE_SETS:
            self._starts.clear()
        return self._starts.setdefault(types, ScanStart())

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        """As `JobStore.extend`."""
        if not holds:
            return ()
        rows = await self._urgent.fetch(self._extend, *holds_of(holds), ttl)
        return extensions(rows[0], holds)

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        """As `JobStore.settle`."""
        if not outcomes:
            return ()
        ends = ends_of(outcomes)
        rows = await self._urgent.fetch(self._settle, *ends)
        if rows[0][2]:
            self._hints.send()
        return settlements(rows[0], ends)

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        """As `JobStore.cancel`."""
        return await self._database.run(lambda: self._changes.cancel(org_id, id), begin=CHANGE)

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        """As `JobStore.revive`."""
        found = await self._database.run(lambda: self._changes.revive(org_id, id), begin=CHANGE)
        if found is JobState.DEAD:
            self._hints.send()
        return found

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        """As `JobStore.get`."""
        return await self._database.run(lambda: self._reads.get(org_id, id), begin=READ)

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        """As `JobStore.page`."""
        return await self._database.run(
            lambda: self._listing.page(scope, position, limit, states), begin=READ
        )

    async def depth(self, org_id: str | None) -> int:
        """As `JobStore.depth`."""
        return await self._database.run(lambda: self._reads.depth(org_id), begin=READ)

    async def lanes(self) -> tuple[Lane, ...]:
        """As `JobStore.lanes`."""
        return await self._database.run(self._reads.lanes)

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        """As `JobStore.prune`."""
        return await self._database.run(
            lambda: self._changes.prune(states, older_than, keep, limit), begin=CHANGE
        )

    def _horizon(self) -> Steps[Horizon]:
        rows = yield Step(
            f"select coalesce(max(seq), 0), pg_current_snapshot()::text, $1::text "  # noqa: S608
            f"from {self._name}.gnl_jobs",
            ("",),
        )
        return Horizon(rows[0][0], rows[0][1])


class _Upkeep:
    """The turns of pairs, around the shared changes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def now(self) -> Steps[Instant]:
        rows = yield Step(f"select {self._name}.gnl_now(), $1::text", ("",))
        now: Instant = rows[0][0]
        return now

    def became_ready(self, org: str, type: str, seq: int) -> Steps[None]:
        yield Step(
            f"select {self._name}.gnl_reopen_lanes(array[$1::text], array[$2::text], "
            "array[$3::bigint])",
            (org, type, seq),
        )

    def left_ready(self, org: str, type: str) -> Steps[None]:
        yield Step(
            f"select {self._name}.gnl_close_lanes(array[$1::text], array[$2::text])",
            (org, type),
        )
