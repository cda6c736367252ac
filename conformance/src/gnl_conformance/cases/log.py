"""Appending events."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._trial import Trial
from gnl_core.spi import Appended, KnownEvent, Quarantine, TopicRefused


@case("log.once")
async def an_id_is_one_event_whatever_became_of_it(t: Trial) -> None:
    await t.emit(*events(4))
    acked, dead, _ = await t.deliver(3)
    await t.ack(acked)
    await t.end(dead, Quarantine("no"))
    for one in events(4):
        answer = await t.emit(event(one.id, payload='"second"'))
        t.equal(
            answer.known, (KnownEvent("null", None),), f"answer when {one.id} is appended again"
        )
    t.equal(event_ids(await t.deliver(9)), ["e4"], "events handed out after every id came again")
    t.equal(event_ids(await t.deliver(9, "late")), ["e1", "e2", "e3", "e4"], "the whole log")


@case("log.once")
async def two_calls_at_once_append_one_event(t: Trial) -> None:
    async with t.handle() as other:
        calls = [where.events.append([event("x")]) for where in (t.store, other) for _ in range(5)]
        answers = await asyncio.gather(*calls)
    created = [a for a in answers if isinstance(a, Appended) and a.known == (None,)]
    t.equal(len(created), 1, "calls that say that they appended the event")
    t.equal(event_ids(await t.deliver(9)), ["x"], "events with that id")


@case("log.known")
async def a_known_id_answers_with_its_first_content(t: Trial) -> None:
    await t.emit(event("x", "a", payload="[1]", key="k"), event("y", "a", payload="[2]"))
    answer = await t.emit(
        event("y", "a", payload="3", key="other"), event("new", "a"), event("x", "a")
    )
    t.equal(answer.known, (KnownEvent("[2]", None), None, KnownEvent("[1]", "k")), "answers")
    kept = [(g.id, g.payload, g.key) for g in await t.deliver(9)]
    expected = [("x", "[1]", "k"), ("y", "[2]", None), ("new", "null", None)]
    t.equal(kept, expected, "the events as they are kept")


@case("log.order")
async def events_stand_in_the_order_of_calls_and_within_a_call(t: Trial) -> None:
    names = [f"{n * 7 % 40}" for n in range(40)]
    await t.emit(*[event(name, "ab"[n % 2]) for n, name in enumerate(names)])
    await t.emit(event("last"))
    grants = await t.deliver(50)
    t.equal(event_ids(grants), [*names, "last"], "the order of handing out")
    positions = [grant.position for grant in grants]
    t.check(positions == sorted(set(positions)), f"positions in log order are {positions}")


@case("log.order")
async def an_event_lies_behind_all_that_were_handed_out(t: Trial) -> None:
    found = []
    for n in range(5):
        await t.emit(event(f"{n}"), event(f"{n}", topic="other"))
        grant = await t.deliver_one()
        found.append(grant.position)
        await t.ack(grant)
    t.check(found == sorted(set(found)), f"positions of events appended one by one: {found}")


@case("log.order")
async def an_empty_call_is_an_empty_answer(t: Trial) -> None:
    t.equal((await t.emit()).known, (), "answer to a call without events")


@case("log.atomic")
async def a_refused_call_writes_nothing(t: Trial) -> None:
    await t.emit(*events(2))
    call = [event("x", topic="free"), *events(4, "new")]
    answer = await t.events.append(call, max_depth=3)
    t.check(isinstance(answer, TopicRefused), f"a call over the limit was answered {answer}")
    t.equal(event_ids(await t.deliver(9)), ["e1", "e2"], "the log after a refused call")
    t.equal(await t.deliver(9, topic="free"), (), "the other topic of the refused call")


@case("log.atomic")
async def a_reader_sees_all_of_a_call_or_none(t: Trial) -> None:
    async with t.handle() as other:
        adding = asyncio.create_task(other.events.append(events(400)))
        seen = set()
        while not adding.done():
            seen.add(await _count(t))
            await asyncio.sleep(0)
        await adding
    t.check(seen <= {0, 400}, f"events in the log while 400 were appended: {sorted(seen)}")
    t.equal(await _count(t), 400, "events afterwards")


@case("log.atomic")
async def a_call_that_is_cut_short_appends_all_or_none(t: Trial) -> None:
    for turns in (0, 1, 2, 3, 4, 6, 8, 12, 20, 40):
        topic = f"cut after {turns}"
        async with t.handle() as other:
            adding = asyncio.create_task(other.events.append(events(200, topic=topic)))
            for _ in range(turns):
                await asyncio.sleep(0)
            adding.cancel()
            await asyncio.gather(adding, return_exceptions=True)
        found = await _count(t, topic)
        t.check(found in (0, 200), f"a call of 200 that was canceled left {found} events")


async def _count(t: Trial, topic: str = TOPIC) -> int:
    return next((one.events for one in await t.events.topics() if one.topic == topic), 0)


@case("log.bulk", time_limit=120)
async def one_call_appends_any_number_of_events(t: Trial) -> None:
    count = 12_000
    answer = await t.emit(*events(count))
    t.equal(answer.known, (None,) * count, "answers")
    t.equal(await _count(t), count, "events in the log")


@case("log.depth")
async def a_calls_own_events_count_and_known_ones_do_not(t: Trial) -> None:
    await t.emit(*events(60))
    refused = await t.events.append(events(41, "new"), max_depth=100)
    t.equal(refused, TopicRefused(TOPIC, None, 60, 41, 100), "answer to 41 events more")
    await t.emit(*events(60), *events(40, "new"), max_depth=100)
    refused = await t.events.append([event("more")], max_depth=100)
    t.equal(refused, TopicRefused(TOPIC, None, 100, 1, 100), "answer to one event over the limit")
    await t.emit(*events(60), max_depth=1)


@case("log.depth")
async def what_the_slowest_consumer_was_not_handed_counts(t: Trial) -> None:
    await t.emit(*events(10))
    await t.deliver(10, "fast")
    await t.deliver(4, "slow")
    refused = await t.events.append(events(3, "new"), max_depth=8)
    t.equal(refused, TopicRefused(TOPIC, None, 6, 3, 8), "answer with one consumer 6 behind")
    await t.deliver(6, "slow")
    await t.emit(*events(3, "new"), max_depth=3)


@case("log.depth")
async def organizations_and_topics_are_counted_by_themselves(t: Trial) -> None:
    for name in ("1", "2"):
        new = [event(name, org, topic) for org in (None, "a") for topic in (TOPIC, "other")]
        await t.emit(*new, max_depth=2)
    refused = await t.events.append([event("x", "b"), event("3", "a", "other")], max_depth=2)
    t.equal(refused, TopicRefused("other", "a", 2, 1, 2), "answer with one of them full")
    await t.deliver(9, CONSUMER, "other")
    await t.emit(event("3", "a", "other"), max_depth=1)
