"""Nothing is left behind when a worker has ended."""

from __future__ import annotations

import asyncio
import os
import threading

from gnl_core import JobContext, Worker, enqueue_many
from gnl_core.queue import Job
from gnl_core.storage import Storage


async def handler(payload: object, ctx: JobContext) -> None:
    await asyncio.sleep(0)


def plain(payload: object, ctx: JobContext) -> None:
    pass


def held() -> tuple[set[threading.Thread], int, set[asyncio.Task[object]]]:
    return set(threading.enumerate()), len(os.listdir("/dev/fd")), asyncio.all_tasks()


async def use(storage: Storage) -> None:
    await enqueue_many(storage.work, [Job(kind) for kind in ("async", "plain") * 10])
    worker = Worker(storage, {"async": handler, "plain": plain}, max_hold=20, prune_keep=5)
    await worker.drain()
    running = asyncio.create_task(worker.run())
    await asyncio.sleep(0.01)
    worker.stop()
    await running
    cancelled = asyncio.create_task(worker.run())
    await asyncio.sleep(0.01)
    cancelled.cancel()
    await asyncio.wait([cancelled])


async def test_a_worker_leaves_no_threads_tasks_or_open_files(storage: Storage) -> None:
    before = held()
    for _ in range(3):
        await use(storage)
    async with asyncio.timeout(20):
        while set(threading.enumerate()) - before[0]:  # idle handler threads are ending
            await asyncio.sleep(0.005)
    assert held() == before


async def test_two_cancellations_of_a_run_leave_no_tasks(storage: Storage) -> None:
    started = asyncio.Event()

    async def stubborn(payload: object, ctx: JobContext) -> None:
        started.set()
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await asyncio.sleep(3_600)

    before = asyncio.all_tasks()
    await enqueue_many(storage.work, [Job("t")])
    running = asyncio.create_task(Worker(storage, {"t": stubborn}).run())
    await started.wait()
    running.cancel()
    await asyncio.sleep(0.02)
    running.cancel()
    await asyncio.wait([running])
    async with asyncio.timeout(20):
        while asyncio.all_tasks() != before:
            await asyncio.sleep(0.005)


async def test_a_default_thread_pool_full_of_handlers_does_not_hold_up_a_worker(
    storage: Storage,
) -> None:
    gate = threading.Event()
    pool = [asyncio.create_task(asyncio.to_thread(gate.wait, 20)) for _ in range(64)]
    await asyncio.sleep(0.01)
    await enqueue_many(storage.work, [Job("t")])
    async with asyncio.timeout(15):
        assert await Worker(storage, {"t": plain}).drain() == 1
    gate.set()
    await asyncio.gather(*pool)
