from __future__ import annotations

import asyncio
import concurrent.futures
from datetime import timedelta
from typing import NoReturn

import pytest

from gnl_core import DeadLetter, GiveBack, JobContext, JobState, Retry, Worker, enqueue, get_job
from gnl_core.errors import ExecutionRevokedError, RevokedWhy
from gnl_core.queue import JobInfo
from gnl_core.storage import Storage


async def failed(storage: Storage, error: BaseException, *, threaded: bool = False) -> JobInfo:
    """The job whose only attempt raised `error`, after the worker went on to another one."""

    async def fail(payload: object, ctx: JobContext) -> NoReturn:
        raise error

    def plain_fail(payload: object, ctx: JobContext) -> NoReturn:
        raise error

    async def healthy(payload: object, ctx: JobContext) -> str:
        await asyncio.sleep(0)
        return "fine"

    error = error.with_traceback(None)  # of an earlier test
    job_id = await enqueue(storage.work, "fail", None, max_attempts=1)
    after = await enqueue(storage.work, "healthy", None)
    handlers = {"fail": plain_fail if threaded else fail, "healthy": healthy}
    async with asyncio.timeout(20):
        await Worker(storage, handlers, concurrency=1).drain()
    job, other = await get_job(storage.work, job_id), await get_job(storage.work, after)
    assert job is not None
    assert other is not None
    assert other.result == "fine"
    return job


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Explosive(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("plain"),
        SystemExit(3),
        asyncio.CancelledError("my own"),
        concurrent.futures.CancelledError(),
        TimeoutError("slow"),
        GeneratorExit(),
        StopAsyncIteration(),
        BaseException("base"),
        BaseExceptionGroup("group", [SystemExit(1)]),
        ExecutionRevokedError(RevokedWhy.SHUTDOWN),
        Unprintable(),
        Explosive(),
        RecursionError(),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_whatever_a_handler_raises_is_a_failed_attempt_and_the_worker_goes_on(
    storage: Storage, error: BaseException, threaded: bool
) -> None:
    job = await failed(storage, error, threaded=threaded)
    assert (job.state, job.attempts) == (JobState.DEAD, 1)
    assert type(error).__name__ in (job.error or "")


async def test_a_keyboard_interrupt_in_a_thread_is_a_failed_attempt(storage: Storage) -> None:
    job = await failed(storage, KeyboardInterrupt(), threaded=True)
    assert "KeyboardInterrupt" in (job.error or "")


@pytest.mark.parametrize("text", ["boom\0tail", "boom\ud800", "boom" + "x" * 2_000_000])
async def test_error_text_is_cleaned_and_bounded_and_attempts_go_on(
    storage: Storage, text: str
) -> None:
    async def fail(payload: object, ctx: JobContext) -> NoReturn:
        raise ValueError(text)

    job_id = await enqueue(storage.work, "t", None)
    assert await Worker(storage, {"t": fail}, max_attempts=2, retry_delay=0).drain() == 2
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.state is JobState.DEAD
    assert [failure.attempt for failure in job.failures] == [1, 2]
    for failure in job.failures:
        assert "boom" in failure.error
        assert not set(failure.error) & {"\0", "\ud800"}
        assert len(failure.error) < 20_000


async def after_one_attempt(storage: Storage, error: Exception, **options: object) -> JobInfo:
    async def fail(payload: object, ctx: JobContext) -> NoReturn:
        raise error

    job_id = await enqueue(storage.work, "t", None)
    await Worker(storage, {"t": fail}, **options).drain()  # type: ignore[arg-type]
    job = await get_job(storage.work, job_id)
    assert job is not None
    return job


def seconds_waited(job: JobInfo) -> float:
    assert job.due_at is not None
    return (job.due_at - job.failures[-1].failed_at) / timedelta(seconds=1)


async def test_a_failed_attempt_waits_before_the_next(storage: Storage) -> None:
    job = await after_one_attempt(storage, ValueError("x"))
    assert (job.state, job.attempts) == (JobState.WAITING, 1)
    assert 1 <= seconds_waited(job) <= 1.3


async def test_the_wait_can_be_a_function_of_the_attempt(storage: Storage) -> None:
    job = await after_one_attempt(
        storage, ValueError("x"), retry_delay=lambda attempt: 100 * attempt
    )
    assert 100 <= seconds_waited(job) < 101


async def test_a_wait_that_is_nonsense_falls_back_to_the_default(storage: Storage) -> None:
    job = await after_one_attempt(storage, ValueError("x"), retry_delay=lambda attempt: -attempt)
    assert 1 <= seconds_waited(job) <= 1.3


async def test_a_handler_can_ask_for_its_own_wait(storage: Storage) -> None:
    job = await after_one_attempt(storage, Retry(500, "busy"))
    assert (job.state, job.attempts) == (JobState.WAITING, 1)
    assert 500 <= seconds_waited(job) < 501
    assert "busy" in (job.error or "")


async def test_asking_for_a_retry_after_the_last_attempt_is_a_dead_letter(storage: Storage) -> None:
    job = await after_one_attempt(storage, Retry(0, "busy"), max_attempts=1)
    assert (job.state, job.attempts) == (JobState.DEAD, 1)


async def test_giving_back_spends_no_attempt_and_records_no_failure(storage: Storage) -> None:
    job = await after_one_attempt(storage, GiveBack(500), max_attempts=1)
    assert (job.state, job.attempts, job.failures) == (JobState.WAITING, 0, ())


async def test_a_dead_letter_is_dead_at_once(storage: Storage) -> None:
    job = await after_one_attempt(storage, DeadLetter("no such customer"))
    assert (job.state, job.attempts) == (JobState.DEAD, 1)
    assert "no such customer" in (job.error or "")


async def test_the_budget_of_the_job_goes_before_that_of_the_worker(storage: Storage) -> None:
    starts: list[str] = []

    async def fail(payload: object, ctx: JobContext) -> NoReturn:
        starts.append(ctx.id)
        raise ValueError

    await enqueue(storage.work, "t", None, id="two", max_attempts=2)
    await enqueue(storage.work, "t", None, id="own")
    await enqueue(storage.work, "t", None, id="six", max_attempts=6)
    await Worker(storage, {"t": fail}, max_attempts=4, retry_delay=0).drain()
    assert {job_id: starts.count(job_id) for job_id in starts} == {"two": 2, "own": 4, "six": 6}


async def test_a_handler_that_cancels_its_own_task_fails_alone(storage: Storage) -> None:
    done = []

    async def cancels_itself(payload: bool, ctx: JobContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if payload:
            await asyncio.sleep(1)

    async def healthy(payload: object, ctx: JobContext) -> None:
        await asyncio.sleep(0)
        done.append(ctx.id)

    waits = await enqueue(storage.work, "cancels", True, max_attempts=1)
    returns = await enqueue(storage.work, "cancels", False, max_attempts=1)
    for _ in range(5):
        await enqueue(storage.work, "healthy")
    handlers = {"cancels": cancels_itself, "healthy": healthy}
    async with asyncio.timeout(20):
        assert await Worker(storage, handlers, concurrency=1).drain() == 7
    states = [await get_job(storage.work, job_id) for job_id in (waits, returns)]
    assert [job and job.state for job in states] == [JobState.DEAD, JobState.DONE]
    assert len(done) == 5


async def test_a_job_whose_task_is_cancelled_before_it_began_is_given_back(
    storage: Storage,
) -> None:
    starts: list[str] = []

    async def handler(payload: object, ctx: JobContext) -> None:
        starts.append(f"{ctx.id}{ctx.attempt}")
        if len(starts) == 1:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                if "Runner.run" in repr(task.get_coro()):
                    task.cancel()

    for job_id in "ab":
        await enqueue(storage.work, "t", None, id=job_id, max_attempts=1)
    async with asyncio.timeout(20):
        assert await Worker(storage, {"t": handler}, concurrency=2).drain() == 3
    assert starts == ["a1", "b1"]
