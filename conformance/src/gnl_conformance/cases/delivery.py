"""Who is handed which events, and what a grant says."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_conformance._violation import NotApplicable
from gnl_core.spi import Ack, Edge, EventOutcome, Quarantine, Release, Retry, Start


@case("delivery.each")
async def every_consumer_is_handed_every_event(t: Trial) -> None:
    await t.emit(*events(5))
    expected = [f"e{n}" for n in range(1, 6)]
    for consumer in ("a", "b", "c"):
        grants = await t.deliver(9, consumer)
        t.equal(event_ids(grants), expected, f"events handed out to {consumer!r}")
        await t.ack(*grants)
    await t.emit(event("more"))
    for consumer in ("c", "a", "b"):
        t.equal(event_ids(await t.deliver(9, consumer)), ["more"], f"then, to {consumer!r}")


@case("delivery.each")
async def consumers_do_not_move_each_other(t: Trial) -> None:
    await t.emit(*events(4))
    await t.ack(*await t.deliver(4, "fast"))
    await t.end(await t.deliver_one("slow"), Retry(LONG, "again"))
    t.equal(await t.owed("fast"), (0, 0, 0, 0), "what the fast one owes")
    t.equal(await t.owed("slow"), (3, 0, 1, 0), "what the slow one owes")
    t.equal(event_ids(await t.deliver(9, "slow")), ["e2", "e3", "e4"], "the slow one's next")


@case("delivery.shared")
async def handles_of_one_consumer_share_its_events(t: Trial) -> None:
    await t.emit(*events(60))
    found: list[str] = []
    async with t.handle() as b, t.handle() as c:
        for _ in range(10):
            for where in (t.store, b, c):
                grants = await t.deliver(2, on=where)
                await where.events.settle([EventOutcome(grant.hold, Ack()) for grant in grants])
                found += event_ids(grants)
    t.equal(found, [f"e{n}" for n in range(1, 61)], "events that three handles were handed in turn")


@case("delivery.shared")
async def handles_at_once_share_all_events(t: Trial) -> None:
    await t.emit(*events(120))
    async with t.handle() as b, t.handle() as c:
        calls = [t.deliver(7, on=where) for _ in range(4) for where in (t.store, b, c)]
        found = [event_ids(grants) for grants in await asyncio.gather(*calls)]
    found.append(event_ids(await t.deliver(120)))
    every = sorted(one for ids in found for one in ids)
    t.equal(every, sorted(one.id for one in events(120)), "events handed out, in all")


@case("delivery.shared")
async def a_consumer_is_registered_once(t: Trial) -> None:
    await t.emit(event("x"))
    async with t.handle() as b, t.handle() as c:
        calls = [t.deliver(1, on=where) for _ in range(4) for where in (t.store, b, c)]
        found = [one.id for grants in await asyncio.gather(*calls) for one in grants]
    t.equal(found, ["x"], "events handed out by twelve first calls at once")
    t.equal(len(await t.events.consumers()), 1, "consumers registered by them")


@case("delivery.limit")
async def a_delivery_holds_as_many_as_its_limit(t: Trial) -> None:
    await t.emit(*events(50))
    for limit in (1, 20, 3):
        t.equal(len(await t.deliver(limit)), limit, f"events of a delivery of up to {limit}")
    t.equal(len(await t.deliver(50)), 26, "events of the last delivery")
    t.equal(await t.deliver(50), (), "events handed out while all are held")


@case("delivery.start")
async def a_consumer_begins_where_it_is_told_to(t: Trial) -> None:
    await t.emit(*events(5))
    third = (await t.deliver(5, "probe"))[2].position
    starts: dict[str, Start] = {
        "first": Edge.EARLIEST,
        "last": Edge.LATEST,
        "behind": third,
        "beyond": 10**15,
    }
    expected = {"first": ["e1", "e2", "e3", "e4", "e5"], "behind": ["e4", "e5"]}
    for name, start in starts.items():
        found = event_ids(await t.deliver(9, name, start=start))
        t.equal(found, expected.get(name, []), f"events from {start}")
    await t.emit(event("new"))
    for name in ("first", "last", "behind"):
        t.equal(event_ids(await t.deliver(9, name)), ["new"], f"the next for {name!r}")
    t.equal(await t.deliver(9, "beyond"), (), "events before a start that lies ahead")


@case("delivery.start")
async def a_start_is_looked_at_only_once(t: Trial) -> None:
    t.equal(await t.deliver(1, start=Edge.LATEST), (), "events of an empty topic")
    await t.emit(*events(3))
    t.equal(event_ids(await t.deliver(1, start=Edge.LATEST)), ["e1"], "the first since the start")
    async with t.handle() as other:
        found = event_ids(await t.deliver(9, start=Edge.LATEST, on=other))
    t.equal(found, ["e2", "e3"], "the rest, by another handle that says `latest` again")
    t.equal(await t.deliver(9, start=Edge.EARLIEST), (), "events when `earliest` is said later")


@case("delivery.acked")
async def an_unacked_event_among_acked_ones_comes_again(t: Trial) -> None:
    await t.emit(*events(5))
    grants = await t.deliver(5, ttl=t.tick)
    await t.ack(*[grants[n] for n in (4, 2, 3, 0)])
    await t.age(1.1)
    t.equal(event_ids(await t.deliver(9)), ["e2"], "handed out again after acks out of order")
    t.equal(await t.owed(), (0, 1, 0, 0), "what is owed")


@case("delivery.acked")
async def an_acked_event_never_comes_again(t: Trial) -> None:
    await t.emit(*events(3))
    held = await t.deliver(3, ttl=t.tick)
    for grant in held:
        await t.ack(grant)
    await t.age(1.1)
    async with t.handle() as other:
        t.equal(await t.deliver(9, on=other), (), "handed out after all were acked")
    t.equal(await t.owed(), (0, 0, 0, 0), "what is owed")


@case("delivery.grant")
async def a_grant_says_what_was_appended(t: Trial) -> None:
    began = await t.store.now()
    await t.emit(event("x", "a", payload='{"n": 1}', key="k"))
    ended = await t.store.now()
    await t.age(0.1)
    before = await t.store.now()
    grant = await t.deliver_one(ttl=LONG, max_attempts=3)
    after = await t.store.now()
    said = (grant.id, grant.org_id, grant.topic, grant.key, grant.payload)
    t.equal(said, ("x", "a", TOPIC, "k", '{"n": 1}'), "the event as granted")
    counted = (grant.attempt, grant.max_attempts, grant.reclaimed)
    t.equal(counted, (1, 3, False), "attempt, budget and whether it was reclaimed")
    inside = began <= grant.emitted_at <= ended and before <= grant.granted_at <= after
    t.check(inside, f"emitted at {grant.emitted_at}, granted at {grant.granted_at}")
    t.equal(grant.expires_at, grant.granted_at + LONG, "the end of the lease")
    t.check(grant.due_at <= grant.granted_at, f"due at {grant.due_at}, after it was granted")
    t.equal((await t.deliver_one("other", max_attempts=None)).max_attempts, None, "no budget")


@case("delivery.run")
async def a_run_is_one_event_for_one_consumer(t: Trial) -> None:
    await t.emit(event("x"), event("y"), event("x", "a"), event("x", topic="other"))
    runs = [g.run_id for name in ("a", "b") for g in await t.deliver(9, name)]
    runs += [g.run_id for g in await t.deliver(9, "a", "other")]
    t.equal(len(set(runs)), 7, f"different runs among {runs}")
    t.check(all(runs), f"an empty run id among {runs}")


@case("delivery.run")
async def every_attempt_has_the_same_run_until_a_rewind(t: Trial) -> None:
    await t.emit(event("x"))
    runs = []
    for verdict in (Retry(0, "again"), Release(), Quarantine("no")):
        grant = await t.deliver_one()
        runs.append(grant.run_id)
        await t.end(grant, verdict)
    await t.release("x")
    runs += [(await t.deliver_one(ttl=t.tick)).run_id]
    await t.age(1.1)
    runs += [(await t.deliver_one()).run_id]
    t.equal(len(set(runs)), 1, f"different runs among those of five attempts: {runs}")
    await t.events.rewind(TOPIC, CONSUMER, Edge.EARLIEST)
    again = await t.deliver_one()
    t.check(again.run_id not in runs, "an event has its old run id after a rewind")


@case("delivery.due")
async def a_delivery_says_when_the_next_event_is_due(t: Trial) -> None:
    t.equal(await _due_in(t), None, "until the next is due, with nothing there")
    await t.emit(*events(4))
    t.equal(await _due_in(t, limit=1), 0, "with new events left behind")
    held = await t.deliver(3)
    t.equal(await _due_in(t), None, "with all held")
    began = await t.store.now()
    await t.end(held[0], Retry(LONG, "again"))
    await t.end(held[1], Retry(2 * LONG, "again"))
    await t.end(held[2], Quarantine("no"))
    asked = await t.store.now()
    found = await _due_in(t)
    late = await t.store.now()
    inside = found is not None and LONG - (late - began) <= found <= LONG
    t.check(inside, f"a retry after {LONG}, asked for by {asked - began} later, is due in {found}")


@case("delivery.due")
async def what_was_given_back_is_due_at_once(t: Trial) -> None:
    await t.emit(*events(2))
    for grant in await t.deliver(2):
        await t.end(grant, Release())
    t.equal(await _due_in(t, limit=1), 0, "until the next is due, with one more given back")
    t.equal(await _due_in(t), None, "once that is held again")


@case("delivery.due")
async def what_waits_for_its_key_is_not_due(t: Trial) -> None:
    await t.emit(*[event(f"{n}", key="k") for n in (1, 2)])
    t.equal(await _due_in(t, by_key=True), None, "while one is held and one waits for it")
    t.equal(await t.owed(), (0, 1, 1, 0), "what is owed then")


async def _due_in(t: Trial, limit: int = 9, *, by_key: bool = False) -> int | None:
    answer = await t.events.deliver(
        TOPIC,
        CONSUMER,
        limit,
        LONG,
        "w",
        max_attempts=5,
        start=Edge.EARLIEST,
        by_key=by_key,
    )
    return answer.next_due_in


@case("delivery.poll", time_limit=120)
async def calls_cost_the_same_however_many_failed(t: Trial) -> None:
    if not hasattr(t.store.inner, "statements"):
        raise NotApplicable("the store has no `statements`, which would count its round trips")
    await t.emit(*events(1))
    await t.end(await t.deliver_one(), Quarantine("no"))
    few = await _cost_of_calls(t)
    await t.emit(*events(400, "more"))
    for n, grant in enumerate(await t.deliver(400)):
        await t.end(grant, Quarantine("no") if n % 2 else Retry(LONG, "again"))
    many = await _cost_of_calls(t)
    t.check(many <= few, f"calls took {few} statements, with 400 failed events {many}")


async def _cost_of_calls(t: Trial) -> int:
    """Of a delivery of nothing and the first page of the quarantine: the least of several.

    A store may send a hint in between, which is not what the calls cost.
    """
    await t.deliver(9)
    return min([await _cost_once(t) for _ in range(5)])


async def _cost_once(t: Trial) -> int:
    before = int(t.store.inner.statements)  # type: ignore[attr-defined] # asked for by the caller
    t.equal(await t.deliver(9), (), "events of a delivery of nothing")
    await t.events.dead(TOPIC, CONSUMER, None, 1)
    return int(t.store.inner.statements) - before  # type: ignore[attr-defined] # as above
