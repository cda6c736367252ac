from __future__ import annotations

import asyncio

from gnl_core import GiveBack, JobContext, JobState, Worker, enqueue, enqueue_many, get_job
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job
from gnl_core.spi import SECOND, Capability, Done, Outcome
from gnl_core.storage import Storage


async def nothing(payload: object, ctx: JobContext) -> None:
    pass


async def test_draining_counts_the_outcomes_written(storage: Storage) -> None:
    async def handler(payload: int, ctx: JobContext) -> None:
        if ctx.attempt < payload:
            raise ValueError

    await enqueue_many(storage.work, [Job("t", 1), Job("t", 2), Job("t", 3)])
    assert await Worker(storage, {"t": handler}, retry_delay=0).drain() == 6


async def test_draining_an_empty_queue_answers_at_once(storage: Storage) -> None:
    worker = Worker(storage, {"t": nothing}, poll_shortest=3_600, poll_longest=3_600)
    async with asyncio.timeout(20):
        assert await worker.drain() == 0
        assert await worker.drain() == 0


async def test_draining_twice_counts_each_time_anew(storage: Storage) -> None:
    worker = Worker(storage, {"t": nothing})
    await enqueue_many(storage.work, [Job("t"), Job("t")])
    assert await worker.drain() == 2
    await enqueue(storage.work, "t", None)
    assert await worker.drain() == 1


async def test_delayed_jobs_and_retries_are_not_waited_for(storage: Storage) -> None:
    async def fails(payload: object, ctx: JobContext) -> None:
        raise ValueError

    await enqueue(storage.work, "t", None, delay=3_600)
    await enqueue(storage.work, "t", None)
    async with asyncio.timeout(20):
        assert await Worker(storage, {"t": fails}, retry_delay=3_600).drain() == 1


async def test_jobs_that_fall_due_meanwhile_are_run(storage: Storage) -> None:
    async def slow(payload: object, ctx: JobContext) -> None:
        await asyncio.sleep(0.1)

    await enqueue(storage.work, "t", None)
    await enqueue(storage.work, "t", None, delay=0.02)
    assert await Worker(storage, {"t": slow}).drain() == 2


async def test_jobs_that_another_worker_holds_are_not_waited_for(storage: Storage) -> None:
    await enqueue_many(storage.work, [Job("t", id="held"), Job("t", id="free")])
    claimed = await storage.work.jobs.claim(["t"], 1, 60 * SECOND, "other", max_attempts=5)
    async with asyncio.timeout(20):
        assert await Worker(storage, {"t": nothing}).drain() == 1
    await storage.work.jobs.settle([Outcome(claimed.grants[0].hold, Done("null"))])


async def test_jobs_that_a_handler_enqueues_and_waits_for_run_without_wake_ups() -> None:
    class WithoutWakeUps(MemoryStore):
        @property
        def capabilities(self) -> frozenset[Capability]:
            return frozenset()

    store = WithoutWakeUps()

    async def outer(payload: object, ctx: JobContext) -> None:
        inner = await enqueue(store, "inner", None)
        async with asyncio.timeout(20):
            while (job := await get_job(store, inner)) is None or job.state is not JobState.DONE:
                await asyncio.sleep(0.005)

    await enqueue(store, "outer", None)
    worker = Worker(Storage(store), {"outer": outer, "inner": nothing}, poll_longest=0.2)
    assert await worker.drain() == 2


async def test_a_job_given_back_without_delay_runs_again(storage: Storage) -> None:
    starts = []

    async def handler(payload: object, ctx: JobContext) -> None:
        starts.append(ctx.attempt)
        if len(starts) < 4:
            raise GiveBack(0)

    await enqueue(storage.work, "t", None, max_attempts=1)
    assert await Worker(storage, {"t": handler}).drain() == 4
    assert starts == [1] * 4
