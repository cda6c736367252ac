"""Adding inside the caller's own transaction."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._trial import Trial, ids, job, jobs
from gnl_core.spi import Capability, EveryLane, OneLane

_NEEDS = [Capability.TRANSACTIONS]


@case("enqueue.transaction", needs=_NEEDS)
async def jobs_appear_when_their_transaction_commits(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.jobs.add(jobs(3, "a"), connection=caller.connection)
        t.equal(await t.jobs.depth("a"), 0, "depth before the commit")
        if not t.harness.one_writer:
            t.equal(await t.claim(5), (), "grants before the commit")
        t.equal(await t.jobs.get("a", "a-1"), None, "a job before the commit")
        await caller.commit()
    t.equal(ids(await t.claim(5)), ["a-1", "a-2", "a-3"], "grants after the commit")


@case("enqueue.transaction", needs=_NEEDS)
async def jobs_are_gone_with_their_transaction(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.jobs.add(jobs(3, "a"), connection=caller.connection)
        await caller.rollback()
    t.equal(await t.claim(5), (), "grants after a rollback")
    t.equal(await t.jobs.depth("a"), 0, "depth after a rollback")
    answer = await t.add(*jobs(3, "a"))
    t.equal(answer.known, (None,) * 3, "answers when the ids are added after a rollback")


@case("enqueue.transaction", needs=_NEEDS)
async def jobs_are_gone_when_their_transaction_is_left_open(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.jobs.add([job("x")], connection=caller.connection)
    t.equal(await t.jobs.get(None, "x"), None, "a job whose transaction never ended")


@case("enqueue.transaction", needs=_NEEDS)
async def producers_do_not_wait_for_an_open_transaction(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.jobs.add(jobs(3, "a"), connection=caller.connection)
        try:
            async with asyncio.timeout(5):
                await t.add(*jobs(3, "a", prefix="other"))
                found = ids(await t.claim(5))
        except TimeoutError:
            t.check(False, "an add or a claim waited for another producer's open transaction")
        t.equal(found, ["other-1", "other-2", "other-3"], "grants beside an open transaction")
        await caller.commit()
    t.equal(ids(await t.claim(5)), ["a-1", "a-2", "a-3"], "grants after the commit")


@case("enqueue.transaction", needs=_NEEDS)
async def two_open_transactions_of_a_lane_do_not_wait(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as one, t.transaction() as two:
        try:
            async with asyncio.timeout(5):
                await t.jobs.add(jobs(2, "a"), connection=one.connection)
                await t.jobs.add(jobs(2, "a", prefix="two"), connection=two.connection)
                await two.commit()
                await one.commit()
        except TimeoutError:
            t.check(False, "one producer waited for the open transaction of another")
    t.equal(len(await t.claim(9)), 4, "grants after both commits")


@case("list.snapshot", needs=_NEEDS)
async def a_commit_after_page_one_is_not_listed(t: Trial) -> None:
    t.need_several_writers()
    await t.add(*jobs(4, "a"))
    async with t.transaction() as caller:
        await t.jobs.add(jobs(3, "a", prefix="open"), connection=caller.connection)
        await t.add(*jobs(4, "a", prefix="then"))
        first = await t.jobs.page(OneLane("a"), None, 3)
        every = await t.jobs.page(EveryLane(), None, 3)
        await caller.commit()
    expected = [f"a-{n}" for n in range(1, 5)] + [f"then-{n}" for n in range(1, 5)]
    for scope, page in ((OneLane("a"), first), (EveryLane(), every)):
        found = list(page.items)
        while page.position is not None:
            page = await t.jobs.page(scope, page.position, 3)  # noqa: PLW2901 - the next page
            found += page.items
        t.equal(sorted(ids(found)), sorted(expected), f"jobs listed for {scope}")


@case("list.snapshot", needs=_NEEDS)
async def a_job_committed_before_page_one_is_listed_though_an_older_is_open(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.jobs.add([job("open")], connection=caller.connection)
        await t.add(job("committed"))
        page = await t.jobs.page(OneLane(None), None, 5)
        t.equal(ids(list(page.items)), ["committed"], "jobs listed beside an open transaction")
        await caller.rollback()


@case("lane.burst", needs=_NEEDS, time_limit=120)
async def a_thousand_jobs_committed_late_give_way(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.jobs.add(jobs(1_000, "bulk"), connection=caller.connection)
        for lane in ("b", "c"):
            await t.add(*jobs(5, lane))
        await t.claim_singly(2)
        await caller.commit()
    # Which of three grants is the late lane's is left open: a store sees a commit when it looks.
    served = [str((await t.claim_one()).org_id) for _ in range(9)]
    t.check(2 <= served.count("bulk") <= 4, f"with three lanes ready, nine grants went to {served}")


@case("lane.late", needs=_NEEDS)
async def a_late_commit_does_not_jump_the_queue(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.jobs.add(jobs(20, "late"), connection=caller.connection)
        for lane in ("b", "c"):
            await t.add(*jobs(20, lane))
        await t.claim_singly(8)
        await caller.commit()
    served = [str((await t.claim_one()).org_id) for _ in range(9)]
    t.check(2 <= served.count("late") <= 4, f"with three lanes ready, nine grants went to {served}")
