from __future__ import annotations

import asyncio
import time

from gnl_core import JobContext, JobState, Worker, enqueue, enqueue_many, get_job
from gnl_core.errors import RevokedWhy
from gnl_core.queue import Job
from gnl_core.spi import SECOND
from gnl_core.storage import Storage

TTL = 0.3


async def test_an_attempt_over_its_limit_failed_even_if_the_handler_returns_a_value(
    storage: Storage,
) -> None:
    whys = []

    async def swallows(payload: object, ctx: JobContext) -> str:
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            whys.append(ctx.signal.why)
        return "a value"

    job_id = await enqueue(storage.work, "t", None, max_attempts=2)
    worker = Worker(storage, {"t": swallows}, max_hold=0.01, retry_delay=0)
    assert await worker.drain() == 2
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert whys == [RevokedWhy.TIMEOUT] * 2
    assert (job.state, job.result, job.attempts) == (JobState.DEAD, None, 2)
    assert "timeout" in (job.error or "")


async def test_the_lease_is_kept_until_the_handler_returns_though_the_loop_is_blocked(
    storage: Storage,
) -> None:
    claims = []

    async def blocking(payload: object, ctx: JobContext) -> str:
        until = time.monotonic() + 3 * TTL
        while time.monotonic() < until:
            time.sleep(0.02)
            claims.append(await claim())  # answers without letting the loop turn
        assert ctx.signal.why is RevokedWhy.TIMEOUT
        return "a value"

    async def claim() -> int:
        claimed = await storage.work.jobs.claim(["t"], 1, SECOND, "rival", max_attempts=5)
        return len(claimed.grants)

    job_id = await enqueue(storage.work, "t", None, max_attempts=1)
    worker = Worker(storage, {"t": blocking}, ttl=TTL, max_hold=0.05, on_revoke="signal")
    assert await worker.drain() == 1
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.state is JobState.DEAD
    assert claims
    assert not any(claims)


async def test_a_thread_over_its_limit_sees_the_signal(storage: Storage) -> None:
    def plain(payload: object, ctx: JobContext) -> str:
        assert ctx.signal.wait_in_thread(20)
        return "a value"

    job_id = await enqueue(storage.work, "t", None, max_attempts=1)
    await Worker(storage, {"t": plain}, max_hold=0.01).drain()
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.state is JobState.DEAD


async def test_a_late_limit_does_not_reach_the_next_job(storage: Storage) -> None:
    revoked = []

    async def handler(seconds: float, ctx: JobContext) -> None:
        await asyncio.sleep(seconds)
        revoked.append(ctx.signal.why)

    await enqueue_many(storage.work, [Job("t", 0.02) for _ in range(40)])
    worker = Worker(storage, {"t": handler}, max_hold=0.6, concurrency=1)
    assert await worker.drain() == 40
    assert revoked == [None] * 40


async def test_a_limit_that_was_not_reached_has_no_effect(storage: Storage) -> None:
    async def handler(payload: object, ctx: JobContext) -> str:
        return "in time"

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": handler}, max_hold=20).drain()
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert (job.state, job.result) == (JobState.DONE, "in time")
