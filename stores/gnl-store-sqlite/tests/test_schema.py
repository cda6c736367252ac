"""Creating the tables, by many at once, and upgrading older ones."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gnl_core.spi import (
    SECOND,
    Done,
    Edge,
    EveryLane,
    Failure,
    Hold,
    HoldState,
    JobState,
    Lane,
    NewEvent,
    NewJob,
    Outcome,
    SchemaVersion,
)
from gnl_store_sql import VERSION
from gnl_store_sqlite._schema import _UPGRADES
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location

PROCESSES = 8
ROUNDS = 3
OPEN = """
import asyncio, sys
from gnl_core.spi import NewJob
from gnl_store_sqlite import open_sqlite

async def main(url, name):
    store = await open_sqlite(url)
    version = await store.upgrade()
    assert version.found == version.needed, version
    await store.jobs.add([NewJob(name, None, "t", "0")])
    await store.close()

asyncio.run(main(*sys.argv[1:]))
"""

VERSION_1 = Path(__file__).parent / "version_1.sql"
VERSION_2 = Path(__file__).parent / "version_2.sql"
AT = 1_790_000_014 * SECOND
"""When the database of version 1 was last written."""


@contextlib.contextmanager
def looking(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def layout(path: Path) -> dict[str, Any]:
    """Tables with their columns, indexes with theirs."""
    with looking(path) as connection:
        names = connection.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
        pragma = {"table": "table_info", "index": "index_xinfo"}
        return {
            name: connection.execute(f"PRAGMA {pragma[kind]}({name})").fetchall()
            for kind, name in names
        }


def write_version_1(path: Path) -> None:
    write_version(1, path)


def write_version(number: int, path: Path) -> None:
    with looking(path) as connection:
        connection.executescript({1: VERSION_1, 2: VERSION_2}[number].read_text("utf-8"))


@pytest.mark.parametrize("old", [False, True], ids=["new", "old"])
async def test_many_processes_make_one_schema(old: bool, opened: Any, tmp_path: Path) -> None:
    for number in range(ROUNDS):
        path = tmp_path / f"{number}.db"
        if old:
            write_version_1(path)
        command = [sys.executable, "-c", OPEN, f"sqlite:///{path}"]
        running = [
            subprocess.Popen([*command, f"new-{n}"], stderr=subprocess.PIPE)
            for n in range(PROCESSES)
        ]
        for process in running:
            _, said = process.communicate()
            assert process.returncode == 0, said.decode()
        with looking(path) as connection:
            (jobs,) = connection.execute("SELECT count(*) FROM gnl_jobs").fetchone()
        assert jobs == PROCESSES + (10 if old else 0)


async def test_the_file_is_set_to_write_ahead(opened: Any, path: Path) -> None:
    async with opened():
        with looking(path) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_the_tables_stand_beside_an_applications_own(opened: Any, path: Path) -> None:
    with looking(path) as connection:
        connection.execute("CREATE TABLE orders (id TEXT)")
        connection.execute("INSERT INTO orders VALUES ('1')")
        async with opened() as store:
            await store.jobs.add([NewJob("a", None, "t", "1")])
        assert connection.execute("SELECT * FROM orders").fetchall() == [("1",)]


async def test_a_newer_schema_is_left_alone(opened: Any, path: Path) -> None:
    async with opened() as store:
        with looking(path) as connection:
            connection.execute("UPDATE gnl_meta SET value = '99' WHERE name = 'schema'")
            before = connection.execute("SELECT * FROM sqlite_master").fetchall()
            assert await store.schema() == SchemaVersion(99, VERSION)
            assert await store.upgrade() == SchemaVersion(99, VERSION)
            assert connection.execute("SELECT * FROM sqlite_master").fetchall() == before


def test_every_older_version_has_a_step() -> None:
    assert sorted(_UPGRADES) == list(range(1, VERSION))


@pytest.mark.parametrize("version", range(1, VERSION))
async def test_an_upgraded_database_is_laid_out_like_a_new_one(
    version: int, opened: Any, path: Path, tmp_path: Path
) -> None:
    async with opened():
        pass
    old = tmp_path / "old.db"
    write_version(version, old)
    assert layout(old) != layout(path)
    store = SqliteStore(Location(old))
    assert (await store.schema()).found == version
    both = await asyncio.gather(store.upgrade(), (await store.sibling()).upgrade())
    assert both == [SchemaVersion(VERSION, VERSION)] * 2
    await store.close()
    assert layout(old) == layout(path)


async def test_an_upgrade_that_fails_changes_nothing(path: Path) -> None:
    write_version_1(path)
    with looking(path) as connection:
        # In the way of the step, after it has begun.
        connection.execute("CREATE TABLE gnl_failures_1 (x)")
        before = list(connection.iterdump())
        store = SqliteStore(Location(path))
        with pytest.raises(Exception, match="gnl_failures_1"):
            await store.upgrade()
        assert list(connection.iterdump()) == before
        assert (await store.schema()).found == 1
        await store.close()


async def test_an_upgrade_keeps_every_job(path: Path) -> None:
    """From the tables of version 1, with jobs in every state."""
    write_version_1(path)
    store = SqliteStore(Location(path), clock=lambda: AT)
    await store.upgrade()
    jobs = store.jobs
    page = await jobs.page(EveryLane(), None, 100)
    assert {record.id: record.state for record in page.items} == {
        "done": JobState.DONE,
        "running": JobState.RUNNING,
        "stopping": JobState.RUNNING,
        "ready-3": JobState.WAITING,
        "dead": JobState.DEAD,
        "canceled": JobState.CANCELED,
        "delayed": JobState.WAITING,
        "ready-1": JobState.WAITING,
        "ready-2": JobState.WAITING,
        "retried": JobState.WAITING,
    }
    assert await jobs.lanes() == (Lane(None, 1, 0, 2), Lane("org", 2, 1, 0), Lane("z'", 0, 1, 0))
    done, dead = await jobs.get(None, "done"), await jobs.get("org", "dead")
    assert done is not None
    assert (done.payload, done.result) == ('{"a": "é😀"}', '"result"')
    assert dead is not None
    assert dead.failures == (
        Failure(1, "first failure", AT - 10 * SECOND),
        Failure(2, "second failure", AT - 8 * SECOND),
        Failure(1, "failed again", AT - 6 * SECOND),
    )
    await store.close()


async def test_work_goes_on_after_an_upgrade(path: Path) -> None:
    write_version_1(path)
    now = AT
    store = SqliteStore(Location(path), clock=lambda: now)
    await store.upgrade()
    jobs = store.jobs
    running, stopping = await jobs.extend([Hold(4, 5), Hold(5, 6)], 60 * SECOND)
    assert (running.state, stopping.state) == (HoldState.KEPT, HoldState.CANCELED)
    ended = await jobs.settle([Outcome(Hold(4, 5), Done("1")), Outcome(Hold(5, 6), Done("1"))])
    assert [settlement.state for settlement in ended] == [JobState.DONE, JobState.CANCELED]
    assert await jobs.revive("org", "dead") is JobState.DEAD
    now += 10_000 * SECOND
    claimed = await jobs.claim(["t", "v", "w"], 10, SECOND, "w", max_attempts=5)
    assert [(grant.id, grant.attempt) for grant in claimed.grants] == [
        ("dead", 1),
        ("ready-3", 1),
        ("retried", 2),
        ("delayed", 1),
        ("ready-1", 1),
        ("ready-2", 1),
    ]
    assert min(grant.token for grant in claimed.grants) > 7
    await jobs.add([NewJob("new", None, "t", "1")])
    new = await jobs.get(None, "new")
    assert new is not None
    assert new.seq > 10
    await store.close()


async def test_events_can_be_kept_after_an_upgrade(path: Path) -> None:
    """From the tables of version 2, which knew jobs alone."""
    write_version(2, path)
    store = SqliteStore(Location(path), clock=lambda: AT)
    await store.upgrade()
    states = {r.id: r.state for r in (await store.jobs.page(EveryLane(), None, 100)).items}
    assert states == {
        "done": JobState.DONE,
        "dead": JobState.DEAD,
        "running": JobState.RUNNING,
        "delayed": JobState.WAITING,
        "ready": JobState.WAITING,
    }
    await store.events.append([NewEvent("e", "org", "topic", "1")])
    delivered = await store.events.deliver(
        "topic", "c", 10, SECOND, "w", max_attempts=None, start=Edge.EARLIEST
    )
    assert [grant.id for grant in delivered.grants] == ["e"]
    await store.close()
