from __future__ import annotations

import logging
import math
from datetime import UTC, datetime, timedelta

import pytest

from gnl_core import Job, enqueue, enqueue_many, get_job, job_depth
from gnl_core.errors import IdConflict, InvalidInput, InvalidJob, QueueFull, StoreRejected
from gnl_core.memory import MemoryStore
from gnl_core.spi import SECOND, Done, Outcome, Store

NOW = 1_700_000_000 * SECOND
MOMENT = datetime.fromtimestamp(1_700_000_000, UTC)


@pytest.fixture
def work() -> MemoryStore:
    return MemoryStore(lambda: NOW)


async def finish_next(work: Store) -> None:
    claimed = await work.jobs.claim(["a"], 1, SECOND, "w", max_attempts=5)
    await work.jobs.settle([Outcome(claimed.grants[0].hold, Done("null"))])


async def test_a_job_is_written_as_asked(work) -> None:
    new = await enqueue(work, "a", {"n": [1]}, org_id="acme", delay=2.5, max_attempts=3)
    job = await get_job(work, new, org_id="acme")
    assert job is not None
    assert (job.id, job.org_id, job.type, job.payload) == (new, "acme", "a", {"n": [1]})
    assert job.enqueued_at == MOMENT
    assert job.due_at == MOMENT + timedelta(seconds=2.5)
    assert job.max_attempts == 3
    assert job.result is None


async def test_run_at_is_an_instant_of_any_zone(work) -> None:
    await enqueue(work, "a", id="x", run_at=datetime.fromisoformat("2030-01-01T01:00:00+01:00"))
    job = await get_job(work, "x")
    assert job is not None
    assert job.due_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert job.payload is None


async def test_ids_left_out_are_made(work) -> None:
    assert await enqueue(work, "a") != await enqueue(work, "a")
    assert await job_depth(work) == 2


BAD = [
    ({"id": ""}, "id is empty"),
    ({"id": "x" * 256}, "id has 256 characters"),
    ({"id": "\0"}, "id contains NUL"),
    ({"org_id": ""}, "org_id is empty"),
    ({"org_id": 7}, "org_id must be a str"),
    ({"type": ""}, "type is empty"),
    ({"type": None}, "type must be a str"),
    ({"payload": {"a": math.nan}}, "payload.a: nan"),
    ({"payload": "x" * 2**20}, "payload: 1,048,578 bytes"),
    ({"delay": -1}, "delay is -1 s"),
    ({"delay": True}, "delay must be seconds"),
    ({"delay": 10**5000}, "delay is longer than 100 years"),
    ({"run_at": datetime(2026, 1, 1)}, "run_at is naive"),
    ({"run_at": 5}, "run_at must be an aware datetime"),
    ({"delay": 1, "run_at": MOMENT}, "both delay and run_at"),
    ({"max_attempts": 0}, "max_attempts is 0"),
    ({"max_attempts": True}, "max_attempts is True"),
    ({"max_attempts": 2**31}, "max_attempts is 2147483648"),
    ({"max_attempts": 10**5000}, "max_attempts is <int>"),
]


@pytest.mark.parametrize(("option", "message"), BAD, ids=range(len(BAD)))
async def test_a_bad_job_is_refused_before_anything_is_written(work, option, message) -> None:
    arguments = {"type": "a", **option}
    with pytest.raises(InvalidJob) as caught:
        await enqueue(work, **arguments)
    assert message in str(caught.value)
    assert caught.value.index is None
    jobs = [Job("a") for _ in range(100)]
    jobs[57] = Job(**arguments)
    with pytest.raises(InvalidJob) as caught:
        await enqueue_many(work, jobs)
    assert str(caught.value).startswith("jobs[57]: ")
    assert message in str(caught.value)
    assert caught.value.index == 57
    assert await work.jobs.lanes() == ()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"max_depth": -1}, "max_depth is -1"),
        ({"max_depth": 1.5}, "max_depth is 1.5"),
        ({"on_conflict": "replace"}, "on_conflict is 'replace'"),
    ],
)
async def test_bad_options_of_a_call_are_refused(work, option, message) -> None:
    with pytest.raises(InvalidJob, match=message):
        await enqueue(work, "a", **option)
    with pytest.raises(InvalidJob, match=message):
        await enqueue_many(work, [], **option)
    assert await job_depth(work) == 0


@pytest.mark.parametrize("thing", [("a", 1), {"type": "a"}, None, "a"])
async def test_only_jobs_are_enqueued_in_bulk(work, thing) -> None:
    with pytest.raises(InvalidJob, match=r"^jobs\[1\]: expected a Job, not"):
        await enqueue_many(work, [Job("a"), thing])
    assert await job_depth(work) == 0


async def test_nothing_in_is_nothing_out(work) -> None:
    assert await enqueue_many(work, []) == []
    assert await enqueue_many(work, iter(())) == []


async def test_ids_come_back_in_call_order_and_known_ones_are_one_job(work, caplog) -> None:
    await enqueue(work, "a", "done", id="a")
    await finish_next(work)
    await enqueue(work, "a", "first", id="b")
    asked = ["c", "a", None, "a", "b", None, "c"]
    ids = await enqueue_many(work, (Job("a", n, id=given) for n, given in enumerate(asked)))
    assert [new if given is None else given for new, given in zip(ids, asked, strict=True)] == ids
    assert len({*ids}) == 5
    assert await job_depth(work) == 4
    for known, payload in {"a": "done", "b": "first", "c": 0}.items():
        job = await get_job(work, known)
        assert job is not None
        assert job.payload == payload


async def test_one_id_names_a_job_in_each_organization(work) -> None:
    jobs = [Job("a", org, id="x", org_id=org) for org in (None, "acme", "globex")]
    assert await enqueue_many(work, jobs) == ["x", "x", "x"]
    for org in (None, "acme", "globex"):
        job = await get_job(work, "x", org_id=org)
        assert job is not None
        assert job.payload == org


async def test_the_same_content_again_is_no_conflict(work, caplog) -> None:
    for payload in ({"bb": 1, "a": 2}, {"a": 2, "bb": 1}):
        assert await enqueue(work, "a", payload, id="x", on_conflict="raise") == "x"
        jobs = [Job("a", payload, id="x")] * 2
        assert await enqueue_many(work, jobs, on_conflict="raise") == ["x", "x"]
    assert caplog.records == []


@pytest.mark.parametrize(
    ("type_", "payload", "difference"), [("b", 1, "type 'a' instead of 'b'"), ("a", 2, "payload")]
)
async def test_other_content_is_warned_about_or_refused(
    work, caplog, type_, payload, difference
) -> None:
    await enqueue(work, "a", 1, id="x", org_id="acme")
    with caplog.at_level(logging.WARNING, "gnl.queue"):
        assert await enqueue(work, type_, payload, id="x", org_id="acme") == "x"
    assert difference in caplog.text
    assert "id 'x' of organization 'acme'" in caplog.text
    with pytest.raises(IdConflict, match=difference) as caught:
        await enqueue(work, type_, payload, id="x", org_id="acme", on_conflict="raise")
    assert (caught.value.id, caught.value.org_id, caught.value.written) == ("x", "acme", False)
    job = await get_job(work, "x", org_id="acme")
    assert job is not None
    assert (job.type, job.payload) == ("a", 1)


async def test_many_conflicts_are_one_warning(work, caplog) -> None:
    jobs = [Job("a", n, id=str(n)) for n in range(10)]
    await enqueue_many(work, jobs)
    with caplog.at_level(logging.WARNING, "gnl.queue"):
        await enqueue_many(work, [Job("b", id=job.id) for job in jobs])
    assert len(caplog.records) == 1
    assert "and 9 more in this call" in caplog.text


async def test_a_conflict_refuses_a_whole_call_before_it_is_written(work) -> None:
    await enqueue(work, "a", 1, id="x")
    with pytest.raises(IdConflict, match=r"^jobs\[1\]: .*nothing was written") as caught:
        await enqueue_many(work, [Job("a"), Job("a", 2, id="x")], on_conflict="raise")
    assert (caught.value.index, caught.value.written) == (1, False)
    with pytest.raises(IdConflict, match=r"^jobs\[1\]: "):
        await enqueue_many(work, [Job("a", 1, id="y"), Job("a", 2, id="y")], on_conflict="raise")
    assert await job_depth(work) == 1


class BlindJobs:
    """Jobs of another store, but a look finds nothing: another producer was faster."""

    def __init__(self, work: Store) -> None:
        self.add = work.jobs.add

    async def get(self, org_id: str | None, id: str) -> None:
        return None


class BlindStore:
    def __init__(self, work: Store) -> None:
        self.jobs = BlindJobs(work)


async def test_a_conflict_that_appears_during_the_call_says_what_was_written(work) -> None:
    await enqueue(work, "other", id="x")
    jobs = [Job("a", id="y"), Job("a", id="x")]
    with pytest.raises(IdConflict, match="the other jobs of the call were written") as caught:
        await enqueue_many(BlindStore(work), jobs, on_conflict="raise")
    assert (caught.value.index, caught.value.written) == (1, True)
    assert await get_job(work, "y") is not None


async def test_max_depth_counts_what_the_call_would_leave(work) -> None:
    await enqueue_many(work, [Job("a", id=str(n)) for n in range(60)])
    with pytest.raises(QueueFull) as caught:
        await enqueue_many(work, [Job("a")] * 41, max_depth=100)
    assert (caught.value.depth, caught.value.new, caught.value.limit) == (60, 41, 100)
    assert "60 live and 41 new" in str(caught.value)
    assert await job_depth(work) == 60
    known = [Job("a", id=str(n)) for n in range(60)]
    await enqueue_many(work, [*known, *[Job("a")] * 40], max_depth=100)
    assert await job_depth(work) == 100
    with pytest.raises(QueueFull):
        await enqueue(work, "a", max_depth=100)
    await enqueue(work, "a", id="0", max_depth=100)
    await enqueue(work, "a", org_id="acme", max_depth=1)
    with pytest.raises(QueueFull, match="organization 'acme'"):
        await enqueue(work, "a", org_id="acme", max_depth=1)


async def test_a_store_without_transactions_says_so(work) -> None:
    with pytest.raises(StoreRejected):
        await enqueue(work, "a", connection=object())


async def test_everything_refused_is_a_value_error(work) -> None:
    assert issubclass(InvalidJob, InvalidInput)
    with pytest.raises(ValueError, match="id is empty"):
        await enqueue(work, "a", id="")
