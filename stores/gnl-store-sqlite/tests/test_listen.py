from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from gnl_core.spi import SECOND, Done, NewJob, Outcome, Retry, Store, StoreUnavailable
from gnl_store_sqlite import _listen, open_sqlite

JOB = NewJob("a", None, "t", "1")

OTHER_PROCESS = """
import asyncio, sys
from gnl_core.spi import NewJob
from gnl_store_sqlite import open_sqlite

async def main(url):
    store = await open_sqlite(url)
    await store.jobs.add([NewJob("other", None, "t", "1", delay=5)])
    await store.close()

asyncio.run(main(sys.argv[1]))
"""


@contextlib.asynccontextmanager
async def listening(store: Store) -> AsyncIterator[asyncio.Event]:
    """An event that hints set, after the one that a listener begins with."""
    woken = asyncio.Event()
    task = asyncio.create_task(store.listen(woken.set))
    await woken.wait()
    woken.clear()
    try:
        yield woken
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_another_handle_wakes(opened: Any) -> None:
    async with opened() as store, opened() as other, listening(store) as woken:
        await other.jobs.add([JOB])
        await asyncio.wait_for(woken.wait(), 10)


async def test_another_process_wakes_also_with_a_delayed_job(opened: Any, path: Path) -> None:
    async with opened() as store, listening(store) as woken:
        subprocess.run([sys.executable, "-c", OTHER_PROCESS, f"sqlite:///{path}"], check=True)
        await asyncio.wait_for(woken.wait(), 10)


async def test_a_callers_commit_wakes(opened: Any, path: Path) -> None:
    async with opened() as store, listening(store) as woken, aiosqlite.connect(path) as caller:
        await store.jobs.add([JOB], connection=caller)
        await caller.commit()
        await asyncio.wait_for(woken.wait(), 10)


async def test_a_retry_wakes_and_finishing_does_not(opened: Any) -> None:
    async with opened() as store:
        await store.jobs.add([JOB, NewJob("b", None, "t", "1")])
        async with listening(store) as woken:
            claimed = await store.jobs.claim(["t"], 2, SECOND, "w", max_attempts=3)
            first, second = claimed.grants
            await store.jobs.settle([Outcome(first.hold, Done("1"))])
            # Three looks of the listening thread; a hint would have come with the first.
            await asyncio.sleep(0.05)
            assert not woken.is_set()
            await store.jobs.settle([Outcome(second.hold, Retry(0, "e"))])
            await asyncio.wait_for(woken.wait(), 10)


async def test_listeners_share_a_thread_that_ends_with_the_last(opened: Any, path: Path) -> None:
    async with opened() as store, opened() as other:
        async with listening(store) as one:
            async with listening(other) as two:
                assert len(_listen._WATCHERS) == 1
                (watcher,) = _listen._WATCHERS.values()
                await store.jobs.add([JOB])
                await asyncio.wait_for(one.wait(), 10)
                await asyncio.wait_for(two.wait(), 10)
            assert len(_listen._WATCHERS) == 1
        assert not _listen._WATCHERS
        await asyncio.to_thread(watcher.join, 10)
        assert not watcher.is_alive()


async def test_listening_without_tables_is_unavailable(path: Path) -> None:
    store = await open_sqlite(f"sqlite:///{path}")
    with pytest.raises(StoreUnavailable, match="no database"):
        await store.listen(lambda: None)
    assert not _listen._WATCHERS
