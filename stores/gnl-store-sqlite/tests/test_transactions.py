from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine

from gnl_core.spi import Added, DepthRefused, Known, NewJob, StoreRejected, StoreUnavailable

JOBS = [NewJob("a", None, "t", "1"), NewJob("b", "o", "t", "2", delay=5)]


@dataclass
class Caller:
    """A caller's transaction: what to hand to `add`, and the caller's own statements."""

    connection: object
    execute: Callable[[str], Awaitable[Any]]
    commit: Callable[[], Awaitable[None]]
    rollback: Callable[[], Awaitable[None]]


@contextlib.asynccontextmanager
async def by_aiosqlite(path: Path) -> AsyncIterator[Caller]:
    async with aiosqlite.connect(path) as caller:
        yield Caller(caller, caller.execute, caller.commit, caller.rollback)


@contextlib.asynccontextmanager
async def by_aiosqlite_with_rows_as_dicts(path: Path) -> AsyncIterator[Caller]:
    async with aiosqlite.connect(path, isolation_level=None) as caller:
        caller.row_factory = lambda cursor, row: dict(  # type: ignore[assignment]  # a plain function is a row factory
            zip([column[0] for column in cursor.description], row, strict=True)
        )
        await caller.execute("BEGIN")
        yield Caller(caller, caller.execute, caller.commit, caller.rollback)


@contextlib.asynccontextmanager
async def engine_on(path: Path, **options: Any) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"sqlite+aiosqlite:///{path}", **options)
    try:
        yield engine
    finally:
        await engine.dispose()


@contextlib.asynccontextmanager
async def by_sqlalchemy_connection(path: Path) -> AsyncIterator[Caller]:
    async with engine_on(path) as engine, engine.connect() as caller:
        yield Caller(caller, caller.exec_driver_sql, caller.commit, caller.rollback)


@contextlib.asynccontextmanager
async def by_sqlalchemy_immediate(path: Path) -> AsyncIterator[Caller]:
    async with engine_on(path, connect_args={"isolation_level": None}) as engine:
        event.listen(
            engine.sync_engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN IMMEDIATE")
        )
        async with engine.connect() as caller:
            yield Caller(caller, caller.exec_driver_sql, caller.commit, caller.rollback)


@contextlib.asynccontextmanager
async def by_sqlalchemy_session(path: Path) -> AsyncIterator[Caller]:
    async with engine_on(path) as engine, async_sessionmaker(engine)() as caller:

        async def execute(sql: str) -> Any:
            return await (await caller.connection()).exec_driver_sql(sql)

        yield Caller(caller, execute, caller.commit, caller.rollback)


every_way = pytest.mark.parametrize(
    "way",
    [
        by_aiosqlite,
        by_aiosqlite_with_rows_as_dicts,
        by_sqlalchemy_connection,
        by_sqlalchemy_immediate,
        by_sqlalchemy_session,
    ],
)


def own_table(path: Path) -> sqlite3.Connection:
    """The caller's own table, and a connection of ours to look into it."""
    own = sqlite3.connect(path, isolation_level=None)
    own.execute("CREATE TABLE orders (id TEXT)")
    return own


@every_way
async def test_jobs_come_with_the_callers_commit(way: Any, opened: Any, path: Path) -> None:
    async with opened() as store:
        own = own_table(path)
        async with way(path) as caller:
            answer = await store.jobs.add(JOBS, connection=caller.connection)
            await caller.execute("INSERT INTO orders VALUES ('1')")
            assert answer == Added((None, None))
            assert await store.jobs.get(None, "a") is None
            assert await store.jobs.lanes() == ()
            await caller.commit()
            assert await store.jobs.get(None, "a") is not None
            assert await store.jobs.depth("o") == 1
        async with way(path) as caller:
            again = await store.jobs.add(JOBS, connection=caller.connection, max_depth=1)
            assert again == Added((Known("t", "1"), Known("t", "2")))
            await caller.commit()
        assert own.execute("SELECT count(*) FROM orders").fetchone() == (1,)
        own.close()
        claimed = await store.jobs.claim(["t"], 5, 1_000_000, "w", max_attempts=1)
        assert [grant.id for grant in claimed.grants] == ["a", "b"]


@every_way
async def test_jobs_go_with_the_callers_rollback(way: Any, opened: Any, path: Path) -> None:
    async with opened() as store:
        own = own_table(path)
        async with way(path) as caller:
            await caller.execute("INSERT INTO orders VALUES ('1')")
            await store.jobs.add(JOBS, connection=caller.connection)
            await caller.rollback()
        assert own.execute("SELECT count(*) FROM orders").fetchone() == (0,)
        own.close()
        assert await store.jobs.lanes() == ()
        assert (await store.jobs.claim(["t"], 5, 1, "w", max_attempts=1)).grants == ()
        assert await store.jobs.add(JOBS) == Added((None, None))


@every_way
async def test_a_failure_leaves_the_callers_own_work_to_commit(
    way: Any, opened: Any, path: Path
) -> None:
    async with opened() as store:
        own = own_table(path)
        async with way(path) as caller:
            await caller.execute("INSERT INTO orders VALUES ('1')")
            with pytest.raises(StoreRejected):
                await store.jobs.add(
                    [*JOBS, NewJob("c", None, "t", "1", delay=2**70)],
                    connection=caller.connection,
                )
            await store.jobs.add([NewJob("d", "o", "t", "1")], connection=caller.connection)
            await caller.commit()
        assert own.execute("SELECT count(*) FROM orders").fetchone() == (1,)
        assert own.execute("SELECT id FROM gnl_jobs").fetchall() == [("d",)]
        own.close()


@every_way
async def test_a_refused_depth_writes_nothing(way: Any, opened: Any, path: Path) -> None:
    async with opened() as store:
        await store.jobs.add([NewJob("z", None, "t", "1")])
        async with way(path) as caller:
            answer = await store.jobs.add(JOBS, connection=caller.connection, max_depth=1)
            assert answer == DepthRefused(None, 1, 1, 1)
            await caller.commit()
        assert [lane.org_id for lane in await store.jobs.lanes()] == [None]


async def test_autocommit_is_refused(opened: Any, path: Path) -> None:
    async with opened() as store, engine_on(path, isolation_level="AUTOCOMMIT") as engine:
        async with aiosqlite.connect(path, isolation_level=None) as caller:
            with pytest.raises(StoreRejected, match="BEGIN IMMEDIATE"):
                await store.jobs.add(JOBS, connection=caller)
        async with engine.connect() as connection:
            with pytest.raises(StoreRejected, match="BEGIN IMMEDIATE"):
                await store.jobs.add(JOBS, connection=connection)
        assert await store.jobs.lanes() == ()


async def test_a_connection_on_another_database_is_refused(
    opened: Any, path: Path, tmp_path: Path
) -> None:
    async with opened() as store:
        for other in (tmp_path / "other.db", ":memory:"):
            async with aiosqlite.connect(other) as caller:
                with pytest.raises(StoreRejected, match=r"jobs\.db"):
                    await store.jobs.add(JOBS, connection=caller)
        link = tmp_path / "link.db"
        link.symlink_to(path)
        async with aiosqlite.connect(link) as caller:
            await store.jobs.add(JOBS, connection=caller)
            await caller.commit()
        assert await store.jobs.depth(None) == 1


async def test_a_kind_of_connection_that_is_not_known_is_refused(opened: Any) -> None:
    async with opened() as store:
        plain = sqlite3.connect(":memory:")
        with pytest.raises(StoreRejected, match=r"sqlite3\.Connection.*aiosqlite\.Connection"):
            await store.jobs.add(JOBS, connection=plain)
        plain.close()


async def test_a_closed_connection_is_rejected(opened: Any, path: Path) -> None:
    async with opened() as store, engine_on(path) as engine:
        caller = await aiosqlite.connect(path)
        await caller.close()
        with pytest.raises(StoreRejected):
            await store.jobs.add(JOBS, connection=caller)
        connection = await engine.connect()
        await connection.close()
        with pytest.raises(StoreRejected):
            await store.jobs.add(JOBS, connection=connection)


async def test_a_stale_snapshot_is_told_from_a_lock(opened: Any, path: Path) -> None:
    async with opened() as store, aiosqlite.connect(path, isolation_level=None) as caller:
        await caller.execute("PRAGMA busy_timeout = 20")
        await caller.execute("BEGIN")
        await caller.execute_fetchall("SELECT * FROM gnl_meta")
        await store.jobs.add([NewJob("z", None, "t", "1")])
        with pytest.raises(StoreUnavailable, match="roll it back"):
            await store.jobs.add(JOBS, connection=caller)
        await caller.rollback()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        await caller.execute("BEGIN")
        with pytest.raises(StoreUnavailable, match="another writer"):
            await store.jobs.add(JOBS, connection=caller)
        other.close()
