"""What users were promised, with real worker processes, real databases and real kills."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

from backends import Backend
from workers import Spell, Workers, overlapping, spells

from gnl_core import Job, JobInfo, JobState, Storage, enqueue_many, list_all_jobs, open_storage

ORGS = (None, "acme", "globex", "initech")
TTL = 1.0


def jobs_over_lanes(count: int, max_attempts: int = 20) -> list[Job]:
    """`count` jobs, spread over four lanes."""
    return [
        Job("work", {"n": n}, id=f"job-{n}", org_id=ORGS[n % 4], max_attempts=max_attempts)
        for n in range(count)
    ]


async def enqueue_all(url: str, jobs: list[Job]) -> None:
    async with open_storage(url) as storage:
        await enqueue_many(storage.work, jobs)


async def until_settled(storage: Storage, seconds: float) -> None:
    """Wait until no job is live; `seconds` guards against hanging and measures nothing."""
    give_up = time.monotonic() + seconds
    while any(lane.ready + lane.delayed + lane.running for lane in await storage.work.jobs.lanes()):
        assert time.monotonic() < give_up, "jobs are left over, and nobody works them off"
        await asyncio.sleep(0.1)


async def all_jobs(url: str, *, wait: float = 120) -> dict[str, JobInfo]:
    """Every job, once none is live."""
    async with open_storage(url) as storage:
        await until_settled(storage, wait)
        found: dict[str, JobInfo] = {}
        cursor = None
        while True:
            page = await list_all_jobs(storage.work, cursor=cursor, limit=1_000)
            found |= {job.id: job for job in page.items}
            cursor = page.next_cursor
            if cursor is None:
                return found


def assert_each_done_once_at_a_time(
    jobs: dict[str, JobInfo], calls: dict[str, list[Spell]]
) -> None:
    """Done, by the call that was granted last, and no two calls of a job side by side."""
    assert Counter(job.state for job in jobs.values()) == {JobState.DONE: len(jobs)}
    for job in jobs.values():
        assert not overlapping(calls[job.id]), f"{job.id} ran twice at once"
        last = calls[job.id][-1]
        assert (last.attempt, last.finished) == (job.attempts, True)
        assert job.result == {"attempt": last.attempt, "pid": last.pid}


def test_kill_9_at_any_moment_loses_no_job_and_doubles_none(
    backend: Backend, tmp_path: Path
) -> None:
    dice = random.Random(20)
    workers = Workers(backend.url, tmp_path / "diary", TTL, pace=0.1)
    asyncio.run(enqueue_all(backend.url, jobs_over_lanes(10_000)))
    workers.start(3)
    try:
        for _ in range(8):
            workers.until_up()
            time.sleep(dice.random() / 2)
            workers.kill_one(dice)
            workers.start()
        jobs = asyncio.run(all_jobs(backend.url))
    finally:
        codes = workers.stop()
    assert set(codes) == {0}
    assert len(jobs) == 10_000
    assert any(job.attempts > 1 for job in jobs.values()), "no kill cost a lease: nothing was shown"
    assert_each_done_once_at_a_time(jobs, spells(workers))


def test_a_job_that_kills_its_process_is_dead_after_its_budget_and_others_live(
    backend: Backend, tmp_path: Path
) -> None:
    workers = Workers(backend.url, tmp_path / "diary", TTL)
    poison = Job("poison", id="poison", max_attempts=3)
    # The others have no more attempts than the one that takes them down with it.
    asyncio.run(enqueue_all(backend.url, [poison, *jobs_over_lanes(40, max_attempts=3)]))
    workers.start()
    try:
        deaths = time.monotonic() + 60
        while len(workers.killed_at) < 3 and time.monotonic() < deaths:
            workers.replace_the_dead()
            time.sleep(0.05)
        jobs = asyncio.run(all_jobs(backend.url))
    finally:
        workers.stop()
    assert len(spells(workers)["poison"]) == 3
    dead = jobs.pop("poison")
    assert (dead.state, dead.attempts) == (JobState.DEAD, 3)
    assert "lease expired" in (dead.error or "")
    assert_each_done_once_at_a_time(jobs, spells(workers))


def test_a_frozen_worker_loses_its_jobs_and_writes_nothing_when_it_wakes(
    backend: Backend, tmp_path: Path
) -> None:
    workers = Workers(backend.url, tmp_path / "diary", TTL, pace=2.0)
    asyncio.run(enqueue_all(backend.url, jobs_over_lanes(40)))
    workers.start(2)
    try:
        begun = {"event": "start", "pid": workers.processes[0].pid}
        while not any(begun.items() <= event.items() for event in workers.events()):
            time.sleep(0.05)
        workers.freeze(workers.processes[0], 3 * TTL)
        jobs = asyncio.run(all_jobs(backend.url))
        frozen = workers.processes[0].pid
    finally:
        codes = workers.stop()
    assert codes == [0, 0]
    calls = spells(workers)
    taken_over = [job for job in jobs.values() if calls[job.id][-1].pid != calls[job.id][0].pid]
    assert any(calls[job.id][0].pid == frozen for job in taken_over), "nothing was taken over"
    assert {job.state for job in jobs.values()} == {JobState.DONE}
    for job in jobs.values():
        winner = max(calls[job.id], key=lambda spell: spell.attempt)
        assert job.result == {"attempt": winner.attempt, "pid": winner.pid}
    whys = {event.get("why") for event in workers.events() if event["pid"] == frozen}
    assert whys <= {None, "lease-lost"}


def test_a_handler_that_blocks_the_loop_for_three_ttls_keeps_its_lease(
    backend: Backend, tmp_path: Path
) -> None:
    workers = Workers(backend.url, tmp_path / "diary", TTL)
    jobs = [Job("block", 3 * TTL, id="long"), *jobs_over_lanes(20)]
    asyncio.run(enqueue_all(backend.url, jobs))
    workers.start(2)
    try:
        found = asyncio.run(all_jobs(backend.url))
    finally:
        codes = workers.stop()
    assert codes == [0, 0]
    assert len(spells(workers)["long"]) == 1
    assert found["long"].attempts == 1
    assert_each_done_once_at_a_time(found, spells(workers))


def test_worker_clocks_one_hour_off_change_nothing(
    server: Backend, skewed: list[dict[str, str]], tmp_path: Path
) -> None:
    dice = random.Random(7)
    workers = Workers(server.url, tmp_path / "diary", TTL, pace=0.1)
    asyncio.run(enqueue_all(server.url, jobs_over_lanes(4_000)))
    try:
        for env in skewed:
            workers.env = env
            workers.start()
        workers.until_up()
        time.sleep(0.3)
        workers.kill_one(dice)
        jobs = asyncio.run(all_jobs(server.url))
    finally:
        workers.stop()
    assert any(job.attempts > 1 for job in jobs.values())
    assert all(job.attempts <= 2 for job in jobs.values()), "one kill cost a job two leases"
    assert_each_done_once_at_a_time(jobs, spells(workers))


def test_workers_go_on_by_themselves_after_the_server_was_killed_and_restarted(
    server: Backend, tmp_path: Path
) -> None:
    workers = Workers(server.url, tmp_path / "diary", TTL)
    asyncio.run(enqueue_all(server.url, jobs_over_lanes(5_000)))
    workers.start(2)
    workers.until_up()
    try:
        for _ in range(2):
            time.sleep(0.3)
            server.kill_server()
            time.sleep(0.5)
            server.start_server()
        before = [process.pid for process in workers.processes]
        jobs = asyncio.run(all_jobs(server.url))
        assert [process.pid for process in workers.processes] == before
        assert all(process.poll() is None for process in workers.processes)
    finally:
        codes = workers.stop()
    assert codes == [0, 0]
    assert len(jobs) == 5_000
    assert {job.state for job in jobs.values()} == {JobState.DONE}
