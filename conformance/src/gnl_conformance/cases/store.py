"""What all of a store shares, and what it can be asked."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rule import Part, keeps
from gnl_conformance._trial import LONG, Trial, ids, job, jobs
from gnl_conformance.cases._states import bring_to
from gnl_core.spi import (
    CLAIM_SWEEP_LIMIT,
    Capability,
    Dead,
    Done,
    JobState,
    Lane,
    OneLane,
    Retry,
    Store,
)

_FINISHED = (JobState.DONE, JobState.DEAD, JobState.CANCELED)


@case("store.organization")
async def organizations_do_not_touch_each_other(t: Trial) -> None:
    lanes = (None, "acme", "globex")
    await t.add(*[job("import:1", lane, payload=f'"{lane}"') for lane in lanes])
    t.equal(await t.jobs.cancel("acme", "import:1"), JobState.WAITING, "cancel in one lane")
    found = [(await t.get("import:1", lane)) for lane in lanes]
    states = [record.state.value for record in found]
    t.equal(states, ["waiting", "canceled", "waiting"], "states of one id in three lanes")
    t.equal([r.payload for r in found], ['"None"', '"acme"', '"globex"'], "payloads")
    t.equal([await t.jobs.depth(lane) for lane in lanes], [1, 0, 1], "depths")
    for grant in await t.claim(5):
        await t.settle(grant, Dead("no"))
    await t.jobs.revive("globex", "import:1")
    states = [(await t.get("import:1", lane)).state.value for lane in lanes]
    t.equal(states, ["dead", "canceled", "waiting"], "states after a revival in one lane")
    t.equal(await t.jobs.get("other", "import:1"), None, "the id in a lane without it")


@case("store.get")
async def a_job_is_read_as_it_is(t: Trial) -> None:
    t.equal(await t.jobs.get(None, "x"), None, "an unknown id")
    began = await t.store.now()
    await t.add(job("x", "a", "kind", "[1]", max_attempts=4))
    waiting = await t.get("x", "a")
    fixed = (waiting.id, waiting.org_id, waiting.type, waiting.payload, waiting.max_attempts)
    t.equal(fixed, ("x", "a", "kind", "[1]", 4), "the job as it was added")
    t.equal((waiting.state, waiting.attempts), (JobState.WAITING, 0), "its state")
    ended = await t.store.now()
    t.check(began <= waiting.enqueued_at <= ended, f"added at {waiting.enqueued_at}, not between")
    grant = await t.claim_one("kind", worker="w-7")
    running = await t.get("x", "a")
    seen = (running.state, running.worker, running.expires_at, running.seq, running.run_id)
    expected = (JobState.RUNNING, "w-7", grant.expires_at, grant.seq, grant.run_id)
    t.equal(seen, expected, "the running job")
    t.equal(grant.enqueued_at, waiting.enqueued_at, "when it was added, as granted")
    await t.settle(grant, Done("7"))
    done = await t.get("x", "a")
    seen_done = (done.state, done.worker, done.expires_at, done.result)
    t.equal(seen_done, (JobState.DONE, None, None, "7"), "the done job")


@case("store.depth")
async def depth_counts_live_jobs_of_one_lane(t: Trial) -> None:
    for state in JobState:
        await bring_to(t, state, state.value, "a")
    await t.add(*jobs(3, "b"), job("late", "b", delay=LONG), *jobs(2))
    t.equal([await t.jobs.depth(lane) for lane in ("a", "b", None, "c")], [2, 4, 2, 0], "depths")


@case("store.lanes")
async def lanes_are_counted_by_state_in_order(t: Trial) -> None:
    t.equal(await t.jobs.lanes(), (), "lanes of an empty store")
    names = ("b", "a", "\U0001f600", "\ufb00", "Z")
    for lane in names:
        await bring_to(t, JobState.RUNNING, "running", lane)
    await bring_to(t, JobState.DONE, "done", "finished only")
    for lane in names:
        await t.add(*jobs(2, lane), job("late", lane, delay=LONG))
    await t.add(job("late", delay=LONG))
    expected = [Lane(None, 0, 1, 0)]
    expected += [Lane(lane, 2, 1, 1) for lane in sorted(names, key=lambda name: name.encode())]
    t.equal(list(await t.jobs.lanes()), expected, "lanes")


@case("store.due")
async def a_claim_says_when_the_next_job_is_due(t: Trial) -> None:
    async def due_in(*types: str) -> int | None:
        return (await t.jobs.claim(types, 5, LONG, "w", max_attempts=5)).next_due_in

    t.equal(await due_in("x"), None, "with nothing delayed")
    await t.add(job("a", type="x", delay=LONG), job("b", type="y", delay=2 * LONG))
    began = await t.store.now()
    record = await t.get("a")
    found = await due_in("x", "y")
    ended = await t.store.now()
    due = record.due_at or 0
    inside = found is not None and due - ended <= found <= due - began
    t.check(inside, f"asked between {began} and {ended}, a job due at {due} is due in {found}")
    other = await due_in("y")
    t.check(other is not None and other > LONG, f"next due of the other type is in {other}")
    t.equal(await due_in("z"), None, "with nothing of the type delayed")
    await t.add(job("ready", type="z"))
    t.equal(await due_in("z"), None, "with a ready job and nothing delayed")


@case("store.due")
async def a_retried_job_is_delayed_as_well(t: Trial) -> None:
    await t.add(job("x"))
    await t.settle(await t.claim_one(), Retry(LONG, "again"))
    claimed = await t.jobs.claim(("work",), 5, LONG, "w", max_attempts=5)
    t.check(claimed.next_due_in is not None, "a retry is not announced as due")


@case("store.due")
async def a_claim_makes_so_many_delayed_jobs_ready_and_says_there_are_more(t: Trial) -> None:
    count = CLAIM_SWEEP_LIMIT + 5
    await t.add(*[job(f"{n}", delay=t.tick // 10) for n in range(count)])
    await t.age(0.2)
    first = await t.jobs.claim(("work",), 1, LONG, "w", max_attempts=5)
    t.equal(first.next_due_in, 0, f"until the next job is due, when {count} were due already")
    expected = (Lane(None, CLAIM_SWEEP_LIMIT - 1, 5, 1),)
    t.equal(await t.jobs.lanes(), expected, f"lanes after a claim found {count} jobs due")
    t.equal(len(await t.claim(count)), count - 1, "grants of the next claim")


@case("store.prune")
async def finished_jobs_are_pruned_by_age(t: Trial) -> None:
    for state in JobState:
        await bring_to(t, state, f"old {state.value}")
    await t.age(1.1)
    for state in _FINISHED:
        await bring_to(t, state, f"new {state.value}")
    t.equal(await t.jobs.prune([JobState.DONE], older_than=t.tick), 1, "done jobs pruned")
    t.equal(await t.jobs.prune(_FINISHED, older_than=t.tick), 2, "other finished jobs pruned")
    t.equal(await t.jobs.prune(_FINISHED, older_than=LONG), 0, "jobs pruned that are too young")
    left = sorted(ids(list((await t.jobs.page(OneLane(None), None, 50)).items)))
    expected = ["new canceled", "new dead", "new done", "old running", "old waiting"]
    t.equal(left, expected, "jobs left")
    t.equal(await t.jobs.prune(_FINISHED, older_than=0), 3, "jobs pruned of whatever age")


@case("store.prune")
async def finished_jobs_are_pruned_by_count(t: Trial) -> None:
    await t.add(*jobs(10))
    grants = await t.claim(10)
    order = [grants[n] for n in (3, 1, 4, 0, 5, 9, 2, 6, 8, 7)]
    for grant in order:
        await t.finish(grant)
        await t.age(0.02)
    t.equal(await t.jobs.prune(_FINISHED), 0, "jobs pruned without a bound")
    t.equal(await t.jobs.prune(_FINISHED, keep=3, limit=2), 2, "jobs pruned up to a limit")
    gone = [grant.id for grant in order if await t.jobs.get(None, grant.id) is None]
    t.equal(gone, ids(order[:2]), "jobs pruned first")
    t.equal(await t.jobs.prune(_FINISHED, keep=3), 5, "jobs pruned beyond the latest three")
    left = [grant.id for grant in order if await t.jobs.get(None, grant.id) is not None]
    t.equal(left, ids(order[7:]), "jobs kept")


@case("store.prune")
async def a_pruned_id_is_free_again(t: Trial) -> None:
    await bring_to(t, JobState.DONE, "x")
    first = await t.get("x")
    await t.jobs.prune([JobState.DONE], keep=0)
    t.equal(await t.jobs.get(None, "x"), None, "the pruned job")
    t.equal((await t.add(job("x"))).known, (None,), "the answer when its id is used again")
    again = await t.claim_one()
    t.check(again.seq > first.seq, f"sequence number {again.seq} after a pruned {first.seq}")
    t.check(again.run_id != first.run_id, "a new job has the run id of a pruned one")
    t.equal((await t.get("x")).failures, (), "failures of the new job")


@case("store.prune")
async def a_number_is_not_used_again_by_a_new_handle(t: Trial) -> None:
    await bring_to(t, JobState.DONE, "x")
    first = await t.get("x")
    await t.jobs.prune([JobState.DONE], keep=0)
    async with t.handle() as other:
        await other.jobs.add([job("y")])
    again = await t.get("y")
    t.check(again.seq > first.seq, f"sequence number {again.seq} after a pruned {first.seq}")


@case("store.clock")
async def the_clock_is_one_and_never_runs_back(t: Trial) -> None:
    async with t.handle() as other:
        reads = []
        for _ in range(20):
            reads += [await t.store.now(), await other.now()]
        t.check(reads == sorted(reads), f"the clock, read by two handles in turn, gave {reads}")
        before = await t.store.now()
        await t.add(job("x"))
        added = (await t.get("x")).enqueued_at
        after = await other.now()
        t.check(before <= added <= after, f"a job added between {before} and {after} has {added}")
        moved = await t.age(1)
        t.check(moved >= after, f"the clock ran from {after} to {moved}")


@case("store.sibling")
async def a_sibling_is_a_handle_of_its_own(t: Trial) -> None:
    await t.add(job("x"), job("y"))
    sibling = await t.store.sibling()
    grant = await t.claim_one()
    (kept,) = await sibling.jobs.extend([grant.hold], LONG)
    t.check(kept.expires_at is not None, "a sibling does not hold what the store holds")
    t.equal(ids(await t.claim(5, on=sibling)), ["y"], "grants to a sibling")
    await sibling.close()
    t.equal(await t.jobs.depth(None), 2, "depth as the store sees it after a sibling closed")


@case("store.sibling")
async def a_sibling_works_on_another_threads_loop(t: Trial) -> None:
    await t.add(job("x"))
    grant = await t.claim_one()

    def elsewhere() -> bool:
        async def extend() -> bool:
            sibling: Store = await t.store.inner.sibling()
            try:
                (answer,) = await sibling.jobs.extend([grant.hold], LONG)
                return answer.expires_at is not None
            finally:
                await sibling.close()

        return asyncio.run(extend())

    t.check(await asyncio.to_thread(elsewhere), "a hold was not kept from another thread")


@case("store.close")
async def a_second_close_does_nothing(t: Trial) -> None:
    async with t.harness.connect(t.space) as other:
        await other.now()
        await other.close()
        await other.close()
    await t.add(job("x"))
    t.equal(len(await t.claim(5)), 1, "grants by a handle after another was closed twice")


@case("store.schema")
async def an_upgrade_can_be_repeated_and_keeps_all_data(t: Trial) -> None:
    await t.add(*jobs(3))
    held = await t.claim_one()
    first = await t.store.schema()
    t.equal(first.found, first.needed, "schema found and needed after an upgrade")
    t.equal(await t.store.upgrade(), first, "the schema after a second upgrade")
    t.equal(await t.jobs.depth(None), 3, "depth after a second upgrade")
    t.equal(await t.settle(held, Done("1")), JobState.DONE, "a hold from before the upgrade")


@case("store.schema")
async def upgrades_at_once_agree(t: Trial) -> None:
    space = f"{t.space}race"
    try:
        versions = await asyncio.gather(*[_upgrade(t.harness, space) for _ in range(6)])
        t.check(len(set(versions)) == 1, f"six upgrades at once found {versions}")
    finally:
        await t.harness.drop(space)


async def _upgrade(harness: StoreConformance, space: str) -> tuple[int | None, int]:
    async with harness.connect(space) as store:
        version = await store.upgrade()
        await store.jobs.add([job("x")])
        return version.found, version.needed


@case("store.capabilities")
async def a_store_is_what_its_harness_declares(t: Trial) -> None:
    declared, true = frozenset(t.harness.capabilities), t.store.capabilities
    t.check(
        declared == true,
        f"the harness declares {_values(declared)}, the store says {_values(true)}",
    )


@case("store.capabilities")
async def a_store_keeps_the_parts_that_its_harness_declares(t: Trial) -> None:
    for part in Part:
        declared, kept = part in t.harness.parts, keeps(t.store.inner, part)
        name = part.value
        t.check(kept or not declared, f"the harness declares {name}, which the store has not")
        t.check(
            declared or not kept,
            f"the store has `{name}`, for which it is not graded: add {part} to `parts`",
        )


def _values(capabilities: frozenset[Capability]) -> list[str]:
    return sorted(one.value for one in capabilities)


@case("store.wake", needs=[Capability.WAKE_UPS])
async def a_listener_is_woken_by_a_new_job(t: Trial) -> None:
    woken = asyncio.Event()
    async with t.handle() as other:
        listening = asyncio.create_task(other.listen(woken.set))
        # A hint may be lost, most likely before the listener stands: so try more than once.
        for n in range(25):
            await t.add(job(f"{n}"))
            await asyncio.wait([asyncio.create_task(woken.wait())], timeout=0.2)
            if woken.is_set() or listening.done():
                break
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    t.check(woken.is_set(), "no hint arrived after any of many adds")


@case("store.wake")
async def a_handle_that_heard_no_hint_finds_the_work(t: Trial) -> None:
    async with t.handle() as other:
        t.equal(await t.claim(5, on=other), (), "grants of an empty store")
        await t.add(job("x"))
        t.equal(ids(await t.claim(5, on=other)), ["x"], "grants without a hint")
