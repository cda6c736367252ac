from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from gnl_core import GiveBack, JobContext, Worker, enqueue, enqueue_many
from gnl_core.errors import StoreUnavailable
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job
from gnl_core.runtime import _poller
from gnl_core.runtime._listener import listen
from gnl_core.runtime._pace import IdleWait
from gnl_core.spi import Capability
from gnl_core.storage import Storage

if TYPE_CHECKING:
    from conftest import FaultyStore, Until


class Deaf(MemoryStore):
    """A store whose wake-ups are all lost."""

    async def listen(self, wake: Callable[[], None]) -> None:
        await asyncio.Event().wait()


class WithoutWakeUps(MemoryStore):
    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset()


@pytest.mark.parametrize("kind", [Deaf, WithoutWakeUps])
async def test_losing_every_wake_up_loses_no_work(kind: type[MemoryStore], until: Until) -> None:
    store, done = kind(), []

    async def handler(payload: object, ctx: JobContext) -> None:
        done.append(ctx.id)

    async with Worker(Storage(store), {"t": handler}, poll_shortest=0.01, poll_longest=0.02) as w:
        running = asyncio.create_task(w.run())
        for i in range(5):
            await asyncio.sleep(0.01)
            await enqueue(store, "t", None, id=str(i))
        await until(lambda: len(done) == 5)
    await running


async def test_a_poll_never_sleeps_past_what_falls_due(until: Until) -> None:
    store, done = Deaf(), []

    async def handler(payload: object, ctx: JobContext) -> None:
        done.append(ctx.attempt)
        if len(done) == 1:
            raise ValueError
        if len(done) == 2:
            raise GiveBack(0.03)

    await enqueue(store, "t", None, delay=0.05)
    async with Worker(
        Storage(store), {"t": handler}, poll_shortest=3_600, poll_longest=3_600, retry_delay=0.03
    ) as worker:
        running = asyncio.create_task(worker.run())
        await until(lambda: len(done) == 3)
    await running
    assert done == [1, 2, 2]


async def test_throughput_does_not_depend_on_the_poll_interval(until: Until) -> None:
    store, done = Deaf(), []

    async def handler(payload: object, ctx: JobContext) -> None:
        done.append(ctx.id)

    await enqueue_many(store, [Job("t") for _ in range(1_000)])
    async with Worker(Storage(store), {"t": handler}, poll_shortest=60, poll_longest=60) as worker:
        running = asyncio.create_task(worker.run())
        await until(lambda: len(done) == 1_000)
    await running


async def test_a_wake_up_ends_the_wait(storage: Storage, until: Until) -> None:
    done = []

    async def handler(payload: object, ctx: JobContext) -> None:
        done.append(ctx.id)

    async with Worker(storage, {"t": handler}, poll_shortest=3_600, poll_longest=3_600) as worker:
        running = asyncio.create_task(worker.run())
        for i in range(3):
            await asyncio.sleep(0.02)
            await enqueue(storage.work, "t", None)
            await until(lambda i=i: len(done) == i + 1)
    await running


async def test_a_trickle_of_jobs_costs_two_claims_each(faulty: FaultyStore, until: Until) -> None:
    done = []

    async def handler(payload: object, ctx: JobContext) -> None:
        await asyncio.sleep(0.001)
        done.append(ctx.id)

    def claims() -> int:
        return faulty.calls.count("claim")

    async with Worker(
        Storage(faulty), {"t": handler}, poll_shortest=3_600, poll_longest=3_600
    ) as worker:
        running = asyncio.create_task(worker.run())
        await until(claims)
        for i in range(20):
            before = faulty.calls.count("settle")
            await enqueue(faulty, "t", None)
            await until(lambda i=i: len(done) == i + 1)
            await until(lambda before=before: faulty.calls.count("settle") > before)
            await asyncio.sleep(0.005)
    await running
    assert claims() <= 1 + 2 * 20


async def test_handlers_that_end_do_not_make_an_empty_queue_polled(
    faulty: FaultyStore, until: Until
) -> None:
    done = []

    async def handler(seconds: float, ctx: JobContext) -> None:
        await asyncio.sleep(seconds)
        done.append(ctx.id)

    await enqueue_many(faulty, [Job("t", i / 500) for i in range(50)])
    async with Worker(
        Storage(faulty), {"t": handler}, concurrency=100, poll_shortest=3_600, poll_longest=3_600
    ) as worker:
        running = asyncio.create_task(worker.run())
        await until(lambda: len(done) == 50)
    await running
    assert faulty.calls.count("claim") <= 3


@pytest.mark.parametrize("threaded", [False, True])
async def test_concurrency_is_kept_and_used_exactly(storage: Storage, threaded: bool) -> None:
    running, seen, lock = set[str](), Counter[int](), threading.Lock()
    together = threading.Barrier(7)

    def note(job_id: str, *, begins: bool) -> None:
        with lock:
            (running.add if begins else running.discard)(job_id)
            seen[len(running)] += 1

    def plain(payload: object, ctx: JobContext) -> None:
        note(ctx.id, begins=True)
        together.wait(20)
        note(ctx.id, begins=False)

    async def handler(payload: object, ctx: JobContext) -> None:
        note(ctx.id, begins=True)
        await asyncio.sleep(0.001)
        note(ctx.id, begins=False)

    await enqueue_many(storage.work, [Job("t") for _ in range(70)])
    handlers = {"t": plain if threaded else handler}
    assert await Worker(storage, handlers, concurrency=7).drain() == 70
    assert max(seen) == 7


async def test_a_first_claim_takes_no_more_than_can_run_at_once(faulty: FaultyStore) -> None:
    """So a job that kills the process takes no other job's attempt with it."""
    at_first_start = []

    async def handler(payload: object, ctx: JobContext) -> None:
        if not at_first_start:
            (lane,) = await faulty.jobs.lanes()
            at_first_start.append(lane.running)

    await enqueue_many(faulty, [Job("t") for _ in range(50)])
    await Worker(Storage(faulty), {"t": handler}, concurrency=1).drain()
    assert at_first_start == [1]
    assert faulty.limits[0] == (1, 1)


async def test_without_claiming_ahead_no_more_is_held_than_runs(faulty: FaultyStore) -> None:
    held = []

    async def slow(call: str) -> None:
        await asyncio.sleep(0.002)

    async def handler(payload: object, ctx: JobContext) -> None:
        lanes = await faulty.jobs.lanes()
        held.append(lanes[0].running)
        await asyncio.sleep(0)

    faulty.before = slow
    await enqueue_many(faulty, [Job("t") for _ in range(200)])
    await Worker(Storage(faulty), {"t": handler}, concurrency=3, claim_ahead=0).drain()
    assert max(limit for limit, _ in faulty.limits) <= 3


async def test_jobs_held_ahead_of_handlers_that_turn_out_long_are_handed_back(
    faulty: FaultyStore, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_poller, "STALLED_AFTER", 0.05)
    started = []

    async def slow(call: str) -> None:
        await asyncio.sleep(0.01)

    async def handler(kind: str, ctx: JobContext) -> None:
        if kind == "long":
            started.append(ctx.id)
            await asyncio.sleep(3_600)

    faulty.before = slow
    jobs = [Job("t", "quick") for _ in range(300)] + [Job("t", "long") for _ in range(50)]
    await enqueue_many(faulty, jobs)
    worker = Worker(Storage(faulty), {"t": handler}, concurrency=2, grace=0)
    running = asyncio.create_task(worker.run())
    await until(lambda: len(started) == 2)
    async with asyncio.timeout(20):
        while (await faulty.jobs.lanes())[0].running != 2:
            await asyncio.sleep(0.01)
    worker.stop()
    await running
    assert len(started) == 2
    (lane,) = await faulty.jobs.lanes()
    assert lane.ready == 50


async def test_two_workers_share_the_work_on_one_loop(storage: Storage) -> None:
    done: list[tuple[str, str]] = []

    def handlers(name: str) -> dict[str, object]:
        async def handler(payload: object, ctx: JobContext) -> None:
            await asyncio.sleep(0.001)
            done.append((name, ctx.id))

        return {"t": handler}

    await enqueue_many(storage.work, [Job("t", id=str(i)) for i in range(200)])
    counts = await asyncio.gather(
        *(Worker(storage, handlers(name), concurrency=5).drain() for name in "ab")  # type: ignore[arg-type]
    )
    assert sum(counts) == 200
    assert min(counts) > 0
    assert sorted(job_id for _, job_id in done) == sorted(map(str, range(200)))


async def test_one_lanes_backlog_does_not_hold_up_another_lanes_job(storage: Storage) -> None:
    order: list[str | None] = []

    async def handler(payload: object, ctx: JobContext) -> None:
        order.append(ctx.org_id)

    await enqueue_many(storage.work, [Job("t", org_id="big") for _ in range(1_000)])
    await enqueue(storage.work, "t", None, org_id="small")
    await Worker(storage, {"t": handler}, concurrency=1).drain()
    assert order.index("small") <= 2


async def test_a_wake_up_source_that_dies_at_once_is_not_asked_in_a_busy_loop() -> None:
    waits, asked = [], []

    class Dying(MemoryStore):
        async def listen(self, wake: Callable[[], None]) -> None:
            asked.append(len(waits))
            if len(asked) == 9:
                await asyncio.Event().wait()
            if len(asked) % 2:
                raise StoreUnavailable("gone")

    class Recorded(IdleWait):
        def next(self) -> float:
            waits.append(super().next())
            return 0

    pause = Recorded(0.1, 5, lambda: 0)
    looks: list[None] = []
    task = asyncio.create_task(
        listen(Dying(), lambda: looks.append(None), pause, logging.getLogger("gnl.test"))
    )
    async with asyncio.timeout(20):
        while len(asked) < 9:
            await asyncio.sleep(0)
    task.cancel()
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]
    assert len(looks) == 8, "a hint may have been lost each time"
