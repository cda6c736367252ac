"""What the kit cannot know of this store: its files, its lock, its clock, its URL."""

from __future__ import annotations

import asyncio
import fcntl
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from gnl_core import Worker, enqueue, open_storage
from gnl_core.spi import SECOND, Done, JobState, NewJob, Outcome, StoreRejected, StoreUnavailable
from gnl_store_files import FileStore, open_files
from gnl_store_files.lines import pack


@asynccontextmanager
async def opened(
    folder: Path, *, timeout: float = 10.0, compact_after: int = 10_000
) -> AsyncIterator[FileStore]:
    store = FileStore(folder, timeout=timeout, compact_after=compact_after)
    try:
        await store.upgrade()
        yield store
    finally:
        await store.close()


async def add(store: FileStore, *ids: str, payload: str = "null") -> None:
    await store.jobs.add([NewJob(id, None, "work", payload) for id in ids])


async def run_one(store: FileStore) -> None:
    claimed = await store.jobs.claim(["work"], 1, 60 * SECOND, "w", max_attempts=3)
    (grant,) = claimed.grants
    await store.jobs.settle([Outcome(grant.hold, Done("1"))])


@contextmanager
def lock_held(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_a_job_runs_on_a_store_opened_by_its_url(tmp_path: Path) -> None:
    seen: list[object] = []

    async def scenario() -> None:
        async with open_storage(f"files://{tmp_path}/queue") as storage:
            await enqueue(storage.work, "greet", {"name": "Ada"})
            async with Worker(storage, {"greet": lambda payload, _: seen.append(payload)}) as one:
                assert await one.drain() == 1

    asyncio.run(scenario())
    assert seen == [{"name": "Ada"}]


def test_a_line_that_was_not_written_to_its_end_is_cut_off(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as two:
            await add(one, "a")
            whole = (tmp_path / "log").read_bytes()
            last = whole.splitlines(keepends=True)[-1]
            for torn in (last[:1], last[: len(last) // 2], last[:-1], b"0" * 20 + b"\n"):
                (tmp_path / "log").write_bytes(whole + torn)
                assert await two.jobs.depth(None) == 1
                assert (tmp_path / "log").read_bytes() == whole
            await add(two, "b")
            assert await one.jobs.depth(None) == 2

    asyncio.run(scenario())


def test_a_damaged_line_that_others_follow_is_an_error_and_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await add(store, "a")
            await add(store, "b")
        damaged = (tmp_path / "log").read_bytes().replace(b'"a"', b'"x"')
        (tmp_path / "log").write_bytes(damaged)
        store = FileStore(tmp_path)
        with pytest.raises(StoreUnavailable, match="is damaged"):
            await store.jobs.depth(None)
        await store.close()
        assert (tmp_path / "log").read_bytes() == damaged

    asyncio.run(scenario())


def test_a_log_of_the_past_is_rewritten_under_other_handles(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path, compact_after=0) as one, opened(tmp_path) as two:
            for number in range(20):
                await add(one, f"job {number}")
                await run_one(two)
            await add(one, "last")
            assert await one.jobs.prune([JobState.DONE], keep=2) == 18
            assert len((tmp_path / "log").read_bytes().splitlines()) < 5
            await run_one(two)
            before = await two.jobs.get(None, "job 19")
            assert before is not None
            assert before.state is JobState.DONE
            assert await one.jobs.depth(None) == 0
            await add(two, "after")
            after = await one.jobs.get(None, "after")
            assert after is not None
            assert after.seq == 22

    asyncio.run(scenario())


def test_time_stands_still_while_the_clock_is_behind_what_was_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as one, opened(tmp_path) as two:
            ahead = await one.now() + 3_600 * SECOND
            (tmp_path / "lock").write_bytes(b"%020d" % ahead)
            assert [await one.now(), await two.now()] == [ahead, ahead]
            await add(one, "a")
            (tmp_path / "lock").write_bytes(b"")
            assert await two.now() == ahead

    asyncio.run(scenario())


def test_waiting_for_the_lock_leaves_the_event_loop_alone_and_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as patient, opened(tmp_path, timeout=0.05) as hasty:
            with lock_held(tmp_path):
                waiting = asyncio.create_task(patient.now())
                with pytest.raises(StoreUnavailable, match="another process held the lock"):
                    await hasty.now()
                assert not waiting.done()
            await waiting
            await hasty.now()

    asyncio.run(scenario())


def test_a_disk_that_is_full_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await add(store, "a")
            limits = resource.getrlimit(resource.RLIMIT_FSIZE)
            full = (tmp_path / "log").stat().st_size + 1_000
            resource.setrlimit(resource.RLIMIT_FSIZE, (full, limits[1]))
            try:
                with pytest.raises(StoreUnavailable, match="File too large"):
                    await add(store, "b", payload="1" * 5_000)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert await store.jobs.get(None, "b") is None
            await add(store, "b")
            assert await store.jobs.depth(None) == 2

    asyncio.run(scenario())


def test_a_log_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path):
            pass
        newer = pack({"version": 2}) + b"something new\n"
        (tmp_path / "log").write_bytes(newer)
        async with opened(tmp_path) as store:
            found = await store.upgrade()
            assert (found.found, found.needed) == (2, 1)
            with pytest.raises(StoreRejected, match="has version 2"):
                await add(store, "a")
        assert (tmp_path / "log").read_bytes() == newer

    asyncio.run(scenario())


def test_opening_and_asking_for_the_schema_create_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_files(f"files:{tmp_path}/new%20folder")
        assert (await store.schema()).found is None
        with pytest.raises(StoreRejected, match="new folder has no tables yet"):
            await store.jobs.depth(None)
        assert list(tmp_path.iterdir()) == []
        await store.upgrade()
        assert [path.name for path in tmp_path.iterdir()] == ["new folder"]
        await store.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "url",
    [
        "files:",
        "files://host/folder",
        "file:///folder",
        "files:///f?size=1",
        "files:///f?timeout=x",
    ],
)
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        asyncio.run(open_files(url))
