"""The claim order: fair between lanes, first come first served within one."""

from __future__ import annotations

import asyncio
from collections import Counter

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, Trial, ids, job, jobs
from gnl_conformance._violation import NotApplicable
from gnl_core.spi import Dead, Release, Retry


@case("lane.fair")
async def every_lane_is_served_within_as_many_grants_as_there_are_lanes(t: Trial) -> None:
    lanes = (None, "b", "a", "Z", "c")
    for lane in lanes:
        await t.add(*jobs(4, lane))
    for _ in range(4):
        served = [(await t.claim_one()).org_id for _ in lanes]
        t.check(len(set(served)) == 5, f"five grants with five lanes ready went to {served}")


@case("lane.fair")
async def a_big_lane_does_not_hold_up_small_ones(t: Trial) -> None:
    await t.add(*jobs(1_000, "big"))
    for lane in ("x", "y", "z"):
        await t.add(job(lane, lane))
    first = [(await t.claim_one()).org_id for _ in range(4)]
    t.equal(sorted(map(str, first)), ["big", "x", "y", "z"], "lanes of the first four grants")


@case("lane.fair")
async def a_fast_lane_gains_nothing_by_finishing(t: Trial) -> None:
    await t.add(*jobs(10, "fast"), *jobs(10, "slow"))
    served: Counter[str | None] = Counter()
    for _ in range(10):
        grant = await t.claim_one()
        served[grant.org_id] += 1
        if grant.org_id == "fast":
            await t.finish(grant)
    t.equal(served, Counter(fast=5, slow=5), "grants of two lanes, one of which finishes at once")


@case("lane.late")
async def a_late_lane_comes_after_those_that_wait(t: Trial) -> None:
    for lane in ("a", "b", "c"):
        await t.add(*jobs(20, lane))
    await t.claim_singly(7)
    await t.add(*jobs(5, "late"))
    served = [(await t.claim_one()).org_id for _ in range(5)]
    t.equal(served, ["b", "c", "a", "late", "b"], "lanes served after a late one came")


@case("lane.late")
async def a_late_lane_does_not_wait_for_old_backlogs(t: Trial) -> None:
    await t.add(*jobs(300, "old"))
    await t.claim(50)
    await t.add(job("x", "late"))
    served = [(await t.claim_one()).org_id for _ in range(2)]
    t.check("late" in served, f"two grants with two lanes ready went to {served}")


@case("lane.late")
async def a_lane_that_comes_back_has_saved_up_nothing(t: Trial) -> None:
    await t.add(*jobs(10, "a"), *jobs(10, "b"), job("c-1", "c"))
    await t.claim_singly(7)
    await t.add(*jobs(3, "c", prefix="back"))
    served = [(await t.claim_one()).org_id for _ in range(4)]
    t.equal(served, ["a", "b", "c", "a"], "lanes served after an idle one came back")


@case("lane.batch")
async def a_batch_grants_what_single_claims_would(t: Trial) -> None:
    mixed = [*jobs(5, "a"), *jobs(2, "b"), *jobs(3), *jobs(4, "c")]
    await t.add(*mixed)
    batched = ids(await t.claim(3)) + ids(await t.claim(7)) + ids(await t.claim(100))
    async with t.elsewhere() as other:
        await other.jobs.add(mixed)
        singly = [grant.id for _ in mixed for grant in await t.claim(1, on=other)]
    t.equal(batched, singly, "grants in batches, against grants one by one")


@case("lane.burst", time_limit=120)
async def a_thousand_jobs_that_fall_due_together_give_way(t: Trial) -> None:
    burst = [job(f"a-{n}", "a", delay=t.tick) for n in range(1_000)]
    await t.add(*burst)
    await t.age(1.1)
    await t.add(*jobs(5, "b"))
    served = "".join(str(grant.org_id) for grant in await t.claim(10))
    t.equal(served, "ba" * 5, "lanes of the first ten grants")


@case("lane.burst")
async def jobs_that_fall_due_do_not_overtake_lanes_that_wait(t: Trial) -> None:
    await t.add(*[job(f"a-{n}", "a", delay=t.tick) for n in range(20)])
    await t.add(*jobs(3, "b"), *jobs(3, "c"))
    await t.age(1.1)
    served = "".join(str(grant.org_id) for grant in await t.claim(6))
    t.equal(served, "bcabca", "lanes served after a burst fell due")


@case("lane.burst")
async def delayed_jobs_become_ready_in_the_order_they_fall_due(t: Trial) -> None:
    tick = t.tick // 10
    await t.add(*[job(f"{n}", f"{n}", delay=n * tick) for n in (3, 1, 2)])
    await t.age(0.5)
    t.equal(ids(await t.claim(3)), ["1", "2", "3"], "lanes in the order their jobs fell due")


@case("lane.turn")
async def adding_many_is_as_fair_as_adding_one_by_one(t: Trial) -> None:
    big, small = jobs(50, "big"), [*jobs(2, "b"), *jobs(2, "c"), *jobs(2)]
    await t.add(*big, *small)
    at_once = ids(await t.claim(56))
    async with t.elsewhere() as other:
        for one in (*big, *small):
            await other.jobs.add([one])
        one_by_one = ids(await t.claim(56, on=other))
    t.equal(at_once, one_by_one, "claim order of a batch, against that of single adds")


@case("lane.turn")
async def a_bulk_takes_one_turn(t: Trial) -> None:
    await t.add(*jobs(3_000, "bulk"))
    await t.add(job("b", "b"))
    await t.add(job("c", "c"))
    served = [str((await t.claim_one()).org_id) for _ in range(3)]
    t.equal(sorted(served), ["b", "bulk", "c"], "lanes of the first three grants")


async def _comes_back(t: Trial, how: str) -> None:
    found = ids(await t.claim(4))
    t.equal(found, ["a-1", "a-2", "a-3", "a-4"], f"order after the first job was {how}")


@case("lane.place")
async def a_retried_job_keeps_its_place(t: Trial) -> None:
    await t.add(*jobs(4, "a"))
    await t.settle(await t.claim_one(), Retry(0, "again"))
    await _comes_back(t, "retried")


@case("lane.place")
async def a_released_job_keeps_its_place(t: Trial) -> None:
    await t.add(*jobs(4, "a"))
    first, _ = await t.claim(2)
    await t.settle(first, Release())
    t.equal(ids(await t.claim(2)), ["a-1", "a-3"], "order after the first job was released")


@case("lane.place")
async def a_reclaimed_job_keeps_its_place(t: Trial) -> None:
    await t.add(*jobs(4, "a"))
    await t.claim_one(ttl=t.tick)
    await t.age(1.1)
    await _comes_back(t, "reclaimed")


@case("lane.place")
async def a_revived_job_keeps_its_place(t: Trial) -> None:
    await t.add(*jobs(4, "a"))
    await t.settle(await t.claim_one(), Dead("broken"))
    await t.jobs.revive("a", "a-1")
    await _comes_back(t, "revived")


@case("lane.place")
async def a_lane_whose_job_comes_back_keeps_its_turn(t: Trial) -> None:
    await t.add(*jobs(3, "a"), *jobs(3, "b"), *jobs(3, "c"))
    await t.settle(await t.claim_one(), Retry(0, "again"))
    t.equal(await t.claim_singly(4), ["b-1", "c-1", "a-1", "b-2"], "order after a retry")


@case("lane.types")
async def only_types_asked_for_are_granted(t: Trial) -> None:
    await t.add(job("1", type="x"), job("2", type="y"), job("3", "a", "z"), job("4", "a", "x"))
    t.equal(ids(await t.claim(9, "x")), ["1", "4"], "grants of type x")
    t.equal(await t.claim(9, "q"), (), "grants of a type that no job has")
    t.equal((await t.jobs.claim((), 9, LONG, "w", max_attempts=5)).grants, (), "grants of no type")
    t.equal(sorted(ids(await t.claim(9, "z", "y", "q"))), ["2", "3"], "grants of types y and z")


@case("lane.types")
async def a_type_not_asked_for_costs_its_lane_no_turn(t: Trial) -> None:
    await t.add(job("a-y", "a", "y"), job("b-y", "b", "y"), job("c-x", "c", "x"))
    await t.add(job("c-y", "c", "y"), job("d-y", "d", "y"))
    t.equal(ids(await t.claim(5, "x")), ["c-x"], "grants of type x")
    t.equal(ids(await t.claim(5, "y")), ["a-y", "b-y", "d-y", "c-y"], "grants of type y then")


@case("lane.types")
async def types_of_one_lane_share_its_turn(t: Trial) -> None:
    await t.add(job("a-1", "a", "x"), job("a-2", "a", "y"), job("a-3", "a", "x"))
    await t.add(job("b-1", "b", "y"), job("b-2", "b", "x"))
    order = await t.claim_singly(9, "x", "y")
    t.equal(order, ["a-1", "b-1", "a-2", "b-2", "a-3"], "order of two types in two lanes")


@case("lane.none")
async def jobs_without_organization_are_one_lane(t: Trial) -> None:
    await t.add(*jobs(4), *jobs(4, "None"), *jobs(4, "null"))
    served = [(await t.claim_one()).org_id for _ in range(6)]
    t.equal(served, [None, "None", "null"] * 2, "lanes served")


@case("lane.shared")
async def claimers_of_one_lane_all_find_work(t: Trial) -> None:
    await t.add(*jobs(400, "only"))
    async with t.handle() as other:
        for _ in range(4):
            calls = [t.claim(5, on=where) for where in (t.store, other) * 4]
            sizes = [len(grants) for grants in await asyncio.gather(*calls)]
            t.check(
                min(sizes) > 0, f"with hundreds of jobs ready, eight claims at once got {sizes}"
            )


@case("lane.limit")
async def a_claim_fills_its_limit_and_no_more(t: Trial) -> None:
    await t.add(*jobs(30, "a"), *jobs(3, "b"), *jobs(1))
    for limit, expected in ((1, 1), (7, 7), (20, 20), (100, 6), (5, 0)):
        found = len(await t.claim(limit))
        t.equal(found, expected, f"grants of a claim of up to {limit}")


@case("lane.poll", time_limit=120)
async def an_empty_claim_costs_the_same_however_much_there_is(t: Trial) -> None:
    if not hasattr(t.store.inner, "statements"):
        raise NotApplicable("the store has no `statements`, which would count its round trips")
    await t.claim(10)
    empty = await _cost_of_a_claim(t)
    many = [one for n in range(300) for one in jobs(3, f"lane {n}")]
    await t.add(*many)
    held = await t.claim(900)
    await t.finish(*held[:600])
    await t.add(*[job(f"later {n}", f"lane {n}", delay=LONG) for n in range(300)])
    await t.claim(10)
    full = await _cost_of_a_claim(t)
    t.check(full <= empty, f"an empty claim took {empty} statements, with 300 lanes {full}")


async def _cost_of_a_claim(t: Trial) -> int:
    """The least of several: a store may send a hint in between, which is not what a claim costs."""
    return min([await _cost_once(t) for _ in range(5)])


async def _cost_once(t: Trial) -> int:
    before = int(t.store.inner.statements)  # type: ignore[attr-defined] # asked for by the caller
    t.equal(await t.claim(10), (), "grants of an empty claim")
    return int(t.store.inner.statements) - before  # type: ignore[attr-defined] # as above
