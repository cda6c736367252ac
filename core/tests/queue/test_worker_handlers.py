from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from gnl_core import JobContext, JobState, Worker, enqueue, enqueue_many, get_job
from gnl_core.errors import InvalidInput
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job
from gnl_core.spi import NewJob
from gnl_core.storage import Storage


async def result_of(storage: Storage, handler: Callable[..., object], payload: object) -> object:
    job_id = await enqueue(storage.work, "t", payload)
    assert await Worker(storage, {"t": handler}).drain() == 1
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert (job.state, job.error) == (JobState.DONE, None)
    return job.result


async def plus(payload: int, ctx: JobContext) -> int:
    return payload + 1


def plain_plus(payload: int, ctx: JobContext) -> int:
    assert threading.current_thread() is not threading.main_thread()
    return payload + 1


async def plus_more(more: int, payload: int, ctx: JobContext) -> int:
    return payload + more


def behind_a_plain_def(payload: int, ctx: JobContext) -> Awaitable[int]:
    return plus(payload, ctx)


class Plus:
    async def __call__(self, payload: int, ctx: JobContext) -> int:
        return payload + 1

    async def method(self, payload: int, ctx: JobContext) -> int:
        return payload + 1

    def plain(self, payload: int, ctx: JobContext) -> int:
        return plain_plus(payload, ctx)


class PlainPlus:
    def __call__(self, payload: int, ctx: JobContext) -> int:
        return plain_plus(payload, ctx)


def wrapped(function: Callable[..., Awaitable[int]]) -> Callable[..., Awaitable[int]]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Awaitable[int]:
        return function(*args)

    return wrapper


@pytest.mark.parametrize(
    "handler",
    [
        plus,
        plain_plus,
        functools.partial(plus_more, 1),
        functools.partial(functools.partial(plus_more), 1),
        Plus(),
        Plus().method,
        Plus().plain,
        PlainPlus(),
        functools.partial(Plus()),
        wrapped(plus),
        lambda payload, ctx: payload + 1,
        behind_a_plain_def,
    ],
)
async def test_handlers_of_every_kind_run_and_their_result_is_kept(
    storage: Storage, handler: Callable[..., object]
) -> None:
    assert await result_of(storage, handler, 41) == 42


def generator(payload: object, ctx: JobContext) -> Iterator[int]:
    yield 1


async def async_generator(payload: object, ctx: JobContext) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    "handler", [generator, async_generator, functools.partial(generator), "module.function", None]
)
def test_what_can_never_run_is_refused_with_the_jobs_type(
    storage: Storage, handler: Callable[..., object]
) -> None:
    with pytest.raises(InvalidInput, match="handler of 't'"):
        Worker(storage, {"t": handler})


@pytest.mark.parametrize(
    "value", [None, 0, "", [], {"a": [1.5, True, None]}, datetime(2026, 1, 2, tzinfo=UTC), 2**80]
)
async def test_results_come_back_as_they_were_returned(storage: Storage, value: object) -> None:
    async def give(payload: object, ctx: JobContext) -> object:
        return value

    assert await result_of(storage, give, None) == value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"rows": [1, {"when": object()}]}, "result.rows[1].when"),
        ([float("nan")], "result[0]"),
        ("\ud800", "result"),
        ("x" * 2_000_000, "result: 2,000,002 bytes"),
        (iter([1]), "result"),
    ],
)
async def test_a_result_that_cannot_be_kept_fails_the_attempt_with_the_path_to_it(
    storage: Storage, value: object, path: str
) -> None:
    async def give(payload: object, ctx: JobContext) -> object:
        return value

    job_id = await enqueue(storage.work, "t", None, max_attempts=1)
    await Worker(storage, {"t": give}).drain()
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert job.state is JobState.DEAD
    assert path in (job.error or "")


async def test_a_payload_that_cannot_be_decoded_ends_as_a_dead_letter_and_others_run() -> None:
    storage, started = Storage(MemoryStore()), []

    async def handler(payload: object, ctx: JobContext) -> None:
        started.append(ctx.id)

    await storage.work.jobs.add(
        [NewJob("torn", None, "t", '{"a": '), NewJob("whole", None, "t", "1")]
    )
    worker = Worker(storage, {"t": handler}, max_attempts=3, retry_delay=0)
    assert await worker.drain() == 4
    torn = await get_job(storage.work, "torn")
    assert torn is not None
    assert (torn.state, torn.attempts) == (JobState.DEAD, 3)
    assert [failure.attempt for failure in torn.failures] == [1, 2, 3]
    assert "cannot be decoded" in (torn.error or "")
    assert started == ["whole"]


async def test_the_context_says_which_attempt_at_what_this_is(storage: Storage) -> None:
    seen: list[JobContext] = []

    async def handler(payload: object, ctx: JobContext) -> None:
        seen.append(ctx)
        if len(seen) == 1:
            raise ValueError

    await enqueue(storage.work, "t", None, id="j", org_id="o", max_attempts=7)
    await Worker(storage, {"t": handler}, retry_delay=0).drain()
    first, second = seen
    assert (second.id, second.org_id, second.type) == ("j", "o", "t")
    assert [first.attempt, second.attempt, second.max_attempts] == [1, 2, 7]
    assert first.run_id == second.run_id
    assert first.enqueued_at == second.enqueued_at <= first.due_at <= second.due_at
    assert repr(second) == "<JobContext t 'j' org_id='o' attempt=2/7>"


async def test_each_attempt_gets_a_payload_of_its_own(storage: Storage) -> None:
    seen = []

    async def handler(payload: list[int], ctx: JobContext) -> None:
        payload.append(len(payload))
        seen.append(list(payload))
        if ctx.attempt < 3:
            raise ValueError

    await enqueue(storage.work, "t", [])
    await Worker(storage, {"t": handler}, retry_delay=0).drain()
    assert seen == [[0], [0], [0]]


tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


@pytest.mark.parametrize("threaded", [False, True])
async def test_context_variables_do_not_reach_the_next_job(
    storage: Storage, threaded: bool
) -> None:
    tenant.set("the worker's")
    seen = []

    def plain(payload: str, ctx: JobContext) -> None:
        seen.append(tenant.get())
        tenant.set(payload)

    async def handler(payload: str, ctx: JobContext) -> None:
        plain(payload, ctx)
        await asyncio.sleep(0)

    await enqueue_many(storage.work, [Job("t", f"customer {i}") for i in range(20)])
    await Worker(storage, {"t": plain if threaded else handler}, concurrency=2).drain()
    assert seen == ["the worker's"] * 20


async def test_jobs_of_unknown_types_wait_untouched(storage: Storage) -> None:
    await enqueue(storage.work, "other", None, id="o")
    await enqueue(storage.work, "t", 1, id="k")
    await Worker(storage, {"t": plus}).drain()
    other, known = await get_job(storage.work, "o"), await get_job(storage.work, "k")
    assert other is not None
    assert known is not None
    assert (other.state, other.attempts) == (JobState.WAITING, 0)
    assert known.state is JobState.DONE
