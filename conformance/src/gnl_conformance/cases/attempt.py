"""What an attempt counts, and how a job ends."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, Trial, ids, job, jobs
from gnl_conformance.cases._states import VERDICTS, bring_to
from gnl_conformance.cases._texts import MEBIBYTE, PAYLOADS
from gnl_core.spi import LEASE_EXPIRED, Dead, Done, HoldState, JobState, Release, Retry


@case("attempt.bounded")
async def an_attempt_counts_when_it_is_claimed(t: Trial) -> None:
    await t.add(job("x"))
    for n in (1, 2, 3):
        grant = await t.claim_one(max_attempts=9)
        t.equal(grant.attempt, n, "attempt of the grant")
        t.equal((await t.get("x")).attempts, n, "attempts while it runs")
        await t.settle(grant, Retry(0, "again"))


@case("attempt.bounded")
async def a_job_whose_workers_die_is_buried(t: Trial) -> None:
    await t.add(job("x"))
    for n in (1, 2):
        grant = await t.claim_one(ttl=t.tick, max_attempts=2)
        t.equal(grant.attempt, n, "attempt of the grant")
        await t.age(1.1)
    t.equal(await t.claim(5, max_attempts=2), (), "grants after the last attempt's lease ran out")
    record = await t.get("x")
    t.equal(record.state, JobState.DEAD, "the job after its last attempt")
    t.equal(record.error, LEASE_EXPIRED, "its error")
    found = [(f.attempt, f.error) for f in record.failures]
    t.equal(found, [(1, LEASE_EXPIRED), (2, LEASE_EXPIRED)], "its failures")
    t.check(record.finished_at is not None, "a buried job has no instant at which it finished")
    t.equal(await t.jobs.depth(None), 0, "live jobs")


@case("attempt.budget")
async def a_jobs_own_budget_counts_before_the_claims(t: Trial) -> None:
    await t.add(job("own", max_attempts=1), job("claim's"))
    budgets = {g.id: g.max_attempts for g in await t.claim(2, ttl=t.tick, max_attempts=3)}
    t.equal(budgets, {"own": 1, "claim's": 3}, "budgets granted")
    await t.age(1.1)
    t.equal(ids(await t.claim(5, max_attempts=3)), ["claim's"], "grants after both leases ran out")
    t.equal((await t.get("own")).state, JobState.DEAD, "the job with one attempt of its own")


@case("attempt.budget")
async def a_lease_is_judged_by_the_budget_it_was_granted_with(t: Trial) -> None:
    await t.add(job("x"))
    await t.claim_one(ttl=t.tick, max_attempts=1)
    await t.age(1.1)
    t.equal(await t.claim(5, max_attempts=9), (), "grants by a claim with a larger budget")
    t.equal((await t.get("x")).state, JobState.DEAD, "the job")


@case("attempt.retry")
async def a_retry_waits_for_its_delay(t: Trial) -> None:
    await t.add(job("soon"), job("late"), job("at once"))
    soon, late, at_once = await t.claim(3)
    before = await t.store.now()
    t.equal(await t.settle(soon, Retry(t.tick, "again")), JobState.WAITING, "a retried job")
    await t.settle(late, Retry(LONG, "again"))
    await t.settle(at_once, Retry(0, "again"))
    due = (await t.get("soon")).due_at or 0
    t.check(due >= before + t.tick, f"a retry after {t.tick} at {before} is due at {due}")
    for grant in await t.claim(5):
        t.check(grant.granted_at >= grant.due_at, f"{grant.id} was granted before it was due")
    await t.age(1.1)
    await t.claim(5)
    states = [(await t.get(name)).state.value for name in ("soon", "late", "at once")]
    t.equal(states, ["running", "waiting", "running"], "states when one delay is over")


@case("attempt.release")
async def a_release_gives_the_attempt_back(t: Trial) -> None:
    await t.add(job("x", max_attempts=1))
    for _ in range(3):
        grant = await t.claim_one()
        t.equal(grant.attempt, 1, "attempt after releases")
        t.equal(await t.settle(grant, Release()), JobState.WAITING, "a released job")
    record = await t.get("x")
    t.equal((record.attempts, record.failures, record.error), (0, (), None), "what is left of it")
    await t.settle(await t.claim_one(), Release(LONG))
    t.equal(await t.claim(5), (), "grants of a job released with a delay")


@case("attempt.dead")
async def a_job_declared_dead_is_dead_at_once(t: Trial) -> None:
    await t.add(job("x", max_attempts=9))
    t.equal(await t.settle(await t.claim_one(), Dead("broken")), JobState.DEAD, "the settlement")
    record = await t.get("x")
    t.equal((record.state, record.error), (JobState.DEAD, "broken"), "state and error")
    t.equal([f.error for f in record.failures], ["broken"], "failures")
    t.equal(await t.claim(5), (), "grants of a dead job")


@case("attempt.cancel")
async def a_canceled_waiting_job_never_starts(t: Trial) -> None:
    await t.add(job("ready"), job("late", delay=t.tick), job("other"))
    for name in ("ready", "late"):
        t.equal(await t.jobs.cancel(None, name), JobState.WAITING, f"cancel of the {name} job")
        t.equal((await t.get(name)).state, JobState.CANCELED, f"state of the {name} job")
    await t.age(1.1)
    t.equal(ids(await t.claim(5)), ["other"], "grants")
    t.equal(await t.jobs.cancel(None, "ready"), JobState.CANCELED, "a second cancel")
    t.equal(await t.jobs.cancel(None, "unknown"), None, "cancel of an unknown id")
    t.equal(await t.jobs.depth(None), 1, "live jobs")


@case("attempt.cancel")
async def a_holder_learns_that_its_job_was_canceled(t: Trial) -> None:
    await t.add(job("x"))
    grant = await t.claim_one()
    t.equal(await t.jobs.cancel(None, "x"), JobState.RUNNING, "cancel of a running job")
    record = await t.get("x")
    seen = (record.state, record.cancel_requested)
    t.equal(seen, (JobState.RUNNING, True), "state of a running job that was canceled")
    (answer,) = await t.jobs.extend([grant.hold], LONG)
    t.equal(answer.state, HoldState.CANCELED, "answer to its holder")
    t.check(answer.expires_at is not None, "the hold of a canceled job was not kept")
    t.equal(await t.claim(5), (), "grants of a canceled job that is held")


@case("attempt.cancel")
async def a_late_result_of_a_canceled_job_is_discarded(t: Trial) -> None:
    for n, verdict in enumerate(VERDICTS):
        await t.add(job(f"{n}"))
        grant = await t.claim_one()
        await t.jobs.cancel(None, f"{n}")
        found = await t.settle(grant, verdict)
        t.equal(found, JobState.CANCELED, f"settling a canceled job by {verdict}")
        record = await t.get(f"{n}")
        kept = (record.state, record.result, record.cancel_requested)
        t.equal(kept, (JobState.CANCELED, None, False), f"the job after {verdict}")
        t.equal(await t.claim(5), (), f"grants after a canceled job was settled by {verdict}")


@case("attempt.cancel")
async def a_canceled_job_whose_holder_dies_is_canceled(t: Trial) -> None:
    await t.add(job("x"))
    await t.claim_one(ttl=t.tick)
    await t.jobs.cancel(None, "x")
    await t.age(1.1)
    t.equal(await t.claim(5), (), "grants of a canceled job whose holder died")
    t.equal((await t.get("x")).state, JobState.CANCELED, "the job")


@case("attempt.cancel")
async def a_finished_job_is_left_alone(t: Trial) -> None:
    for state in (JobState.DONE, JobState.DEAD, JobState.CANCELED):
        await bring_to(t, state, state.value)
        before = await t.get(state.value)
        t.equal(await t.jobs.cancel(None, state.value), state, f"cancel of a {state.value} job")
        t.equal(await t.get(state.value), before, f"a {state.value} job after a cancel")


@case("attempt.cancel")
async def cancel_and_completion_at_once_agree(t: Trial) -> None:
    await t.add(*jobs(20))
    grants = await t.claim(20)
    async with t.handle() as other:
        for grant in grants:
            found, state = await asyncio.gather(
                other.jobs.cancel(None, grant.id), t.settle(grant, Done("1"))
            )
            end = (await t.get(grant.id)).state
            canceled = found is JobState.RUNNING
            t.equal(end, JobState.CANCELED if canceled else JobState.DONE, "the job's end")
            t.equal(state, end, "what the settlement answered")


@case("attempt.revive")
async def a_dead_job_is_revived_in_place(t: Trial) -> None:
    await t.add(job("x", "a", max_attempts=2))
    run_id = ""
    for error in ("first", "second"):
        grant = await t.claim_one()
        run_id = grant.run_id
        await t.settle(grant, Retry(0, error) if error == "first" else Dead(error))
    dead = await t.get("x", "a")
    t.equal(await t.jobs.revive("a", "x"), JobState.DEAD, "answer to the first call")
    t.equal(await t.jobs.revive("a", "x"), JobState.WAITING, "answer to the second call")
    record = await t.get("x", "a")
    seen = (record.seq, record.state, record.attempts, record.finished_at)
    t.equal(seen, (dead.seq, JobState.WAITING, 0, None), "the job")
    t.equal(record.failures, dead.failures, "its history")
    again = await t.claim_one()
    fresh = (again.run_id, again.attempt, again.max_attempts)
    t.equal(fresh, (run_id, 1, 2), "run, attempt and budget of its next grant")
    t.check(not again.reclaimed, "a revived job was called reclaimed")


@case("attempt.revive")
async def only_dead_jobs_are_revived(t: Trial) -> None:
    for state in (JobState.WAITING, JobState.RUNNING, JobState.DONE, JobState.CANCELED):
        await bring_to(t, state, state.value)
        before = await t.get(state.value)
        t.equal(await t.jobs.revive(None, state.value), state, f"revival of a {state.value} job")
        t.equal(await t.get(state.value), before, f"a {state.value} job after a revival")
    t.equal(await t.jobs.revive(None, "unknown"), None, "revival of an unknown id")


@case("attempt.revive")
async def revivals_at_once_revive_once(t: Trial) -> None:
    await bring_to(t, JobState.DEAD, "x")
    async with t.handle() as other:
        calls = [where.jobs.revive(None, "x") for where in (t.store, other) for _ in range(4)]
        answers = await asyncio.gather(*calls)
    t.equal(answers.count(JobState.DEAD), 1, "calls that revived the job")
    t.equal(await t.jobs.depth(None), 1, "live jobs")
    t.equal(len(await t.claim(5)), 1, "grants")


@case("attempt.history")
async def every_failure_is_kept_in_order(t: Trial) -> None:
    await t.add(job("x", max_attempts=9))
    errors = ["one", "", "O'Re\"illy \\ %s", "\U0001f600 \u00e1\n" * 500]
    began = await t.store.now()
    for error in errors:
        await t.settle(await t.claim_one(), Retry(0, error))
    await t.settle(await t.claim_one(), Dead("last"))
    ended = await t.store.now()
    record = await t.get("x")
    found = [(f.attempt, f.error) for f in record.failures]
    t.equal(found, list(enumerate([*errors, "last"], start=1)), "failures")
    times = [f.failed_at for f in record.failures]
    inside = times == sorted(times) and began <= times[0] <= times[-1] <= ended
    t.check(inside, f"failures between {began} and {ended} are dated {times}")
    t.equal(record.error, "last", "the last error")


@case("attempt.history")
async def a_success_records_no_failure(t: Trial) -> None:
    await t.add(job("x"))
    await t.settle(await t.claim_one(), Retry(0, "once"))
    await t.settle(await t.claim_one(), Done("1"))
    found = [f.error for f in (await t.get("x")).failures]
    t.equal(found, ["once"], "failures of a job that came through")


@case("attempt.result")
async def results_come_back_exactly(t: Trial) -> None:
    for n, text in enumerate((*PAYLOADS, MEBIBYTE)):
        await t.add(job(f"{n}"))
        t.equal(await t.settle(await t.claim_one(), Done(text)), JobState.DONE, "the settlement")
        record = await t.get(f"{n}")
        t.check(record.result == text, f"result {text[:60]!r} came back as {record.result!r:.99}")
        t.check(record.finished_at is not None, "a done job has no instant at which it finished")


@case("attempt.run")
async def every_attempt_has_the_jobs_run_id(t: Trial) -> None:
    await t.add(job("x", max_attempts=9), job("y", "a"), job("x", "a"))
    runs = {}
    for grant in await t.claim(3):
        runs[grant.org_id, grant.id] = grant.run_id
        await t.settle(grant, Retry(0, "again"))
    t.equal(len(set(runs.values())), 3, "run ids of three jobs")
    for grant in await t.claim(3, ttl=t.tick):
        t.equal(grant.run_id, runs[grant.org_id, grant.id], "run id after a retry")
    await t.age(1.1)
    for grant in await t.claim(3):
        t.equal(grant.run_id, runs[grant.org_id, grant.id], "run id after a reclaim")
        t.equal((await t.get(grant.id, grant.org_id)).run_id, grant.run_id, "run id as read")
