"""Adding jobs."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, TYPE, Trial, ids, job, jobs
from gnl_conformance.cases._states import bring_to
from gnl_conformance.cases._texts import MEBIBYTE, NAMES, PAYLOADS
from gnl_core.spi import SECOND, Added, DepthRefused, JobState, Known, OneLane


@case("enqueue.once")
async def an_id_is_one_job_whatever_its_state(t: Trial) -> None:
    for state in JobState:
        name = f"job {state.value}"
        await bring_to(t, state, name)
        before = await t.get(name)
        await t.add(job(name, payload='"second"'))
        t.equal(await t.get(name), before, f"a {state.value} job after its id was added again")
    t.equal(await t.claim(10), (), "grants after every id was added again")


@case("enqueue.once")
async def two_calls_at_once_create_one_job(t: Trial) -> None:
    async with t.handle() as other:
        calls = [where.jobs.add([job("x")]) for where in (t.store, other) for _ in range(5)]
        answers = await asyncio.gather(*calls)
    created = [a for a in answers if isinstance(a, Added) and a.known == (None,)]
    t.equal(len(created), 1, "calls that say that they created the job")
    t.equal(len(await t.claim(10)), 1, "jobs with that id")


@case("enqueue.once")
async def an_id_is_free_in_another_organization(t: Trial) -> None:
    await t.add(job("x"))
    answer = await t.add(job("x", "a"), job("x", "b"))
    t.equal(answer.known, (None, None), "answers for one id in two more lanes")
    t.equal(len(await t.claim(10)), 3, "jobs granted")


@case("enqueue.known")
async def a_known_id_answers_with_its_first_content(t: Trial) -> None:
    for state in JobState:
        await bring_to(t, state, state.value, payload='{"first": 1}')
        answer = await t.add(job(state.value, type="other", payload="2"))
        t.equal(answer.known, (Known(TYPE, '{"first": 1}'),), f"answer for a {state.value} job")


@case("enqueue.order")
async def answers_stand_in_call_order(t: Trial) -> None:
    await t.add(job("b", payload='"b"'), job("d", "org", payload='"d"'))
    answer = await t.add(job("a"), job("d", "org"), job("b"), job("c"), job("b", "org"))
    expected = (None, Known(TYPE, '"d"'), Known(TYPE, '"b"'), None, None)
    t.equal(answer.known, expected, "answers")


@case("enqueue.order")
async def jobs_of_a_call_are_numbered_in_call_order(t: Trial) -> None:
    names = [f"{n * 7 % 40}" for n in range(40)]
    await t.add(*[job(name, "ab"[n % 2]) for n, name in enumerate(names)])
    await t.add(job("last"))
    seqs = [(await t.get(name, "ab"[n % 2])).seq for n, name in enumerate(names)]
    seqs.append((await t.get("last")).seq)
    t.check(seqs == sorted(set(seqs)), f"sequence numbers in call order are {seqs}")


@case("enqueue.order")
async def an_empty_call_is_an_empty_answer(t: Trial) -> None:
    t.equal((await t.add()).known, (), "answer to a call without jobs")


@case("enqueue.atomic")
async def a_refused_call_writes_nothing(t: Trial) -> None:
    await t.add(*jobs(2, "full"))
    answer = await t.jobs.add([job("x", "free"), *jobs(4, "full")], max_depth=3)
    t.check(isinstance(answer, DepthRefused), f"a call over the limit was answered {answer}")
    t.equal(await t.jobs.get("free", "x"), None, "a job of the refused call")
    t.equal(await t.jobs.depth("full"), 2, "depth after the refused call")


@case("enqueue.atomic")
async def a_reader_sees_all_of_a_call_or_none(t: Trial) -> None:
    async with t.handle() as other:
        adding = asyncio.create_task(other.jobs.add(jobs(400)))
        seen = set()
        while not adding.done():
            seen.add(await t.jobs.depth(None))
            await asyncio.sleep(0)
        await adding
    t.check(seen <= {0, 400}, f"depths while 400 jobs were being added: {sorted(seen)}")
    t.equal(await t.jobs.depth(None), 400, "depth afterwards")


@case("enqueue.atomic")
async def a_call_that_is_cut_short_adds_all_or_none(t: Trial) -> None:
    for turns in (0, 1, 2, 3, 4, 6, 8, 12, 20, 40):
        lane = f"cut after {turns}"
        async with t.handle() as other:
            adding = asyncio.create_task(other.jobs.add(jobs(200, lane)))
            for _ in range(turns):
                await asyncio.sleep(0)
            adding.cancel()
            await asyncio.gather(adding, return_exceptions=True)
        depth = await t.jobs.depth(lane)
        t.check(depth in (0, 200), f"a call of 200 that was canceled left {depth} jobs")


@case("enqueue.depth")
async def a_calls_own_jobs_count(t: Trial) -> None:
    await t.add(*jobs(60))
    refused = await t.jobs.add(jobs(41, prefix="new"), max_depth=100)
    t.equal(refused, DepthRefused(None, 60, 41, 100), "answer to 41 jobs more")
    await t.add(*jobs(40, prefix="new"), max_depth=100)
    t.equal(await t.jobs.depth(None), 100, "depth at the limit")
    refused = await t.jobs.add([job("one more")], max_depth=100)
    t.equal(refused, DepthRefused(None, 100, 1, 100), "answer to one job over the limit")


@case("enqueue.depth")
async def known_jobs_do_not_count(t: Trial) -> None:
    await t.add(*jobs(5))
    answer = await t.jobs.add([*jobs(5), job("new")], max_depth=6)
    t.check(isinstance(answer, Added), f"five known jobs and the sixth were answered {answer}")
    answer = await t.jobs.add(jobs(5), max_depth=0)
    t.check(isinstance(answer, Added), f"known jobs alone were answered {answer}")


@case("enqueue.depth")
async def each_organization_has_its_own_depth(t: Trial) -> None:
    await t.add(*jobs(3, "a"), *jobs(1, "b"), *jobs(3))
    await t.add(*jobs(2, "b", prefix="more"), max_depth=3)
    refused = await t.jobs.add([job("x", "c"), job("y", "a")], max_depth=3)
    t.equal(refused, DepthRefused("a", 3, 1, 3), "answer to one job too many for lane a")


@case("enqueue.depth")
async def running_jobs_count_and_finished_ones_do_not(t: Trial) -> None:
    for state in JobState:
        await bring_to(t, state, state.value)
    refused = await t.jobs.add([job("x")], max_depth=2)
    t.equal(refused, DepthRefused(None, 2, 1, 2), "answer with one waiting and one running")
    await t.add(job("x"), max_depth=3)


@case("enqueue.depth")
async def calls_at_once_do_not_pass_the_limit_together(t: Trial) -> None:
    async with t.handle() as other:
        calls = [
            where.jobs.add([job(f"{n}-{side}")], max_depth=3)
            for n in range(6)
            for side, where in enumerate((t.store, other))
        ]
        await asyncio.gather(*calls)
    t.equal(await t.jobs.depth(None), 3, "depth after twelve calls at once with max_depth=3")


@case("enqueue.names")
async def ids_are_told_apart_byte_for_byte(t: Trial) -> None:
    answer = await t.add(*[job(name, payload=f'"{n}"') for n, name in enumerate(NAMES)])
    t.equal(answer.known, (None,) * len(NAMES), "answers for different ids")
    for n, name in enumerate(NAMES):
        record = await t.get(name)
        t.equal((record.id, record.payload), (name, f'"{n}"'), "a job read by its id")
    t.equal(ids(await t.claim(100)), list(NAMES), "ids granted")


@case("enqueue.names")
async def organizations_are_told_apart_byte_for_byte(t: Trial) -> None:
    await t.add(*[job("x", name, payload=f'"{n}"') for n, name in enumerate(NAMES)])
    for n, name in enumerate(NAMES):
        page = await t.jobs.page(OneLane(name), None, 10)
        found = [(record.org_id, record.payload) for record in page.items]
        t.equal(found, [(name, f'"{n}"')], f"jobs listed for organization {name[:9]!r}")
        t.equal(await t.jobs.depth(name), 1, f"depth of organization {name[:9]!r}")
    t.equal(len(await t.jobs.lanes()), len(NAMES), "lanes")


@case("enqueue.names")
async def types_are_told_apart_byte_for_byte(t: Trial) -> None:
    await t.add(*[job(f"{n}", type=name) for n, name in enumerate(NAMES)])
    for n, name in enumerate(NAMES):
        found = [(grant.id, grant.type) for grant in await t.claim(5, name)]
        t.equal(found, [(f"{n}", name)], f"grants of type {name[:9]!r}")


@case("enqueue.names")
async def two_names_do_not_run_together(t: Trial) -> None:
    pairs = [("a", "b:c"), ("a:b", "c"), ("a/b", "c"), ("a", "b/c"), ("ab", "c"), ("a", "bc")]
    answer = await t.add(*[job(name, org) for org, name in pairs])
    t.equal(answer.known, (None,) * len(pairs), "answers for different pairs of names")


@case("enqueue.payload")
async def payloads_come_back_exactly(t: Trial) -> None:
    await t.add(*[job(f"{n}", payload=text) for n, text in enumerate(PAYLOADS)])
    grants = await t.claim(len(PAYLOADS))
    t.equal([grant.payload for grant in grants], list(PAYLOADS), "payloads granted")
    for n, text in enumerate(PAYLOADS):
        t.equal((await t.get(f"{n}")).payload, text, "a payload read back")


@case("enqueue.payload")
async def a_payload_of_one_mebibyte_comes_back_exactly(t: Trial) -> None:
    await t.add(job("big", payload=MEBIBYTE), job("small"))
    big = await t.claim_one()
    t.check(big.payload == MEBIBYTE, f"a payload of 1 MiB came back as {len(big.payload)} letters")
    answer = await t.add(job("big"))
    t.check(answer.known == (Known(TYPE, MEBIBYTE),), "the answer for the known id differs")


@case("enqueue.bulk", time_limit=180)
async def thirty_thousand_jobs_in_one_call(t: Trial) -> None:
    many = jobs(30_000)
    answer = await t.add(*many)
    t.check(answer.known == (None,) * 30_000, "30,000 new jobs were not all answered as new")
    t.equal(await t.jobs.depth(None), 30_000, "depth")
    t.equal(ids(await t.claim(100)), [one.id for one in many[:100]], "the first hundred")
    again = await t.add(*many[:-1], job("new"), many[-1])
    news = [n for n, known in enumerate(again.known) if known is None]
    t.equal(news, [29_999], "new jobs when the call is repeated with one more")


@case("enqueue.delay")
async def a_delayed_job_waits_for_the_stores_clock(t: Trial) -> None:
    await t.add(job("late", delay=t.tick), job("never", delay=LONG), job("now"))
    record = await t.get("late")
    t.equal(record.due_at, record.enqueued_at + t.tick, "when it falls due")
    for grant in await t.claim(5):
        early = grant.id != "now" and grant.granted_at < grant.due_at
        t.check(not early, f"{grant.id} was granted {grant.due_at - grant.granted_at} us early")
    await t.age(1.1)
    await t.claim(5)
    t.equal((await t.get("late")).state, JobState.RUNNING, "the job once its delay is over")
    t.equal((await t.get("never")).state, JobState.WAITING, "a job whose delay is not over")


@case("enqueue.delay")
async def run_at_is_an_instant_of_the_store(t: Trial) -> None:
    now = await t.store.now()
    await t.add(job("past", run_at=now - 60 * SECOND, delay=LONG), job("future", run_at=now + LONG))
    grant = await t.claim_one()
    t.equal((grant.id, grant.due_at), ("past", now - 60 * SECOND), "job due in the past")
    t.equal(await t.claim(), (), "grants of a job due later")
    t.equal((await t.get("future")).due_at, now + LONG, "when the other falls due")
