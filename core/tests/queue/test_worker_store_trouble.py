from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pytest

from gnl_core import JobContext, JobState, Worker, enqueue, enqueue_many, list_jobs
from gnl_core.errors import StoreRejected, StoreUnavailable
from gnl_core.queue import Job, JobInfo, _pruner
from gnl_core.runtime import _options
from gnl_core.spi import Done, Outcome
from gnl_core.storage import Storage

if TYPE_CHECKING:
    from conftest import FaultyStore, Until

TTL = 0.3


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_options, "TROUBLE_SHORTEST", 0.002)
    monkeypatch.setattr(_options, "TROUBLE_LONGEST", 0.02)


class Starts(Counter[str]):
    """Counts the starts of each job."""

    async def handler(self, payload: object, ctx: JobContext) -> object:
        self[ctx.id] += 1
        await asyncio.sleep(0)
        return payload


async def jobs_of(store: FaultyStore) -> tuple[JobInfo, ...]:
    return (await list_jobs(store, limit=1_000)).items


def failing(
    script: Iterator[bool], error: Callable[[], Exception], *calls: str
) -> Callable[[str], Awaitable[None]]:
    async def fail(call: str) -> None:
        if call in calls and next(script, False):
            raise error()

    return fail


def unavailable() -> Exception:
    return StoreUnavailable("no answer")


@pytest.mark.parametrize("error", [unavailable, lambda: StoreRejected("no"), lambda: KeyError("x")])
async def test_claims_that_fail_are_tried_again(
    faulty: FaultyStore, error: Callable[[], Exception]
) -> None:
    starts = Starts()
    await enqueue_many(faulty, [Job("t", i) for i in range(50)])
    faulty.before = failing(iter([True, True, False] * 5), error, "claim")
    assert await Worker(Storage(faulty), {"t": starts.handler}).drain() == 50
    assert set(starts.values()) == {1}


@pytest.mark.parametrize("error", [unavailable, lambda: OSError("driver"), lambda: KeyError("x")])
async def test_outcomes_that_were_not_written_are_sent_again(
    faulty: FaultyStore, error: Callable[[], Exception]
) -> None:
    starts = Starts()
    await enqueue_many(faulty, [Job("t", i) for i in range(50)])
    faulty.before = failing(iter([True, True, False] * 5), error, "settle")
    assert await Worker(Storage(faulty), {"t": starts.handler}).drain() == 50
    assert set(starts.values()) == {1}
    assert {job.state for job in await jobs_of(faulty)} == {JobState.DONE}


async def test_outcomes_whose_answer_was_lost_are_written_once_and_nobody_is_alarmed(
    faulty: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    starts = Starts()
    await enqueue_many(faulty, [Job("t", i) for i in range(50)])
    faulty.after = failing(iter([True] * 3), unavailable, "settle")
    with caplog.at_level(logging.WARNING, "gnl.worker"):
        await Worker(Storage(faulty), {"t": starts.handler}).drain()
    assert set(starts.values()) == {1}
    assert {(job.state, job.attempts) for job in await jobs_of(faulty)} == {(JobState.DONE, 1)}
    assert not [r for r in caplog.records if "lease was lost" in r.message]


async def test_grants_whose_answer_was_lost_come_again_after_their_lease(
    faulty: FaultyStore,
) -> None:
    starts = Starts()
    await enqueue_many(faulty, [Job("t", i) for i in range(5)])
    faulty.after = failing(iter([True]), unavailable, "claim")
    worker = Worker(Storage(faulty), {"t": starts.handler}, ttl=TTL, poll_longest=0.2)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        while {job.state for job in await jobs_of(faulty)} != {JobState.DONE}:
            await asyncio.sleep(0.01)
    worker.stop()
    await running
    assert {job.attempts for job in await jobs_of(faulty)} == {2}
    assert set(starts.values()) == {1}


@pytest.mark.parametrize("seed", range(5))
async def test_random_trouble_loses_nothing_and_doubles_nothing(
    faulty: FaultyStore, seed: int
) -> None:
    dice, starts = random.Random(seed), Starts()

    async def trouble(call: str) -> None:
        await asyncio.sleep(dice.choice((0, 0, 0.001)))
        if dice.random() < 0.3:
            raise dice.choice((StoreUnavailable("?"), TimeoutError("?"), ZeroDivisionError("?")))

    async def lost_answer(call: str) -> None:
        if call == "settle" and dice.random() < 0.3:
            raise StoreUnavailable("?")

    await enqueue_many(faulty, [Job("t", i, org_id=None) for i in range(300)])
    faulty.before, faulty.after = trouble, lost_answer
    await Worker(Storage(faulty), {"t": starts.handler}, concurrency=20).drain()
    jobs = await jobs_of(faulty)
    assert [job.result for job in jobs] == list(range(300))
    assert set(starts.values()) == {1}


async def test_work_goes_on_after_an_outage_without_a_restart(
    faulty: FaultyStore, until: Until
) -> None:
    starts, down = Starts(), [False]

    async def outage(call: str) -> None:
        if down[0]:
            raise StoreUnavailable("down")

    faulty.before = outage
    worker = Worker(Storage(faulty), {"t": starts.handler})
    running = asyncio.create_task(worker.run())
    for round_ in range(3):
        await enqueue(faulty, "t", None)
        await until(lambda n=round_ + 1: len(starts) == n)
        down[0] = True
        await enqueue(faulty, "t", None, id=f"meanwhile {round_}")
        calls = len(faulty.calls)
        await until(lambda calls=calls: len(faulty.calls) > calls + 3)
        await faulty.jobs.cancel(None, f"meanwhile {round_}")
        down[0] = False
    worker.stop()
    await running
    states = {job.state for job in await jobs_of(faulty)}
    assert states == {JobState.DONE, JobState.CANCELED}


async def test_one_outcome_that_the_store_refuses_takes_no_other_with_it(
    faulty: FaultyStore,
) -> None:
    def refuse(outcomes: Sequence[Outcome]) -> None:
        if Done('"bad"') in [outcome.verdict for outcome in outcomes]:
            raise StoreRejected("value too odd")

    starts = Starts()
    faulty.refuse = refuse
    payloads = ["good", "bad", "good", "good", "bad", "good"]
    await enqueue_many(faulty, [Job("t", payload, max_attempts=1) for payload in payloads])
    assert await Worker(Storage(faulty), {"t": starts.handler}).drain() == 6
    for payload, job in zip(payloads, await jobs_of(faulty), strict=True):
        if payload == "good":
            assert job.state is JobState.DONE
        else:
            assert job.state is JobState.DEAD
            assert "value too odd" in (job.error or "")


async def test_a_refused_outcomes_failure_is_sent_again_until_it_is_written(
    faulty: FaultyStore,
) -> None:
    def refuse(outcomes: Sequence[Outcome]) -> None:
        if isinstance(outcomes[0].verdict, Done):
            raise StoreRejected("value too odd")
        if script:
            script.pop()
            raise StoreUnavailable("no answer")

    script, starts = [1, 2], Starts()
    faulty.refuse = refuse
    await enqueue(faulty, "t", None, max_attempts=1)
    assert await Worker(Storage(faulty), {"t": starts.handler}).drain() == 1
    (job,) = await jobs_of(faulty)
    assert job.state is JobState.DEAD


async def test_a_job_whose_every_outcome_is_refused_is_left_to_its_lease(
    faulty: FaultyStore, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(outcomes: Sequence[Outcome]) -> None:
        raise StoreRejected("read only")

    faulty.refuse = refuse
    await enqueue(faulty, "t", None, id="odd")
    async with asyncio.timeout(20):
        await Worker(Storage(faulty), {"t": Starts().handler}).drain()
    assert "job 'odd' (t) is left to its lease" in caplog.text
    assert [job.state for job in await jobs_of(faulty)] == [JobState.RUNNING]


async def test_the_pruner_survives_the_store(
    faulty: FaultyStore, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    monkeypatch.setattr(_pruner, "PERIOD", 0.005)
    script: list[Exception] = [StoreUnavailable("?"), KeyError("driver"), StoreRejected("?")]
    prune, calls = type(faulty.jobs).prune, []

    async def trouble(self: object, *args: object, **options: object) -> int:
        calls.append(args)
        if script:
            raise script.pop()
        return await prune(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(faulty.jobs), "prune", trouble)
    await enqueue(faulty, "t", None)
    worker = Worker(Storage(faulty), {"t": Starts().handler}, prune_keep=0)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        while await jobs_of(faulty):
            await asyncio.sleep(0.005)
    worker.stop()
    await running
    assert len(calls) > 3
