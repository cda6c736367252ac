"""Holding an event: who may, until when, and what a stale holder can do."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_core.spi import (
    DELIVER_LOOK_LIMIT,
    Ack,
    DeliveryState,
    EventGrant,
    EventHold,
    EventOutcome,
    EventVerdict,
    HoldState,
    Quarantine,
    Release,
    Retry,
)

_VERDICTS: tuple[EventVerdict, ...] = (Ack(), Retry(0, "late"), Quarantine("late"), Release())


@case("delivery.exclusive")
async def a_live_lease_is_not_granted_twice(t: Trial) -> None:
    await t.emit(*events(3))
    held = await t.deliver(2)
    async with t.handle() as other:
        found = event_ids(await t.deliver(9, on=other))
        t.equal(found, ["e3"], "handed out while two are held")
        await t.age(0.5)
        t.equal(await t.deliver(9, on=other), (), "handed out while all are held")
    answers = await t.events.extend([grant.hold for grant in held], LONG)
    t.equal([a.state for a in answers], [HoldState.KEPT] * 2, "holds after other deliveries")


@case("delivery.exclusive")
async def deliveries_at_once_share_no_event(t: Trial) -> None:
    await t.emit(*events(60))
    async with t.handle() as b, t.handle() as c:
        calls = [t.deliver(5, on=where) for _ in range(6) for where in (t.store, b, c)]
        found = [one.id for grants in await asyncio.gather(*calls) for one in grants]
    found += event_ids(await t.deliver(60))
    twice = sorted({one for one in found if found.count(one) > 1})
    t.check(not twice, f"granted more than once while leased: {twice}")


async def _taken_over(t: Trial) -> tuple[EventGrant, EventGrant]:
    """An event whose first lease ran out and that somebody else holds now."""
    await t.emit(event("x"))
    stale = await t.deliver_one(ttl=t.tick)
    await t.age(1.1)
    return stale, await t.deliver_one()


@case("delivery.fenced")
async def a_stale_token_changes_nothing(t: Trial) -> None:
    stale, fresh = await _taken_over(t)
    (answer,) = await t.events.extend([stale.hold], 2 * LONG)
    t.equal((answer.state, answer.expires_at), (HoldState.LOST, None), "a stale extension")
    for verdict in _VERDICTS:
        t.equal(await t.end(stale, verdict), None, f"a stale settlement by {verdict}")
        t.equal(await t.owed(), (0, 1, 0, 0), f"what is owed after a stale {verdict}")
    t.equal(await t.end(fresh, Ack()), DeliveryState.ACKED, "the fresh settlement")


@case("delivery.fenced")
async def a_settled_hold_is_lost(t: Trial) -> None:
    for n, verdict in enumerate(_VERDICTS):
        topic = f"t{n}"
        await t.emit(event("x", topic=topic))
        grant = await t.deliver_one(topic=topic)
        await t.end(grant, verdict)
        before = await t.owed(topic=topic)
        for second in _VERDICTS:
            t.equal(await t.end(grant, second), None, f"a settlement by {second} after {verdict}")
        (answer,) = await t.events.extend([grant.hold], LONG)
        t.equal(answer.state, HoldState.LOST, f"an extension after {verdict}")
        t.equal(await t.owed(topic=topic), before, f"what is owed, after writes behind {verdict}")


@case("delivery.fenced")
async def a_hold_is_one_consumers_and_one_positions(t: Trial) -> None:
    await t.emit(*events(2))
    one, two = await t.deliver(2)
    other = await t.deliver_one("other")
    wrong = [
        EventHold(one.consumer, one.position, one.token + 999),
        EventHold(one.consumer, one.position, 0),
        EventHold(one.consumer, two.position + 999, two.token),
        EventHold(one.consumer + other.consumer + 999, one.position, one.token),
    ]
    if one.token != two.token:
        wrong.append(EventHold(one.consumer, one.position, two.token))
    if one.token != other.token:
        wrong.append(EventHold(other.consumer, other.position, one.token))
    settled = await t.events.settle([EventOutcome(hold, Ack()) for hold in wrong])
    t.equal([s.state for s in settled], [None] * len(wrong), "settlements with wrong tokens")
    answers = await t.events.extend(wrong, LONG)
    t.equal({a.state for a in answers}, {HoldState.LOST}, "extensions with wrong tokens")
    t.equal(await t.owed(), (0, 2, 0, 0), "what is owed then")


@case("delivery.fenced")
async def settlers_at_once_end_a_hold_once(t: Trial) -> None:
    await t.emit(*events(10))
    grants = await t.deliver(10)
    async with t.handle() as other:
        calls = [
            where.events.settle([EventOutcome(grant.hold, Retry(LONG, f"{n}")) for grant in grants])
            for n, where in enumerate((t.store, other) * 3)
        ]
        answers = await asyncio.gather(*calls)
    applied = [s.state for answer in answers for s in answer if s.state is not None]
    t.equal(len(applied), 10, "settlements applied, for ten holds settled six times at once")


@case("delivery.token")
async def tokens_grow_over_every_way_back(t: Trial) -> None:
    await t.emit(event("x"))
    tokens = []
    for verdict in (Retry(0, "again"), Release(), Quarantine("no")):
        grant = await t.deliver_one()
        tokens.append(grant.token)
        await t.end(grant, verdict)
    await t.release("x")
    tokens.append((await t.deliver_one(ttl=t.tick)).token)
    await t.age(1.1)
    tokens.append((await t.deliver_one()).token)
    await t.events.rewind(TOPIC, CONSUMER, 0)
    tokens.append((await t.deliver_one()).token)
    t.check(tokens == sorted(set(tokens)), f"tokens of one event, in order of grants: {tokens}")


@case("delivery.held")
async def an_expired_lease_that_nobody_ended_is_still_held(t: Trial) -> None:
    await t.emit(*events(2))
    one, two = await t.deliver(2, ttl=t.tick)
    await t.age(1.1)
    (answer,) = await t.events.extend([one.hold], LONG)
    t.equal(answer.state, HoldState.KEPT, "extension of an expired lease nobody ended")
    t.equal(await t.end(two, Ack()), DeliveryState.ACKED, "settlement of the other")
    t.equal(await t.deliver(9), (), "handed out then")


@case("delivery.held")
async def another_consumers_delivery_ends_no_lease(t: Trial) -> None:
    await t.emit(event("x"))
    grant = await t.deliver_one("a", ttl=t.tick)
    await t.age(1.1)
    await t.deliver(9, "b")
    t.equal(await t.end(grant, Ack()), DeliveryState.ACKED, "an expired hold after another's call")


@case("delivery.batch")
async def each_hold_of_a_batch_is_answered_by_itself(t: Trial) -> None:
    await t.emit(*events(4))
    a, b, c, d = await t.deliver(4)
    await t.ack(b)
    extended = await t.events.extend([b.hold, d.hold, a.hold], LONG)
    kept, lost = HoldState.KEPT, HoldState.LOST
    t.equal([one.state for one in extended], [lost, kept, kept], "answers to extend")
    verdicts: list[tuple[EventGrant, EventVerdict]] = [
        (d, Quarantine("no")), (b, Ack()), (a, Release()), (c, Ack())
    ]  # fmt: skip
    settled = await t.events.settle([EventOutcome(one.hold, end) for one, end in verdicts])
    states = DeliveryState.QUARANTINED, None, DeliveryState.PARKED, DeliveryState.ACKED
    t.equal([one.state for one in settled], list(states), "answers to settle")
    t.equal(await t.owed(), (0, 0, 1, 1), "what is owed then")


@case("delivery.batch")
async def a_thousand_holds_of_several_consumers_are_answered_in_order(t: Trial) -> None:
    await t.emit(*events(500))
    grants = [*await t.deliver(500, "a"), *await t.deliver(500, "b")]
    mixed = sorted(grants, key=lambda grant: (grant.position * 7 % 1_009, grant.consumer))
    extended = await t.events.extend([grant.hold for grant in mixed], LONG)
    t.equal({one.state for one in extended}, {HoldState.KEPT}, "answers to extend")
    ends: list[EventVerdict] = [Ack() if g.position % 2 else Quarantine(g.id) for g in mixed]
    settled = await t.events.settle(
        [EventOutcome(g.hold, end) for g, end in zip(mixed, ends, strict=True)]
    )
    acked, dead = DeliveryState.ACKED, DeliveryState.QUARANTINED
    expected = [acked if isinstance(end, Ack) else dead for end in ends]
    t.equal([one.state for one in settled], expected, "answers to settle")
    errors = [(one.id, one.error) for one in await t.dead("b")]
    t.equal(errors, [(one.id, one.id) for one in await t.dead("b")], "errors of those set aside")


@case("delivery.batch")
async def empty_batches_are_empty_answers(t: Trial) -> None:
    t.equal(await t.events.extend([], LONG), (), "answer to extending nothing")
    t.equal(await t.events.settle([]), (), "answer to settling nothing")


@case("delivery.reclaimed")
async def a_lease_that_ran_out_is_granted_again(t: Trial) -> None:
    await t.emit(*events(2))
    first = await t.deliver_one(ttl=t.tick)
    await t.age(1.1)
    async with t.handle() as other:
        again = await t.deliver(9, on=other)
    t.equal(event_ids(again), ["e1", "e2"], "handed out after a lease ran out")
    t.equal([g.reclaimed for g in again], [True, False], "whether the grants are reclaimed ones")
    t.equal((again[0].attempt, again[0].due_at), (2, first.expires_at), "attempt, and due when")
    await t.end(again[0], Retry(0, "again"))
    t.check(not (await t.deliver_one()).reclaimed, "a retried event was called reclaimed")


@case("delivery.reclaimed")
async def many_leases_that_ran_out_are_all_reclaimed(t: Trial) -> None:
    await t.emit(*events(300))
    await t.deliver(300, ttl=t.tick)
    await t.age(1.1)
    t.equal(len(await t.deliver(500)), 300, "handed out after 300 leases ran out")


@case("delivery.reclaimed", time_limit=120)
async def a_delivery_ends_so_many_leases_and_the_next_the_others(t: Trial) -> None:
    count = DELIVER_LOOK_LIMIT + 5
    await t.emit(*events(count))
    await t.deliver(count, ttl=t.tick)
    await t.age(1.1)
    found = [len(await t.deliver(count)), len(await t.deliver(count))]
    t.equal(found, [DELIVER_LOOK_LIMIT, 5], f"handed out by two calls, after {count} leases ended")


@case("delivery.boundary")
async def a_lease_has_expired_at_its_expiry(t: Trial) -> None:
    await t.emit(event("x"))
    grant = await t.deliver_one(ttl=t.tick)
    while True:
        before = await t.store.now()
        again = await t.deliver(1)
        if again:
            early = grant.expires_at - again[0].granted_at
            t.check(early <= 0, f"granted again {early} us before the lease ran out")
            return
        t.check(before < grant.expires_at, "not granted again although now was expires_at")
        await t.age(0.25)


@case("delivery.extend")
async def an_extension_counts_from_now(t: Trial) -> None:
    await t.emit(*events(2))
    grant, short = await t.deliver(2, ttl=LONG)
    for ttl in (2 * LONG, LONG // 2):
        before = await t.store.now()
        (answer,) = await t.events.extend([grant.hold], ttl)
        after = await t.store.now()
        until = answer.expires_at or 0
        t.check(
            before + ttl <= until <= after + ttl,
            f"extended by {ttl} between {before} and {after}, the lease ends at {until}",
        )
    await t.events.extend([short.hold], t.tick)
    await t.age(1.1)
    t.equal(event_ids(await t.deliver(9)), ["e2"], "handed out after one lease was shortened")


@case("delivery.extend")
async def an_extended_lease_outlives_its_first_end(t: Trial) -> None:
    await t.emit(*events(2))
    kept, left = await t.deliver(2, ttl=t.tick)
    await t.events.extend([kept.hold], LONG)
    await t.age(1.1)
    t.equal(event_ids(await t.deliver(9)), [left.id], "handed out when the first end has passed")
