from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from gnl_core import JobContext, JobState, Worker, cancel_job, enqueue, get_job
from gnl_core.errors import ExecutionRevokedError, RevokedWhy
from gnl_core.queue import CancelAnswer
from gnl_core.storage import Storage

if TYPE_CHECKING:
    from conftest import FaultyStore

TTL = 0.3


async def state(storage: Storage, job_id: str) -> JobState:
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.failures == ()
    return job.state


async def test_a_canceled_handler_is_cancelled_at_its_next_await(storage: Storage) -> None:
    whys = []

    async def handler(payload: object, ctx: JobContext) -> None:
        assert await cancel_job(storage.work, ctx.id) is CancelAnswer.TOLD
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            whys.append(ctx.signal.why)
            raise

    job_id = await enqueue(storage.work, "t", None)
    assert await Worker(storage, {"t": handler}, ttl=TTL).drain() == 1
    assert whys == [RevokedWhy.CANCELED]
    assert await state(storage, job_id) is JobState.CANCELED


async def test_what_a_handler_returns_or_raises_after_a_cancellation_is_discarded(
    storage: Storage,
) -> None:
    async def swallows(raises: bool, ctx: JobContext) -> str:
        await cancel_job(storage.work, ctx.id)
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            if raises:
                raise ValueError from None
        return "late"

    ids = [await enqueue(storage.work, "t", raises) for raises in (False, True)]
    assert await Worker(storage, {"t": swallows}, ttl=TTL).drain() == 2
    assert [await state(storage, job_id) for job_id in ids] == [JobState.CANCELED] * 2


async def test_a_handler_that_wants_only_the_signal_is_not_cancelled(storage: Storage) -> None:
    ended = []

    async def handler(payload: object, ctx: JobContext) -> None:
        await cancel_job(storage.work, ctx.id)
        async with asyncio.timeout(20):
            error = await ctx.signal.wait()
        await asyncio.sleep(0.01)
        ended.append(error.why)
        ctx.signal.raise_if_revoked()

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": handler}, ttl=TTL, on_revoke="signal").drain()
    assert ended == [RevokedWhy.CANCELED]
    assert await state(storage, job_id) is JobState.CANCELED


async def test_a_thread_sees_the_signal_even_while_the_loop_is_blocked(storage: Storage) -> None:
    seen: list[str] = []

    def plain(payload: object, ctx: JobContext) -> None:
        asyncio.run(cancel_job(storage.work, ctx.id))
        while not ctx.signal.wait_in_thread(0.001):
            pass
        seen.append("thread")

    async def blocking(payload: object, ctx: JobContext) -> None:
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            time.sleep(0.001)
        seen.append("loop")

    job_id = await enqueue(storage.work, "plain", None)
    await enqueue(storage.work, "blocking", None)
    await Worker(storage, {"plain": plain, "blocking": blocking}, ttl=TTL).drain()
    assert seen == ["thread", "loop"]
    assert await state(storage, job_id) is JobState.CANCELED


async def test_a_job_canceled_while_it_waits_never_starts(storage: Storage) -> None:
    job_id = await enqueue(storage.work, "t", None)
    assert await cancel_job(storage.work, job_id) is CancelAnswer.CANCELED

    async def handler(payload: object, ctx: JobContext) -> None:
        raise AssertionError("it started")

    assert await Worker(storage, {"t": handler}).drain() == 0


async def test_a_job_canceled_between_claim_and_start_does_not_start_if_that_is_known(
    faulty: FaultyStore,
) -> None:
    """Its grant came so late that the lease was asked about first."""

    async def handler(payload: object, ctx: JobContext) -> None:
        raise AssertionError("it started")

    async def cancel_late(call: str) -> None:
        if call == "claim" and not faulty.limits[1:]:
            await cancel_job(faulty, "j")
            await asyncio.sleep(TTL / 2)

    faulty.after = cancel_late
    await enqueue(faulty, "t", None, id="j")
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL).drain()
    assert await state(Storage(faulty), "j") is JobState.CANCELED


async def test_a_cancellation_between_return_and_write_wins(faulty: FaultyStore) -> None:
    async def cancel_first(call: str) -> None:
        if call == "settle":
            assert await cancel_job(faulty, "j") is CancelAnswer.TOLD

    async def handler(payload: object, ctx: JobContext) -> str:
        return "done"

    faulty.before = cancel_first
    await enqueue(faulty, "t", None, id="j")
    await Worker(Storage(faulty), {"t": handler}).drain()
    assert await state(Storage(faulty), "j") is JobState.CANCELED


async def test_a_cancellation_after_completion_changes_nothing(storage: Storage) -> None:
    async def handler(payload: object, ctx: JobContext) -> str:
        return "done"

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": handler}).drain()
    assert await cancel_job(storage.work, job_id) is CancelAnswer.FINISHED
    assert await state(storage, job_id) is JobState.DONE


async def with_timeout() -> None:
    async with asyncio.timeout(20):
        await asyncio.sleep(20)


async def with_group() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(20))
        group.create_task(asyncio.sleep(20))


async def with_shield() -> None:
    inner = asyncio.ensure_future(asyncio.sleep(20))
    try:
        await asyncio.shield(inner)
    finally:
        inner.cancel()


async def with_gather() -> None:
    await asyncio.gather(asyncio.sleep(20), asyncio.sleep(20))


async def with_timeout_around_what_swallows() -> None:
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        async with asyncio.timeout(20):
            await asyncio.sleep(0.001)
        raise


async def with_uncancel() -> None:
    try:
        await asyncio.sleep(20)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()


@pytest.mark.parametrize(
    "waits",
    [
        with_timeout,
        with_group,
        with_shield,
        with_gather,
        with_timeout_around_what_swallows,
        with_uncancel,
    ],
)
async def test_an_interrupted_handler_may_use_timeouts_groups_and_shields(
    storage: Storage, waits: type
) -> None:
    clean = []

    async def handler(payload: object, ctx: JobContext) -> None:
        await cancel_job(storage.work, ctx.id)
        await waits()

    async def after(payload: object, ctx: JobContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        async with asyncio.timeout(20):
            await asyncio.sleep(0.001)
        clean.append(task.cancelling())

    job_id = await enqueue(storage.work, "t", None)
    for _ in range(3):
        await enqueue(storage.work, "after", None)
    worker = Worker(storage, {"t": handler, "after": after}, ttl=TTL, concurrency=1)
    assert await worker.drain() == 4
    assert await state(storage, job_id) is JobState.CANCELED
    assert clean == [0, 0, 0]


async def test_raising_the_revocation_oneself_is_a_plain_failure_if_there_is_none(
    storage: Storage,
) -> None:
    async def handler(payload: object, ctx: JobContext) -> None:
        raise ExecutionRevokedError(RevokedWhy.CANCELED)

    job_id = await enqueue(storage.work, "t", None, max_attempts=1)
    await Worker(storage, {"t": handler}).drain()
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.state is JobState.DEAD


async def test_a_coroutine_behind_a_plain_wrapper_is_cancelled_as_well(storage: Storage) -> None:
    whys = []

    async def inner(ctx: JobContext) -> None:
        await cancel_job(storage.work, ctx.id)
        try:
            await asyncio.sleep(20)
        finally:
            whys.append(ctx.signal.why)

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": lambda payload, ctx: inner(ctx)}, ttl=TTL).drain()
    assert whys == [RevokedWhy.CANCELED]
    assert await state(storage, job_id) is JobState.CANCELED


async def test_a_coroutine_that_a_thread_made_after_the_revocation_is_cancelled(
    storage: Storage,
) -> None:
    ended = []

    async def inner() -> None:
        try:
            await asyncio.sleep(20)
            ended.append("slept")
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    def plain(payload: object, ctx: JobContext) -> object:
        asyncio.run(cancel_job(storage.work, ctx.id))
        assert ctx.signal.wait_in_thread(20)
        return inner()

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": plain}, ttl=TTL).drain()
    assert ended == ["cancelled"]
    assert await state(storage, job_id) is JobState.CANCELED
