from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

import pytest

from gnl_core import JobContext, JobState, Worker, enqueue, get_job
from gnl_core.errors import ExecutionRevokedError, RevokedWhy, StoreUnavailable
from gnl_core.memory import MemoryStore
from gnl_core.spi import LEASE_EXPIRED, SECOND, Done, Outcome
from gnl_core.storage import Storage

if TYPE_CHECKING:
    from conftest import Clock, FaultyStore, Until

TTL = 0.3


@pytest.mark.parametrize("threaded", [False, True])
async def test_a_handler_that_blocks_for_three_leases_keeps_its_own_and_starts_once(
    storage: Storage, threaded: bool
) -> None:
    starts: list[int] = []

    def plain(payload: object, ctx: JobContext) -> str:
        starts.append(ctx.attempt)
        time.sleep(3 * TTL)
        return "slept"

    async def blocking(payload: object, ctx: JobContext) -> str:
        return plain(payload, ctx)

    async def rival() -> None:
        """Another worker, whose loop is free."""
        while True:
            claimed = await storage.work.jobs.claim(["t"], 1, SECOND, "rival", max_attempts=5)
            assert not claimed.grants, "the lease was not kept"
            await asyncio.sleep(0.01)

    job_id = await enqueue(storage.work, "t", None)
    worker = Worker(storage, {"t": plain if threaded else blocking}, ttl=TTL)
    running = asyncio.create_task(worker.drain())
    await asyncio.sleep(0)
    rivals = asyncio.create_task(asyncio.to_thread(asyncio.run, rival_after_start(starts, rival)))
    assert await running == 1
    rivals.cancel()
    job = await get_job(storage.work, job_id)
    assert job is not None
    assert (job.state, job.result, job.attempts) == (JobState.DONE, "slept", 1)
    assert starts == [1]


async def rival_after_start(starts: list[int], rival: object) -> None:
    """Claims from another thread for as long as the handler runs."""
    deadline = time.monotonic() + 2.5 * TTL
    while not starts and time.monotonic() < deadline:
        await asyncio.sleep(0.005)
    assert callable(rival)
    try:
        async with asyncio.timeout(2.5 * TTL):
            await rival()
    except TimeoutError:
        pass


async def test_a_lost_lease_reaches_the_handler_and_nothing_is_written_afterwards(
    clock: Clock, until: Until
) -> None:
    store, seen, ends = MemoryStore(clock), [], asyncio.Event()

    async def handler(payload: object, ctx: JobContext) -> str:
        try:
            await ends.wait()
        except asyncio.CancelledError:
            seen.append(ctx.signal.why)
        return "late"

    job_id = await enqueue(store, "t", None)
    worker = Worker(Storage(store), {"t": handler}, ttl=TTL, concurrency=1, poll_longest=0.2)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(20):
        while (job := await get_job(store, job_id)) is None or job.state is not JobState.RUNNING:
            await asyncio.sleep(0.001)
        clock.forward(1)
        claimed = await store.jobs.claim(["t"], 1, 1_000 * SECOND, "thief", max_attempts=5)
    await until(lambda: seen)
    job = await get_job(store, job_id)
    assert job is not None
    assert (job.state, job.worker, job.attempts) == (JobState.RUNNING, "thief", 2)
    await store.jobs.settle([Outcome(claimed.grants[0].hold, Done('"mine"'))])
    worker.stop()
    await running
    job = await get_job(store, job_id)
    assert job is not None
    assert seen == [RevokedWhy.LEASE_LOST]
    assert (job.state, job.result, len(job.failures)) == (JobState.DONE, "mine", 1)


class Unanswered:
    """Lets the renewals of a store fail as a script says; later ones succeed."""

    def __init__(self, store: FaultyStore, *script: bool) -> None:
        self.script = list(script)
        self.asked = 0
        store.before = self

    async def __call__(self, call: str) -> None:
        if call == "extend":
            self.asked += 1
            if self.script and not self.script.pop(0):
                raise StoreUnavailable("no answer")


async def run_until_renewed(faulty: FaultyStore, times: int, *script: bool) -> RevokedWhy | None:
    """How a handler was revoked that ran until so many renewals had been tried."""
    unanswered, whys = Unanswered(faulty, *script), []

    async def handler(payload: object, ctx: JobContext) -> None:
        async with asyncio.timeout(20):
            while unanswered.asked < times and not ctx.signal.revoked:
                await asyncio.sleep(0.002)
            await asyncio.sleep(0.02)
        whys.append(ctx.signal.why)

    await enqueue(faulty, "t", None, id="j", max_attempts=1)
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL, on_revoke="signal").drain()
    return whys[0]


async def test_three_renewals_without_an_answer_are_a_lost_lease(faulty: FaultyStore) -> None:
    assert await run_until_renewed(faulty, 4, False, False, False) is RevokedWhy.LEASE_LOST
    job = await get_job(faulty, "j")
    assert job is not None
    assert job.state in (JobState.RUNNING, JobState.DEAD)  # dead once its lease has run out
    assert all(failure.error == LEASE_EXPIRED for failure in job.failures)


async def test_a_renewal_that_is_answered_resets_the_count(faulty: FaultyStore) -> None:
    assert await run_until_renewed(faulty, 6, False, False, True, False, False, True) is None


async def test_a_renewal_that_hangs_counts_each_time_and_is_given_up(faulty: FaultyStore) -> None:
    hung, whys = [], []

    async def hang(call: str) -> None:
        if call == "extend":
            hung.append(call)
            await asyncio.sleep(3_600)

    async def handler(payload: object, ctx: JobContext) -> None:
        async with asyncio.timeout(20):
            whys.append((await ctx.signal.wait()).why)

    faulty.before = hang
    await enqueue(faulty, "t", None, max_attempts=1)
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL, on_revoke="signal").drain()
    assert whys == [RevokedWhy.LEASE_LOST]
    assert hung == ["extend"], "a hanging renewal is waited for, not doubled"


async def test_a_slow_renewal_is_good_when_it_comes(faulty: FaultyStore) -> None:
    answered = []

    async def slow(call: str) -> None:
        if call == "extend":
            await asyncio.sleep(TTL / 3 * 1.5)
            answered.append(call)

    async def handler(payload: object, ctx: JobContext) -> RevokedWhy | None:
        async with asyncio.timeout(20):
            while len(answered) < 4 and not ctx.signal.revoked:
                await asyncio.sleep(0.002)
        return ctx.signal.why

    faulty.before = slow
    job_id = await enqueue(faulty, "t", None)
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL).drain()
    job = await get_job(faulty, job_id)
    assert job is not None
    assert (job.state, job.result) == (JobState.DONE, None)


async def test_the_keeper_survives_foreign_errors_and_wrong_answers(faulty: FaultyStore) -> None:
    script: list[Exception] = [ZeroDivisionError(), KeyError("driver")]

    async def foreign(call: str) -> None:
        if call == "extend" and script:
            raise script.pop()

    async def handler(payload: object, ctx: JobContext) -> str:
        async with asyncio.timeout(20):
            while faulty.calls.count("extend") < 5:
                await asyncio.sleep(0.002)
        return "kept"

    faulty.before = foreign
    job_id = await enqueue(faulty, "t", None)
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL).drain()
    job = await get_job(faulty, job_id)
    assert job is not None
    assert job.result == "kept"


async def test_a_handler_that_lingers_one_lease_after_revocation_is_warned_about_once_by_name(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        return [r.message for r in caplog.records if "still runs" in r.message]

    async def swallows(payload: object, ctx: JobContext) -> None:
        async with asyncio.timeout(20):
            while not warnings():
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    assert ctx.signal.revoked
        await asyncio.sleep(2 * TTL / 3)

    await enqueue(storage.work, "t", None, id="slow-one", org_id="acme")
    with caplog.at_level(logging.WARNING, "gnl.worker"):
        await Worker(storage, {"t": swallows}, ttl=TTL, max_hold=0.01).drain()
    assert len(warnings()) == 1
    assert "'slow-one'" in warnings()[0]
    assert "'acme'" in warnings()[0]
    assert "timeout" in warnings()[0]


async def test_grants_that_arrive_late_are_renewed_before_they_start(
    faulty: FaultyStore, clock: Clock
) -> None:
    """As after a handler that blocked the loop while a claim was on its way."""
    started = []

    async def handler(payload: object, ctx: JobContext) -> None:
        started.append(ctx.id)

    async def late(call: str) -> None:
        if call == "claim" and not stolen:
            job = await get_job(faulty, "stolen")
            assert job is not None
            faulty._data.jobs._by_seq[1].token += 1_000  # another holder has it by now
            stolen.append(job.id)
            await asyncio.sleep(TTL / 2)

    stolen: list[str] = []
    await enqueue(faulty, "t", None, id="stolen")
    await enqueue(faulty, "t", None, id="kept")
    faulty.after = late
    await Worker(Storage(faulty), {"t": handler}, ttl=TTL).drain()
    assert started == ["kept"]


async def test_a_lease_lost_after_another_cause_still_writes_nothing(
    clock: Clock, until: Until
) -> None:
    store, whys = MemoryStore(clock), []

    async def handler(payload: object, ctx: JobContext) -> None:
        error: ExecutionRevokedError = await ctx.signal.wait()
        whys.append(error.why)
        clock.forward(10)
        await store.jobs.claim(["t"], 1, 1_000 * SECOND, "thief", max_attempts=5)
        await asyncio.sleep(TTL)

    job_id = await enqueue(store, "t", None)
    worker = Worker(
        Storage(store), {"t": handler}, ttl=TTL, max_hold=0.02, on_revoke="signal", concurrency=1
    )
    await worker.drain()
    job = await get_job(store, job_id)
    assert job is not None
    assert whys == [RevokedWhy.TIMEOUT]
    assert (job.worker, job.attempts, len(job.failures)) == ("thief", 2, 1)
