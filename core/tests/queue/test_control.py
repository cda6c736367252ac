from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gnl_core import (
    Job,
    JobState,
    cancel_job,
    enqueue,
    enqueue_many,
    get_job,
    job_depth,
    list_jobs,
    list_lanes,
    prune_jobs,
    retry_job,
)
from gnl_core.errors import InvalidInput, UndecodableText
from gnl_core.memory import MemoryStore
from gnl_core.queue import _control
from gnl_core.spi import SECOND, Dead, Done, Grant, Lane, NewJob, Outcome, Verdict

START = 1_700_000_000


class Clock:
    def __init__(self) -> None:
        self.seconds = START

    def __call__(self) -> int:
        return self.seconds * SECOND

    @property
    def moment(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def work(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


async def claim(work: MemoryStore) -> Grant:
    claimed = await work.jobs.claim(["a"], 1, 30 * SECOND, "w1", max_attempts=5)
    return claimed.grants[0]


async def run(work: MemoryStore, verdict: Verdict) -> None:
    await work.jobs.settle([Outcome((await claim(work)).hold, verdict)])


async def state(work: MemoryStore, id: str) -> str | None:
    job = await get_job(work, id)
    return None if job is None else job.state.value


async def test_a_job_is_read_at_every_stage(work, clock) -> None:
    await enqueue(work, "a", {"n": 1}, id="x")
    clock.seconds += 1
    grant = await claim(work)
    job = await get_job(work, "x")
    assert (job.state, job.worker, job.attempts) == (JobState.RUNNING, "w1", 1)
    assert job.lease_expires_at == clock.moment + timedelta(seconds=30)
    await work.jobs.settle([Outcome(grant.hold, Done('{"ok":true}'))])
    job = await get_job(work, "x")
    assert (job.state, job.result, job.finished_at) == (JobState.DONE, {"ok": True}, clock.moment)
    assert job.worker is None
    assert await get_job(work, "x", org_id="acme") is None
    assert await get_job(work, "y") is None


async def test_failures_come_with_get_job(work, clock) -> None:
    await enqueue(work, "a", id="x")
    await run(work, Dead("ValueError: boom"))
    job = await get_job(work, "x")
    assert job.error == "ValueError: boom"
    assert [(f.attempt, f.error, f.failed_at) for f in job.failures] == [
        (1, "ValueError: boom", clock.moment)
    ]
    assert (await list_jobs(work)).items[0].failures == ()


async def test_a_damaged_payload_spoils_no_listing(work) -> None:
    await work.jobs.add([NewJob("x", None, "a", "{")])
    (job,) = (await list_jobs(work)).items
    assert job.payload_text == "{"
    with pytest.raises(UndecodableText):
        _ = job.payload


async def test_cancel_answers_what_it_found(work) -> None:
    await enqueue(work, "a", id="x")
    answer = await cancel_job(work, "x", org_id="acme")
    assert answer == "unknown"
    assert not answer
    answer = await cancel_job(work, "x")
    assert answer == "canceled"
    assert answer
    assert await state(work, "x") == "canceled"
    answer = await cancel_job(work, "x")
    assert answer == "finished"
    assert not answer


async def test_cancel_tells_a_running_handler_and_discards_its_result(work) -> None:
    await enqueue(work, "a", id="x")
    grant = await claim(work)
    answer = await cancel_job(work, "x")
    assert answer == "told"
    assert answer
    assert (await get_job(work, "x")).cancel_requested
    await work.jobs.settle([Outcome(grant.hold, Done("1"))])
    assert await state(work, "x") == "canceled"


async def test_retry_revives_dead_jobs_and_nothing_else(work) -> None:
    await enqueue(work, "a", id="x")
    assert await retry_job(work, "x") == "not-dead"
    await run(work, Dead("boom"))
    before = await get_job(work, "x")
    assert await retry_job(work, "x", org_id="acme") == "unknown"
    answers = [await retry_job(work, "x"), await retry_job(work, "x")]
    assert answers == ["revived", "not-dead"]
    assert [bool(answer) for answer in answers] == [True, False]
    after = await get_job(work, "x")
    assert (after.state, after.attempts, after.run_id) == (JobState.WAITING, 0, before.run_id)
    assert after.failures == before.failures


@pytest.mark.parametrize("call", [get_job, cancel_job, retry_job])
async def test_names_are_checked(work, call) -> None:
    with pytest.raises(InvalidInput, match=r"^id is empty"):
        await call(work, "")
    with pytest.raises(InvalidInput, match=r"^org_id is empty"):
        await call(work, "x", org_id="")


async def finished(work: MemoryStore, clock: Clock, count: int) -> None:
    """Jobs 0, 1, ... done a second apart."""
    for n in range(count):
        await enqueue(work, "a", id=str(n))
        clock.seconds += 1
        await run(work, Done("1"))


async def test_pruning_goes_by_age_or_by_count(work, clock) -> None:
    await finished(work, clock, 6)
    assert await prune_jobs(work, older_than=timedelta(seconds=4)) == 2
    assert await prune_jobs(work, keep=3) == 1
    assert [job.id for job in (await list_jobs(work)).items] == ["3", "4", "5"]
    assert await prune_jobs(work, older_than=2, keep=2) == 1
    assert await prune_jobs(work, keep=0) == 2


async def test_pruning_spares_the_dead_unless_they_are_named(work) -> None:
    await enqueue(work, "a", id="x")
    await run(work, Dead("boom"))
    assert await prune_jobs(work, older_than=0) == 0
    assert await prune_jobs(work, older_than=0, states=[JobState.DEAD]) == 1
    assert await get_job(work, "x") is None


async def test_pruning_goes_on_until_nothing_is_left(work, monkeypatch) -> None:
    monkeypatch.setattr(_control, "PRUNE_BATCH", 10)
    await enqueue_many(work, [Job("a", id=str(n)) for n in range(25)])
    for n in range(25):
        await cancel_job(work, str(n))
    assert await prune_jobs(work, older_than=0) == 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give older_than, keep, or both"),
        ({"older_than": -1}, "older_than is -1 s"),
        ({"keep": -1}, "keep is -1"),
        ({"keep": 1, "states": ["waiting"]}, "names waiting; only done, dead and canceled"),
        ({"keep": 1, "states": []}, "names nothing"),
        ({"keep": 1, "states": ["gone"]}, "state is 'gone'"),
        ({"keep": 1, "states": "done"}, "give a collection"),
    ],
)
async def test_nonsense_prunes_nothing(work, clock, options, message) -> None:
    await finished(work, clock, 1)
    with pytest.raises(InvalidInput, match=message):
        await prune_jobs(work, **options)
    assert await state(work, "0") == "done"


async def test_depth_and_lanes_count_live_jobs(work, clock) -> None:
    await finished(work, clock, 1)
    await enqueue_many(work, [Job("a", org_id="acme"), Job("a", org_id="acme", delay=5), Job("b")])
    assert await job_depth(work) == 1
    assert await job_depth(work, "acme") == 2
    assert await list_lanes(work) == (Lane(None, 1, 0, 0), Lane("acme", 1, 1, 0))
    with pytest.raises(InvalidInput, match="org_id is empty"):
        await job_depth(work, "")
