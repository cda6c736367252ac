"""Hints that work may have become ready."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gnl_core.spi import SECOND, Capability, Dead, NewJob, Outcome, Release, StoreUnavailable
from gnl_store_postgres import PostgresStore

PATIENCE = 10.0


class Ear:
    def __init__(self) -> None:
        self.count = 0
        self._heard = asyncio.Event()

    def wake(self) -> None:
        self.count += 1
        self._heard.set()

    async def hears(self) -> None:
        await asyncio.wait_for(self._heard.wait(), PATIENCE)
        self._heard.clear()


@asynccontextmanager
async def listening(store: PostgresStore, space: Any) -> AsyncIterator[Ear]:
    ear = Ear()
    task = asyncio.create_task(store.listen(ear.wake))
    async with asyncio.timeout(PATIENCE), space.connected() as control:
        while not await control.fetchval(
            "select count(*) from pg_stat_activity where query ~* '^ *listen '"
        ):
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    try:
        yield ear
    finally:
        task.cancel()
        await asyncio.wait([task])


def job(id: str) -> NewJob:
    return NewJob(id, None, "t", "0")


async def test_what_makes_work_ready_is_heard(space: Any) -> None:
    async with space.opened() as store, space.opened() as other, listening(other, space) as ear:
        assert Capability.WAKE_UPS in store.capabilities
        await store.jobs.add([job("a"), job("b")])
        await ear.hears()
        got = await store.jobs.claim(["t"], 2, 30 * SECOND, "w", max_attempts=1)
        await store.jobs.settle([Outcome(got.grants[0].hold, Release())])
        await ear.hears()
        await store.jobs.settle([Outcome(got.grants[1].hold, Dead("x"))])
        await store.jobs.revive(None, "b")
        await ear.hears()


async def test_a_callers_jobs_are_heard_when_they_are_committed(space: Any) -> None:
    async with space.opened() as store, listening(store, space) as ear:
        async with space.connected() as connection, connection.transaction():
            for number in range(20):
                await store.jobs.add([job(f"j{number}")], connection=connection)
            await asyncio.sleep(0.1)
            assert ear.count == 0
        await ear.hears()
        await asyncio.sleep(0.1)
        assert ear.count == 1


async def test_many_calls_make_few_hints_and_the_last_is_not_forgotten(space: Any) -> None:
    async with space.opened() as other, listening(other, space) as ear:
        async with space.opened() as store:
            await asyncio.gather(*(store.jobs.add([job(str(n))]) for n in range(200)))
            await store.jobs.add([job("last")])
        await ear.hears()
        assert 1 <= ear.count <= 100


async def test_a_lost_connection_ends_the_listening(space: Any) -> None:
    async with space.opened() as store, space.connected() as control:
        task = asyncio.create_task(store.listen(lambda: None))
        async with asyncio.timeout(PATIENCE):
            while not await control.fetchval(
                "select count(pg_terminate_backend(pid)) from pg_stat_activity "
                "where query ~* '^ *listen ' and pid <> pg_backend_pid()"
            ):
                await asyncio.sleep(0.05)
            with pytest.raises(StoreUnavailable):
                await task


async def test_without_wake_ups_a_store_does_not_claim_to_have_them(space: Any) -> None:
    async with space.opened(wake_ups="off") as store:
        assert Capability.WAKE_UPS not in store.capabilities
