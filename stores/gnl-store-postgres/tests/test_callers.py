"""Adding jobs in the caller's own transaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from gnl_core.spi import (
    SECOND,
    Added,
    DepthRefused,
    Done,
    Known,
    NewJob,
    Outcome,
    StoreRejected,
    StoreUnavailable,
)
from gnl_store_postgres import PostgresStore

PATIENCE = 20.0
"""Seconds after which something that must not wait counts as waiting for ever."""


def job(id: str, org: str | None = None, type: str = "t", **more: Any) -> NewJob:
    return NewJob(id, org, type, f'"{id}"', **more)


async def ids(store: PostgresStore, *types: str, limit: int = 100) -> list[str]:
    claimed = await store.jobs.claim(types or ("t",), limit, 30 * SECOND, "w", max_attempts=5)
    return [grant.id for grant in claimed.grants]


async def ids_in_time(store: PostgresStore, count: int) -> list[str]:
    """What polling finds: a look at everything is not taken with every claim."""
    found: list[str] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            found += await ids(store)
            await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def by_driver(space: Any) -> AsyncIterator[tuple[object, Callable[[bool], Any]]]:
    connection = await asyncpg.connect(space.server_url)
    transaction = connection.transaction()
    await transaction.start()
    try:
        yield connection, lambda ok: transaction.commit() if ok else transaction.rollback()
    finally:
        connection.terminate()


@asynccontextmanager
async def by_pool(space: Any) -> AsyncIterator[tuple[object, Callable[[bool], Any]]]:
    async with (
        asyncpg.create_pool(space.server_url, min_size=1, max_size=1) as pool,
        pool.acquire() as connection,
    ):
        transaction = connection.transaction()
        await transaction.start()
        yield connection, lambda ok: transaction.commit() if ok else transaction.rollback()


@asynccontextmanager
async def by_sqlalchemy(space: Any) -> AsyncIterator[tuple[object, Callable[[bool], Any]]]:
    engine = create_async_engine(space.server_url.replace("postgresql:", "postgresql+asyncpg:"))
    async with engine.connect() as connection:
        yield connection, lambda ok: connection.commit() if ok else connection.rollback()
    await engine.dispose()


@asynccontextmanager
async def by_session(space: Any) -> AsyncIterator[tuple[object, Callable[[bool], Any]]]:
    engine = create_async_engine(space.server_url.replace("postgresql:", "postgresql+asyncpg:"))
    async with AsyncSession(engine) as session:
        yield session, lambda ok: session.commit() if ok else session.rollback()
    await engine.dispose()


KINDS = [by_driver, by_pool, by_sqlalchemy, by_session]


@pytest.mark.parametrize("kind", KINDS)
async def test_jobs_are_committed_with_the_caller(kind: Any, space: Any) -> None:
    async with space.opened() as store:
        async with kind(space) as (connection, end):
            jobs = [job("a", "org"), job("b", type="u"), job("c", delay=1)]
            assert await store.jobs.add(jobs, connection=connection) == Added((None,) * 3)
            again = await store.jobs.add([job("a", "org")], connection=connection)
            assert again == Added((Known("t", '"a"'),))
            assert await store.jobs.get("org", "a") is None
            assert await ids(store, "t", "u") == []
            await end(True)
        assert await ids(store, "t", "u") == ["a", "b", "c"]


@pytest.mark.parametrize("kind", KINDS)
async def test_jobs_are_gone_with_the_caller(kind: Any, space: Any) -> None:
    async with space.opened() as store:
        async with kind(space) as (connection, end):
            await store.jobs.add([job("a", "org"), job("b")], connection=connection)
            await end(False)
        assert await store.jobs.get("org", "a") is None
        assert await ids(store) == []
        assert await store.jobs.add([job("a", "org")]) == Added((None,))
        assert await ids(store) == ["a"]


async def test_a_limit_counts_what_the_transaction_sees(space: Any) -> None:
    async with space.opened() as store, by_driver(space) as (connection, end):
        await store.jobs.add([job("a", "org")])
        assert await store.jobs.add([job("b", "org")], max_depth=2, connection=connection) == Added(
            (None,)
        )
        refused = await store.jobs.add([job("c", "org")], max_depth=2, connection=connection)
        assert refused == DepthRefused("org", 2, 1, 2)
        await end(True)
        assert await store.jobs.depth("org") == 2
        assert await store.jobs.get("org", "c") is None


@pytest.mark.parametrize("isolation", ["read_committed", "repeatable_read", "serializable"])
async def test_nobody_waits_for_an_open_transaction(isolation: Any, space: Any) -> None:
    async with space.opened() as store, space.connected() as connection:
        transaction = connection.transaction(isolation=isolation)
        await transaction.start()
        await connection.fetch("select 1 from gnl_jobs")
        # A row for the pair that this snapshot sees, and that goes before the call.
        await store.jobs.add([job("early", "seen")])
        assert await ids(store) == ["early"]
        mine = [job("a", "new"), job("b", "seen"), job("c")]
        await store.jobs.add(mine, connection=connection)
        async with asyncio.timeout(PATIENCE):
            # The same lanes, other lanes, claims and settles go on meanwhile.
            for turn in range(5):
                others = [job(f"x{turn}", org) for org in ("new", "seen", None, f"lane{turn}")]
                await store.jobs.add(others, max_depth=1_000)
                got = await store.jobs.claim(["t"], 9, 30 * SECOND, "w", max_attempts=5)
                assert len(got.grants) == 4
                await store.jobs.settle([Outcome(g.hold, Done("0")) for g in got.grants])
            assert await ids(store) == []
        await transaction.commit()
        assert sorted(await ids_in_time(store, 3)) == ["a", "b", "c"]


async def test_a_late_commit_is_found_and_gives_way(space: Any) -> None:
    """Its numbers were taken long ago, behind thousands of grants."""
    async with space.opened() as store, space.connected() as connection:
        transaction = connection.transaction()
        await transaction.start()
        late = {f"late{n}" for n in range(10)}
        await store.jobs.add([job(id, "slow") for id in late], connection=connection)
        await store.jobs.add([job(f"j{n}", f"lane{n % 6}") for n in range(6_000)])
        for _ in range(20):
            assert len(await ids(store)) == 100
        await transaction.commit()
        found: set[str] = set()
        async with asyncio.timeout(PATIENCE):
            while found != late:
                # Seven lanes wait: each claim of seven serves every lane once.
                now = late.intersection(await ids(store, limit=7))
                assert len(now) <= 1
                found |= now
                await asyncio.sleep(0.02)


async def test_a_known_id_waits_for_its_own_transaction_only(space: Any) -> None:
    async with space.opened() as store, space.connected() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await store.jobs.add([job("same", "org")], connection=connection)
        waiting = asyncio.create_task(store.jobs.add([job("same", "org")], max_depth=9))
        async with asyncio.timeout(PATIENCE):
            while not await connection.fetchval(
                "select count(*) from pg_stat_activity where wait_event = 'transactionid'"
            ):
                await asyncio.sleep(0.01)
            # It holds up nobody else meanwhile, in the same organization and pair, with a limit.
            assert await store.jobs.add([job("other", "org")], max_depth=9) == Added((None,))
        assert not waiting.done()
        await transaction.commit()
        assert await waiting == Added((Known("t", '"same"'),))


async def test_a_collision_in_the_callers_transaction_is_not_retried(space: Any) -> None:
    async with space.opened() as store, space.connected() as connection:
        transaction = connection.transaction(isolation="repeatable_read")
        await transaction.start()
        await connection.fetch("select 1 from gnl_jobs")
        await store.jobs.add([job("a")])
        with pytest.raises(StoreUnavailable, match="run it again"):
            await store.jobs.add([job("a")], connection=connection)
        await transaction.rollback()


async def test_a_connection_in_no_transaction_is_refused(space: Any) -> None:
    async with space.opened() as store, space.connected() as connection:
        with pytest.raises(StoreRejected, match="in no transaction"):
            await store.jobs.add([job("a")], connection=connection)
        url = space.server_url.replace("postgresql:", "postgresql+asyncpg:")
        engine = create_async_engine(url, isolation_level="AUTOCOMMIT")
        async with engine.connect() as over:
            with pytest.raises(StoreRejected, match="in no transaction"):
                await store.jobs.add([job("a")], connection=over)
        await engine.dispose()
        assert await store.jobs.get(None, "a") is None


async def test_other_kinds_are_refused_by_name(space: Any) -> None:
    async with space.opened() as store:
        with pytest.raises(StoreRejected, match=r"asyncpg\.Connection.*not builtins\.str"):
            await store.jobs.add([job("a")], connection="conn")
        engine = create_async_engine("sqlite+aiosqlite://")
        async with engine.connect() as connection:
            with pytest.raises(StoreRejected, match="sqlite"):
                await store.jobs.add([job("a")], connection=connection)
        await engine.dispose()


async def test_another_database_is_refused(space: Any, own_server: Any) -> None:
    """One without our tables, and one that has tables of the same name."""
    async with space.opened() as store:
        other = type(space)(own_server.url)
        other.schema = space.schema
        connection = await asyncpg.connect(own_server.url)
        async with connection.transaction():
            with pytest.raises(StoreRejected, match="gnl upgrade"):
                await store.jobs.add([job("a")], connection=connection)
        async with other.opened() as there, connection.transaction():
            with pytest.raises(StoreRejected, match="another database"):
                await store.jobs.add([job("a")], connection=connection)
            assert await there.jobs.add([job("a")], connection=connection) == Added((None,))
        connection.terminate()
