from __future__ import annotations

import inspect
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from gnl_core.spi import SECOND, NewJob, StoreError, StoreRejected, StoreUnavailable
from gnl_store_sqlite import SqliteStore, open_sqlite
from gnl_store_sqlite._errors import DRIVER_ERRORS, store_error

JOB = NewJob("a", None, "t", "1")


def driver_exceptions() -> list[type[Exception]]:
    found = [cls for _, cls in inspect.getmembers(sqlite3, inspect.isclass)]
    return [cls for cls in found if issubclass(cls, Exception)]


@pytest.mark.parametrize("cls", driver_exceptions(), ids=lambda cls: cls.__name__)
def test_every_exception_of_the_driver_is_caught_and_mapped(cls: type[Exception]) -> None:
    assert issubclass(cls, DRIVER_ERRORS)
    assert type(store_error(cls("why"))) in (StoreRejected, StoreUnavailable)
    assert "why" in str(store_error(cls("why")))


def connection(store: SqliteStore) -> sqlite3.Connection:
    opened = store._database._connection
    assert opened is not None
    return opened


async def test_a_lock_that_outlasts_the_timeout_is_unavailable(opened: Any, path: Path) -> None:
    async with opened(timeout=0.05) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="longer than the timeout"):
            await store.jobs.add([JOB])
        # Reading, and looking for work where there is none, wait for nobody.
        assert await store.jobs.get(None, "a") is None
        assert (await store.jobs.claim(["t"], 1, SECOND, "w", max_attempts=1)).grants == ()
        other.execute("ROLLBACK")
        other.close()
        await store.jobs.add([JOB])


async def test_a_full_disk_is_rejected_whole_and_the_handle_goes_on(opened: Any) -> None:
    async with opened() as store:
        await store.jobs.add([JOB])
        (pages,) = connection(store).execute("PRAGMA page_count").fetchone()
        connection(store).execute(f"PRAGMA max_page_count = {pages + 4}")
        many = [NewJob(f"b{n}", None, "t", "x" * 500) for n in range(1_000)]
        with pytest.raises(StoreRejected, match="disk is full"):
            await store.jobs.add(many)
        connection(store).execute("PRAGMA max_page_count = 1000000")
        assert await store.jobs.depth(None) == 1
        await store.jobs.add(many)
        assert await store.jobs.depth(None) == 1_001


async def test_a_read_only_database_is_rejected(opened: Any) -> None:
    async with opened() as store:
        connection(store).execute("PRAGMA query_only = 1")
        with pytest.raises(StoreRejected, match="cannot be written"):
            await store.jobs.add([JOB])


async def test_a_damaged_file_is_rejected_with_a_way_out(opened: Any, path: Path) -> None:
    async with opened() as store:
        await store.jobs.add([NewJob(f"b{n}", None, "t", "x" * 500) for n in range(500)])
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    async with opened(upgrade=False) as store:
        with pytest.raises(StoreRejected, match=r"damaged.*\.recover"):
            await store.jobs.get(None, "b1")


async def test_a_file_that_turns_out_to_be_none_is_rejected(opened: Any, path: Path) -> None:
    async with opened(upgrade=False) as store:
        path.write_bytes(b"x" * 10_000)
        with pytest.raises(StoreRejected, match="not a SQLite database"):
            await store.upgrade()


@pytest.mark.parametrize("exists", [False, True])
async def test_without_tables_the_command_is_named(exists: bool, opened: Any, path: Path) -> None:
    if exists:
        sqlite3.connect(path).close()
        path.touch()
    async with opened(upgrade=False) as store:
        with pytest.raises(StoreRejected, match="gnl upgrade"):
            await store.jobs.add([JOB])
        with pytest.raises(StoreRejected, match="gnl upgrade"):
            await store.now()


@pytest.mark.parametrize(
    "job", [NewJob("b", None, "t", "\ud800"), NewJob("b", None, "t", "1", delay=2**70)]
)
async def test_a_value_that_cannot_be_bound_is_rejected(job: NewJob, opened: Any) -> None:
    async with opened() as store:
        with pytest.raises(StoreRejected):
            await store.jobs.add([JOB, job])
        assert await store.jobs.depth(None) == 0


async def test_a_closed_handle_says_so_and_closes_twice(path: Path) -> None:
    store = await open_sqlite(f"sqlite:///{path}")
    await store.upgrade()
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.now()
