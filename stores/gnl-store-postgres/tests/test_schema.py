"""Creating the tables, by many at once, and upgrading older ones."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from gnl_core.spi import SECOND, Edge, EveryLane, JobState, NewEvent, NewJob, SchemaVersion
from gnl_store_postgres import open_postgres
from gnl_store_sql import VERSION

PROCESSES = 16
ROUNDS = 3
OPEN = """
import asyncio, sys
from gnl_core.spi import NewJob
from gnl_store_postgres import open_postgres

async def main(url, name):
    store = await open_postgres(url)
    version = await store.schema()
    if version.found != version.needed:
        version = await store.upgrade()
    assert version.found == version.needed, version
    await store.jobs.add([NewJob(name, None, "t", "0")])
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_many_processes_create_one_schema(space: Any) -> None:
    for _ in range(ROUNDS):
        await space.drop()
        running = [
            subprocess.Popen(
                [sys.executable, "-c", OPEN, space.url(), str(n)], stderr=subprocess.PIPE
            )
            for n in range(PROCESSES)
        ]
        for process in running:
            _, said = process.communicate()
            assert process.returncode == 0, said.decode()
        async with space.opened() as store:
            assert await store.schema() == SchemaVersion(VERSION, VERSION)
            assert await store.jobs.depth(None) == PROCESSES


async def test_opening_creates_nothing(space: Any) -> None:
    store = await open_postgres(space.url())
    assert await store.schema() == SchemaVersion(None, VERSION)
    assert await store.schema() == SchemaVersion(None, VERSION)
    await store.close()
    await store.close()


async def test_a_newer_schema_is_left_alone(space: Any) -> None:
    async with space.opened() as store, space.connected() as control:
        await control.execute("update gnl_meta set value = '99' where name = 'schema'")
        assert await store.schema() == SchemaVersion(99, VERSION)
        assert await store.upgrade() == SchemaVersion(99, VERSION)


async def test_an_upgrade_keeps_every_job(space: Any) -> None:
    """From the tables of version 1 with a job in every state."""
    old = (Path(__file__).parent / "version_1.sql").read_text("utf-8")
    async with space.connected() as control:
        await control.execute(f"create schema {space.schema}")
        await control.execute(old)
        store = await open_postgres(space.url())
        assert (await store.schema()).found == 1
        both = await asyncio.gather(store.upgrade(), store.upgrade())
        assert both == [SchemaVersion(VERSION, VERSION)] * 2
        jobs = store.jobs
        page = await jobs.page(EveryLane(), None, 100)
        assert {record.id: record.state for record in page.items} == {
            "ready": JobState.WAITING,
            "ready-2": JobState.WAITING,
            "delayed": JobState.WAITING,
            "held": JobState.RUNNING,
            "done": JobState.DONE,
            "dead": JobState.DEAD,
            "canceled": JobState.CANCELED,
        }
        dead = await jobs.get("org", "dead")
        assert dead is not None
        assert [(f.attempt, f.error) for f in dead.failures] == [(1, "first"), (2, "second")]
        # The expired lease is reclaimed, the delayed job is due, turns are kept.
        claimed = await jobs.claim(["t"], 10, 30 * SECOND, "w", max_attempts=5)
        assert [grant.id for grant in claimed.grants] == ["ready-2", "ready", "held", "delayed"]
        assert await jobs.revive("org", "dead") is JobState.DEAD
        claimed = await jobs.claim(["t"], 10, 30 * SECOND, "w", max_attempts=5)
        assert [grant.id for grant in claimed.grants] == ["dead"]
        assert claimed.grants[0].token > 5_000_000
        await store.close()


async def test_events_can_be_kept_after_an_upgrade(space: Any) -> None:
    """From the tables of version 2, which knew jobs alone."""
    old = (Path(__file__).parent / "version_2.sql").read_text("utf-8")
    async with space.connected() as control:
        await control.execute(f"create schema {space.schema}")
        await control.execute(old)
        store = await open_postgres(space.url())
        assert (await store.schema()).found == 2
        both = await asyncio.gather(store.upgrade(), store.upgrade())
        assert both == [SchemaVersion(VERSION, VERSION)] * 2
        await store.jobs.add([NewJob("new", None, "t", "4")])
        claimed = await store.jobs.claim(["t"], 10, 30 * SECOND, "w", max_attempts=5)
        assert [grant.id for grant in claimed.grants] == ["ready", "held", "new"]
        assert await store.jobs.revive("org", "dead") is JobState.DEAD
        await store.events.append([NewEvent("e", "org", "topic", "1")])
        delivered = await store.events.deliver(
            "topic", "c", 10, SECOND, "w", max_attempts=None, start=Edge.EARLIEST
        )
        assert [grant.id for grant in delivered.grants] == ["e"]
        await store.close()
        assert await control.fetchval("select to_regprocedure('gnl_add(text)')") is None
