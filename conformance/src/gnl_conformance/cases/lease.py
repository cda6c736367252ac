"""Holding a job: who may, until when, and what a stale holder can do."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, TYPE, Trial, ids, job, jobs
from gnl_conformance.cases._states import VERDICTS
from gnl_core.spi import (
    Dead,
    Done,
    Grant,
    Hold,
    HoldState,
    JobState,
    Outcome,
    Release,
    Retry,
    Verdict,
)


@case("lease.exclusive")
async def a_live_lease_is_not_granted_twice(t: Trial) -> None:
    await t.add(job("x"))
    await t.claim_one()
    async with t.handle() as other:
        t.equal(await t.claim(5, on=other), (), "grants of a job that is held")


@case("lease.exclusive")
async def claimers_at_once_share_no_job(t: Trial) -> None:
    await t.add(*jobs(60), *jobs(60, "a"))
    async with t.handle() as b, t.handle() as c:
        calls = [t.claim(7, on=where) for _ in range(8) for where in (t.store, b, c)]
        grants = [grant for found in await asyncio.gather(*calls) for grant in found]
    # Claims that overlap may leave something behind; none may be granted twice.
    grants += await t.claim(120)
    twice = sorted({g.id for g in grants if ids(grants).count(g.id) > 1})
    t.check(not twice, f"granted more than once while leased: {twice}")
    t.equal(len(grants), 120, "jobs granted in all")


@case("lease.exclusive")
async def a_live_lease_survives_other_claims(t: Trial) -> None:
    await t.add(*jobs(3))
    held = await t.claim(2)
    await t.claim(5, "other")
    await t.claim(5)
    answers = await t.jobs.extend([grant.hold for grant in held], LONG)
    t.equal([a.state for a in answers], [HoldState.KEPT] * 2, "holds after other claims")


async def _taken_over(t: Trial, id: str) -> tuple[Grant, Grant]:
    """A job whose first lease ran out and that somebody else holds now."""
    await t.add(job(id))
    stale = await t.claim_one(ttl=t.tick, worker="stale")
    await t.age(1.1)
    return stale, await t.claim_one(worker="fresh")


@case("lease.fenced")
async def a_stale_token_cannot_extend(t: Trial) -> None:
    stale, fresh = await _taken_over(t, "x")
    (answer,) = await t.jobs.extend([stale.hold], 2 * LONG)
    t.equal((answer.state, answer.expires_at), (HoldState.LOST, None), "a stale extension")
    t.equal((await t.get("x")).expires_at, fresh.expires_at, "the fresh lease's end")


@case("lease.fenced")
async def a_stale_token_cannot_settle(t: Trial) -> None:
    stale, fresh = await _taken_over(t, "x")
    before = await t.get("x")
    for verdict in VERDICTS:
        t.equal(await t.settle(stale, verdict), None, f"a stale settlement by {verdict}")
        t.equal(await t.get("x"), before, "the job after a stale settlement")
    t.equal(await t.settle(fresh, Done("1")), JobState.DONE, "the fresh settlement")


@case("lease.fenced")
async def a_settled_hold_is_lost(t: Trial) -> None:
    for n, verdict in enumerate(VERDICTS):
        kind = f"t{n}"
        await t.add(job(f"{n}", type=kind))
        grant = await t.claim_one(kind)
        await t.settle(grant, verdict)
        before = await t.get(f"{n}")
        t.equal(await t.settle(grant, Done("2")), None, f"a second settlement after {verdict}")
        (answer,) = await t.jobs.extend([grant.hold], LONG)
        t.equal(answer.state, HoldState.LOST, f"an extension after {verdict}")
        t.equal(await t.get(f"{n}"), before, f"the job after writes behind {verdict}")


@case("lease.fenced")
async def a_token_must_be_the_jobs_own(t: Trial) -> None:
    await t.add(*jobs(2))
    one, two = await t.claim(2)
    wrong = [Hold(one.seq, one.token + 999), Hold(one.seq, 0), Hold(two.seq + 999, two.token)]
    if one.token != two.token:
        wrong.append(Hold(one.seq, two.token))
    settled = await t.jobs.settle([Outcome(hold, Done("1")) for hold in wrong])
    t.equal([s.state for s in settled], [None] * len(wrong), "settlements with wrong tokens")
    answers = await t.jobs.extend(wrong, LONG)
    t.equal({a.state for a in answers}, {HoldState.LOST}, "extensions with wrong tokens")


@case("lease.fenced")
async def settlers_at_once_end_a_hold_once(t: Trial) -> None:
    await t.add(*jobs(10))
    grants = await t.claim(10)
    async with t.handle() as other:
        calls = [
            where.jobs.settle([Outcome(grant.hold, Done(f"{n}")) for grant in grants])
            for n, where in enumerate((t.store, other) * 3)
        ]
        answers = await asyncio.gather(*calls)
    applied = [s.state for answer in answers for s in answer if s.state is not None]
    t.equal(len(applied), 10, "settlements applied, for ten holds settled six times at once")


@case("lease.token")
async def tokens_grow_over_every_way_back(t: Trial) -> None:
    await t.add(job("x"))
    tokens = []
    for verdict in (Retry(0, "again"), Release(), Retry(0, "again")):
        grant = await t.claim_one(max_attempts=9)
        tokens.append(grant.token)
        await t.settle(grant, verdict)
    tokens.append((await t.claim_one(ttl=t.tick, max_attempts=9)).token)
    await t.age(1.1)
    grant = await t.claim_one(max_attempts=9)
    await t.settle(grant, Dead("no"))
    await t.jobs.revive(None, "x")
    tokens += [grant.token, (await t.claim_one()).token]
    t.check(tokens == sorted(set(tokens)), f"tokens of one job, in order of its grants: {tokens}")


@case("lease.reclaimed")
async def a_lease_that_ran_out_is_granted_again(t: Trial) -> None:
    await t.add(job("x"))
    first = await t.claim_one(ttl=t.tick)
    await t.age(1.1)
    async with t.handle() as other:
        again = await t.claim(5, on=other, worker="other")
    t.equal(ids(again), ["x"], "grants after the lease ran out")
    t.check(again[0].reclaimed, "the grant does not say that it was reclaimed")
    t.check(not first.reclaimed, "the first grant says that it was reclaimed")
    t.equal((await t.get("x")).worker, "other", "the holder now")
    t.equal(again[0].due_at, first.expires_at, "when the attempt fell due")


@case("lease.reclaimed")
async def a_claim_ends_expired_leases_of_every_type(t: Trial) -> None:
    await t.add(job("x"), job("y", type="other"))
    await t.claim(2, TYPE, "other", ttl=t.tick)
    await t.age(1.1)
    await t.claim(1, "none of them")
    for name in ("x", "y"):
        state = (await t.get(name)).state
        t.equal(state, JobState.WAITING, f"{name} after a claim of another type")


@case("lease.reclaimed")
async def only_a_lease_that_ran_out_is_called_reclaimed(t: Trial) -> None:
    await t.add(job("x"))
    await t.claim_one(ttl=t.tick)
    await t.age(1.1)
    await t.settle(await t.claim_one(), Retry(0, "again"))
    t.check(not (await t.claim_one()).reclaimed, "a retried job was called reclaimed")


@case("lease.reclaimed")
async def many_leases_that_ran_out_are_all_reclaimed(t: Trial) -> None:
    await t.add(*jobs(150, "a"), *jobs(150, "b"))
    await t.claim(300, ttl=t.tick)
    await t.age(1.1)
    again = await t.claim(500)
    t.equal(len(again), 300, "grants after 300 leases ran out")
    t.equal([g.org_id for g in again[:4]], ["a", "b"] * 2, "lanes in which they came back")


@case("lease.boundary")
async def a_lease_has_expired_at_its_expiry(t: Trial) -> None:
    await t.add(job("x"))
    grant = await t.claim_one(ttl=t.tick)
    t.equal(grant.expires_at, grant.granted_at + t.tick, "the end of the lease")
    while True:
        before = await t.store.now()
        again = await t.claim(1)
        if again:
            early = grant.expires_at - again[0].granted_at
            t.check(early <= 0, f"granted again {early} us before the lease ran out")
            return
        t.check(before < grant.expires_at, "not granted again although now was expires_at")
        await t.age(0.25)


@case("lease.extend")
async def an_extension_counts_from_now(t: Trial) -> None:
    await t.add(job("x"))
    grant = await t.claim_one(ttl=LONG)
    for ttl in (2 * LONG, LONG // 2):
        before = await t.store.now()
        (answer,) = await t.jobs.extend([grant.hold], ttl)
        after = await t.store.now()
        until = answer.expires_at or 0
        t.equal(answer.state, HoldState.KEPT, "an extension in time")
        t.check(
            before + ttl <= until <= after + ttl,
            f"extended by {ttl} between {before} and {after}, the lease ends at {until}",
        )
        t.equal((await t.get("x")).expires_at, until, "the end of the lease as stored")


@case("lease.extend")
async def an_extended_lease_outlives_its_first_end(t: Trial) -> None:
    await t.add(*jobs(2))
    kept, left = await t.claim(2, ttl=t.tick)
    await t.jobs.extend([kept.hold], LONG)
    await t.age(1.1)
    t.equal(ids(await t.claim(5)), [left.id], "grants when the first end has passed")


@case("lease.extend")
async def a_shortened_lease_ends_sooner(t: Trial) -> None:
    await t.add(job("x"))
    grant = await t.claim_one()
    await t.jobs.extend([grant.hold], t.tick)
    await t.age(1.1)
    t.equal(ids(await t.claim()), ["x"], "grants after a lease was shortened")


@case("lease.held")
async def an_expired_lease_that_nobody_ended_is_still_held(t: Trial) -> None:
    await t.add(*jobs(2))
    one, two = await t.claim(2, ttl=t.tick)
    await t.age(1.1)
    (answer,) = await t.jobs.extend([one.hold], LONG)
    t.equal(answer.state, HoldState.KEPT, "extension of an expired lease nobody ended")
    t.equal(await t.settle(two, Done("1")), JobState.DONE, "settlement of the other")
    t.equal(await t.claim(5), (), "grants then")


@case("lease.batch")
async def each_hold_of_a_batch_is_answered_by_itself(t: Trial) -> None:
    await t.add(*jobs(3))
    a, b, c = await t.claim(3)
    await t.settle(b, Done("1"))
    extended = await t.jobs.extend([b.hold, c.hold, a.hold], LONG)
    kept, lost = HoldState.KEPT, HoldState.LOST
    t.equal([one.state for one in extended], [lost, kept, kept], "answers to extend")
    verdicts: list[tuple[Grant, Verdict]] = [(c, Dead("no")), (b, Done("2")), (a, Release())]
    settled = await t.jobs.settle([Outcome(grant.hold, verdict) for grant, verdict in verdicts])
    expected = [JobState.DEAD, None, JobState.WAITING]
    t.equal([one.state for one in settled], expected, "answers to settle")


@case("lease.batch")
async def a_thousand_holds_are_answered_in_order(t: Trial) -> None:
    await t.add(*jobs(1_000))
    grants = await t.claim(1_000)
    mixed = sorted(grants, key=lambda grant: grant.seq * 7 % 1_009)
    extended = await t.jobs.extend([grant.hold for grant in mixed], LONG)
    t.equal({one.state for one in extended}, {HoldState.KEPT}, "answers to extend")
    ends: list[Verdict] = [Done(f'"{g.id}"') if g.seq % 2 else Retry(LONG, g.id) for g in mixed]
    outcomes = [Outcome(g.hold, end) for g, end in zip(mixed, ends, strict=True)]
    settled = await t.jobs.settle(outcomes)
    expected = [JobState.DONE if isinstance(e, Done) else JobState.WAITING for e in ends]
    t.equal([one.state for one in settled], expected, "answers to settle")
    for grant in mixed[::100]:
        record = await t.get(grant.id)
        text = record.result if record.state is JobState.DONE else f'"{record.error}"'
        t.equal(text, f'"{grant.id}"', "result or error of a job of the batch")


@case("lease.batch")
async def empty_batches_are_empty_answers(t: Trial) -> None:
    t.equal(await t.jobs.extend([], LONG), (), "answer to extending nothing")
    t.equal(await t.jobs.settle([]), (), "answer to settling nothing")
