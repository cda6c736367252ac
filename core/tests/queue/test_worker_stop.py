from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import pytest

from gnl_core import JobContext, JobState, Worker, enqueue, enqueue_many, get_job
from gnl_core.errors import InvalidInput, RevokedWhy, StoreUnavailable
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job, JobInfo
from gnl_core.runtime import _engine
from gnl_core.storage import Storage

if TYPE_CHECKING:
    from conftest import FaultyStore, Until


async def found(storage: Storage, job_id: str) -> JobInfo:
    job = await get_job(storage.work, job_id)
    assert job is not None
    return job


def given_back(job: JobInfo) -> bool:
    return (job.state, job.attempts, job.failures) == (JobState.WAITING, 0, ())


class Handlers:
    """One of each kind that a stop can meet."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.whys: dict[str, RevokedWhy | None] = {}
        self.release = threading.Event()
        self.ended: list[str] = []

    async def short(self, payload: object, ctx: JobContext) -> str:
        self.started.append(ctx.id)
        await asyncio.sleep(0.05)
        return "complete"

    async def long(self, payload: object, ctx: JobContext) -> None:
        self.started.append(ctx.id)
        try:
            await asyncio.sleep(20)
        finally:
            self.whys[ctx.id] = ctx.signal.why

    async def swallowing(self, payload: object, ctx: JobContext) -> None:
        self.started.append(ctx.id)
        while not self.release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                self.whys[ctx.id] = ctx.signal.why
        self.ended.append(ctx.id)

    def stuck(self, payload: object, ctx: JobContext) -> None:
        self.started.append(ctx.id)
        self.release.wait(20)
        self.whys[ctx.id] = ctx.signal.why

    def by_type(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in ("short", "long", "swallowing", "stuck")}


@pytest.fixture
def handlers() -> Handlers:
    return Handlers()


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "HANDLERS_END_WITHIN", 0.1)
    monkeypatch.setattr(_engine, "STORE_ANSWERS_WITHIN", 0.3)
    monkeypatch.setattr(_engine, "HURRIED_STORE_ANSWERS_WITHIN", 0.1)


async def test_stopping_lets_short_handlers_finish_and_gives_the_others_back(
    storage: Storage, handlers: Handlers, until: Until
) -> None:
    kinds = handlers.by_type()
    await enqueue_many(storage.work, [Job(kind, id=kind, max_attempts=1) for kind in kinds])
    worker = Worker(storage, kinds, grace=0.5, concurrency=4)  # type: ignore[arg-type]
    running = asyncio.create_task(worker.run())
    await until(lambda: len(handlers.started) == 4)
    worker.stop()
    await enqueue(storage.work, "short", None, id="after")
    await running
    short = await found(storage, "short")
    assert (short.state, short.result) == (JobState.DONE, "complete")
    for kind in ("long", "swallowing", "stuck", "after"):
        assert given_back(await found(storage, kind)), kind
    assert worker.abandoned == 2
    handlers.release.set()
    await until(lambda: "stuck" in handlers.whys)
    assert handlers.whys == dict.fromkeys(("long", "swallowing", "stuck"), RevokedWhy.SHUTDOWN)
    for kind in ("swallowing", "stuck"):
        assert given_back(await found(storage, kind)), "what ended late wrote something"


async def test_what_no_handler_has_begun_is_given_back_at_once(
    faulty: FaultyStore, handlers: Handlers, until: Until
) -> None:
    storage = Storage(faulty)

    async def slow(call: str) -> None:
        if call == "claim":
            await asyncio.sleep(0.01)

    faulty.before = slow

    async def quick_then_long(payload: str, ctx: JobContext) -> None:
        if payload == "long":
            await handlers.long(payload, ctx)

    jobs = [Job("t", "quick") for _ in range(300)] + [Job("t", "long") for _ in range(50)]
    await enqueue_many(faulty, jobs)
    worker = Worker(storage, {"t": quick_then_long}, concurrency=2, grace=0)
    running = asyncio.create_task(worker.run())
    await until(lambda: len(handlers.started) == 2)
    worker.stop()
    await running
    (lane,) = await faulty.jobs.lanes()
    assert (lane.ready, lane.running) == (50, 0)
    assert sum(granted for _, granted in faulty.limits) > 302, "nothing was held ahead"


async def test_a_second_stop_leaves_out_the_grace(
    storage: Storage, handlers: Handlers, until: Until
) -> None:
    await enqueue(storage.work, "long", None, id="long")
    worker = Worker(storage, {"long": handlers.long}, grace=3_600)
    running = asyncio.create_task(worker.run())
    await until(lambda: handlers.started)
    worker.stop()
    await asyncio.sleep(0.01)
    assert not running.done()
    worker.stop()
    async with asyncio.timeout(20):
        await running
    assert given_back(await found(storage, "long"))


async def test_a_run_that_is_cancelled_gives_everything_back(
    storage: Storage, handlers: Handlers, until: Until
) -> None:
    await enqueue(storage.work, "long", None, id="long", max_attempts=1)
    worker = Worker(storage, {"long": handlers.long}, grace=3_600)
    running = asyncio.create_task(worker.run())
    await until(lambda: handlers.started)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert given_back(await found(storage, "long"))
    assert handlers.whys == {"long": RevokedWhy.SHUTDOWN}


def test_a_main_program_that_just_returns_gives_everything_back(handlers: Handlers) -> None:
    """Then every task of the loop is cancelled at once, those of the worker included."""
    storage = Storage(MemoryStore())
    left = []

    async def main() -> None:
        await enqueue_many(storage.work, [Job("long", id=str(i), max_attempts=1) for i in range(5)])
        worker = Worker(storage, {"long": handlers.long}, grace=3_600, concurrency=3)
        left.append(asyncio.create_task(worker.run()))
        while len(handlers.started) < 3:
            await asyncio.sleep(0.001)

    asyncio.run(main())
    for i in range(5):
        job = asyncio.run(found(storage, str(i)))
        assert given_back(job), job


async def test_stop_before_run_ends_the_run_before_it_claims(
    faulty: FaultyStore, handlers: Handlers
) -> None:
    await enqueue(faulty, "short", None)
    worker = Worker(Storage(faulty), {"short": handlers.short})
    worker.stop()
    async with asyncio.timeout(20):
        await worker.run()
    assert faulty.calls == []
    assert await worker.drain() == 1, "one stop ends one run"


async def test_a_worker_runs_once_at_a_time_and_again_afterwards(
    storage: Storage, handlers: Handlers
) -> None:
    worker = Worker(storage, {"short": handlers.short})
    for _ in range(2):
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(0.01)
        with pytest.raises(InvalidInput, match="running already"):
            await worker.run()
        with pytest.raises(InvalidInput, match="running already"):
            await worker.drain()
        worker.stop()
        await running


async def test_leaving_async_with_stops_the_worker_and_waits_for_its_end(
    storage: Storage, handlers: Handlers, until: Until
) -> None:
    await enqueue(storage.work, "short", None, id="short")
    async with Worker(storage, {"short": handlers.short}) as worker:
        running = asyncio.create_task(worker.run())
        await until(lambda: handlers.started)
    assert (await found(storage, "short")).state is JobState.DONE
    async with asyncio.timeout(20):
        await running


async def test_a_worker_can_be_entered_again(storage: Storage, handlers: Handlers) -> None:
    worker = Worker(storage, {"short": handlers.short})
    for _ in range(2):
        await enqueue(storage.work, "short", None)
        async with worker:
            assert await worker.drain() == 1


async def test_a_claim_that_answers_after_the_stop_is_given_back(
    faulty: FaultyStore, handlers: Handlers, until: Until
) -> None:
    storage, answer = Storage(faulty), asyncio.Event()

    async def late(call: str) -> None:
        if call == "claim":
            await answer.wait()

    faulty.after = late
    await enqueue(faulty, "short", None, id="short", max_attempts=1)
    worker = Worker(storage, {"short": handlers.short})
    running = asyncio.create_task(worker.run())
    await until(lambda: faulty.limits)
    worker.stop()
    await asyncio.sleep(0.01)
    answer.set()
    await running
    assert handlers.started == []
    assert given_back(await found(storage, "short"))


async def test_a_claim_that_never_answers_does_not_hold_up_the_stop(
    faulty: FaultyStore, handlers: Handlers, until: Until
) -> None:
    async def hang(call: str) -> None:
        if call == "claim":
            await asyncio.sleep(3_600)

    faulty.before = hang
    worker = Worker(Storage(faulty), {"short": handlers.short})
    running = asyncio.create_task(worker.run())
    await until(lambda: faulty.calls)
    worker.stop()
    async with asyncio.timeout(20):
        await running


@pytest.mark.parametrize("stops", [1, 2])
async def test_outcomes_that_cannot_be_written_do_not_hold_up_the_stop(
    faulty: FaultyStore, handlers: Handlers, until: Until, stops: int
) -> None:
    async def down(call: str) -> None:
        if call == "settle":
            raise StoreUnavailable("down")

    faulty.before = down
    await enqueue(faulty, "short", None, id="short")
    worker = Worker(Storage(faulty), {"short": handlers.short})
    running = asyncio.create_task(worker.run())
    await until(lambda: "settle" in faulty.calls)
    for _ in range(stops):
        worker.stop()
    async with asyncio.timeout(20):
        await running
    assert (await found(Storage(faulty), "short")).state is JobState.RUNNING


async def test_a_timed_out_handler_that_is_abandoned_has_failed(
    storage: Storage, handlers: Handlers, until: Until
) -> None:
    await enqueue(storage.work, "t", None, id="t", max_attempts=1)
    worker = Worker(storage, {"t": handlers.swallowing}, grace=0, max_hold=0.01)
    running = asyncio.create_task(worker.run())
    await until(lambda: handlers.whys)
    worker.stop()
    await running
    job = await found(storage, "t")
    assert (job.state, job.attempts) == (JobState.DEAD, 1)
    assert worker.abandoned == 1
    handlers.release.set()
    await until(lambda: handlers.ended)


async def test_a_handler_that_wants_only_the_signal_is_not_cancelled_when_abandoned(
    storage: Storage, until: Until
) -> None:
    started, ended = [], []

    async def careful(payload: object, ctx: JobContext) -> None:
        started.append(ctx.id)
        await ctx.signal.wait()
        await asyncio.sleep(0.3)
        ended.append(ctx.signal.why)

    await enqueue(storage.work, "t", None, id="t")
    worker = Worker(storage, {"t": careful}, grace=0, on_revoke="signal")
    running = asyncio.create_task(worker.run())
    await until(lambda: started)
    worker.stop()
    await running
    assert worker.abandoned == 1
    assert ended == []
    assert given_back(await found(storage, "t"))
    await until(lambda: ended)
    assert given_back(await found(storage, "t"))


async def test_a_drain_can_be_stopped(storage: Storage, handlers: Handlers, until: Until) -> None:
    await enqueue_many(storage.work, [Job("long") for _ in range(30)])
    worker = Worker(storage, {"long": handlers.long}, concurrency=2, grace=0)
    draining = asyncio.create_task(worker.drain())
    await until(lambda: handlers.started)
    worker.stop()
    assert await draining == 2, "those given back"
    (lane,) = await storage.work.jobs.lanes()
    assert (lane.ready, lane.running) == (30, 0)


async def test_a_blocked_loop_delays_a_stop_by_no_more_than_the_block(
    storage: Storage, until: Until
) -> None:
    started = []

    async def blocking(payload: object, ctx: JobContext) -> None:
        started.append(ctx.id)
        await asyncio.sleep(0.01)
        time.sleep(0.2)
        await asyncio.sleep(20)

    await enqueue(storage.work, "t", None, id="t", max_attempts=1)
    worker = Worker(storage, {"t": blocking}, grace=0.05)
    running = asyncio.create_task(worker.run())
    await until(lambda: started)
    worker.stop()
    async with asyncio.timeout(20):
        await running
    assert given_back(await found(storage, "t"))
