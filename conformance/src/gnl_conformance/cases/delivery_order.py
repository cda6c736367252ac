"""Which event is next, which attempt it is, and what waits for what."""

from __future__ import annotations

from gnl_conformance._case import case
from gnl_conformance._event_trial import event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_core.spi import (
    DELIVER_LOOK_LIMIT,
    Ack,
    EventGrant,
    EventVerdict,
    Quarantine,
    Release,
    Retry,
)


@case("delivery.retry")
async def a_retry_waits_for_its_delay(t: Trial) -> None:
    await t.emit(*events(3))
    soon, late, at_once = await t.deliver(3)
    before = await t.store.now()
    await t.end(soon, Retry(t.tick, "again"))
    await t.end(late, Retry(LONG, "again"))
    await t.end(at_once, Retry(0, "again"))
    found = list(await t.deliver(9))
    await t.age(1.1)
    found += await t.deliver(9)
    t.equal(event_ids(found), ["e3", "e1"], "handed out until one delay is over")
    for grant in found:
        t.check(grant.granted_at >= grant.due_at, f"{grant.id} was granted before it was due")
    due = found[1].due_at
    t.check(due >= before + t.tick, f"a retry after {t.tick} at {before} was due at {due}")


@case("delivery.retry")
async def a_release_may_have_a_delay(t: Trial) -> None:
    await t.emit(event("x"))
    await t.end(await t.deliver_one(), Release(t.tick))
    t.equal(await t.owed(), (0, 0, 1, 0), "what is owed after a release with a delay")
    found = list(await t.deliver(9))
    await t.age(1.1)
    found += await t.deliver(9)
    t.equal(event_ids(found), ["x"], "handed out until the delay is over")
    early = found[0].due_at - found[0].granted_at
    t.check(early <= 0, f"a released event was granted {early} us before it was due")


@case("delivery.attempt")
async def every_grant_counts_and_a_release_takes_it_back(t: Trial) -> None:
    await t.emit(event("x"))
    steps: list[tuple[int, EventVerdict]] = [
        (1, Retry(0, "again")), (2, Release()), (2, Retry(0, "again")), (3, Release(0))
    ]  # fmt: skip
    for attempt, verdict in steps:
        grant = await t.deliver_one(max_attempts=9)
        t.equal(grant.attempt, attempt, "attempt of a grant")
        await t.end(grant, verdict)
    t.equal((await t.deliver_one(ttl=t.tick, max_attempts=9)).attempt, 3, "after a release")
    await t.age(1.1)
    grant = await t.deliver_one(max_attempts=9)
    t.equal(grant.attempt, 4, "attempt after a lease ran out")
    await t.end(grant, Quarantine("no"))
    (dead,) = await t.dead()
    t.equal(dead.attempts, 4, "attempts of the event set aside")


@case("delivery.attempt")
async def attempts_are_counted_for_each_consumer(t: Trial) -> None:
    await t.emit(event("x"))
    for attempt in (1, 2, 3):
        grant = await t.deliver_one("a")
        t.equal(grant.attempt, attempt, "attempt of one consumer")
        await t.end(grant, Retry(0, "again"))
    t.equal((await t.deliver_one("b")).attempt, 1, "attempt of another")


async def _singly(t: Trial, count: int) -> list[str]:
    """What `count` deliveries of one event hold; each is acked."""
    found = []
    for _ in range(count):
        grants = await t.deliver(1)
        await t.ack(*grants)
        found += event_ids(grants)
    return found


@case("delivery.order")
async def what_was_given_back_goes_first_by_position(t: Trial) -> None:
    await t.emit(*events(6))
    one, two, three, four = await t.deliver(4)
    await t.end(four, Release())
    await t.end(one, Retry(0, "again"))
    await t.end(three, Release())
    await t.end(two, Release())
    t.equal(event_ids(await t.deliver(9)), ["e2", "e3", "e4", "e1", "e5", "e6"], "the order")


@case("delivery.order")
async def retries_and_new_events_go_in_turn(t: Trial) -> None:
    await t.emit(*events(9))
    for grant in await t.deliver(4):
        await t.end(grant, Retry(0, "again"))
    await t.age(0.1)
    # A new event was handed out last.
    in_turn = ["e1", "e5", "e2", "e6", "e3", "e7", "e4", "e8", "e9"]
    t.equal(await _singly(t, 5), in_turn[:5], "deliveries of one, with both at hand")
    t.equal(event_ids(await t.deliver(9)), in_turn[5:], "the rest in one delivery")


@case("delivery.order")
async def a_consumer_begins_with_a_new_event_and_keeps_its_turn(t: Trial) -> None:
    await t.emit(*events(2))
    await t.end(await t.deliver_one(), Retry(0, "again"))
    await t.age(0.1)
    t.equal(await _singly(t, 2), ["e1", "e2"], "a retry after a new event, then a new one")
    await t.emit(event("e3"), event("e4"))
    await t.end(await t.deliver_one(), Retry(0, "again"))
    await t.end(await t.deliver_one(), Retry(0, "again"))
    await t.age(0.1)
    # The retry of e3 was handed out last, and given back it does not change the turn.
    grant = await t.deliver_one()
    t.equal(grant.id, "e4", "a new event, when a retry was handed out last")
    await t.end(grant, Release())
    t.equal(await _singly(t, 2), ["e4", "e3"], "what was given back, then the retry")


@case("delivery.order")
async def retries_go_by_when_they_are_due(t: Trial) -> None:
    await t.emit(*events(4))
    grants = await t.deliver(4)
    for n, delay in ((0, 0.6), (1, 0.2), (3, 0.4), (2, 0.1)):
        await t.end(grants[n], Retry(int(delay * t.tick), "again"))
    await t.age(1)
    found = [(grant.due_at, grant.position) for grant in await t.deliver(9)]
    t.equal(len(found), 4, "retries that are due")
    t.check(found == sorted(found), f"retries, by when they were due and by position: {found}")


@case("delivery.order")
async def a_batch_is_in_the_order_of_single_deliveries(t: Trial) -> None:
    async def prepare(topic: str) -> None:
        await t.emit(*events(12, topic=topic))
        for n, grant in enumerate(await t.deliver(6, topic=topic)):
            await t.end(grant, (Release(), Retry(0, "again"), Ack())[n % 3])
        await t.age(0.1)

    await prepare("batch")
    await prepare("singly")
    batch = event_ids(await t.deliver(20, topic="batch"))
    singly = [one.id for _ in batch for one in await t.deliver(1, topic="singly")]
    t.equal(batch, singly, "one delivery, against as many of one event")


@case("delivery.key")
async def an_event_waits_for_those_of_its_key(t: Trial) -> None:
    keys = {"a1": "a", "a2": "a", "b1": "b", "n1": None, "a3": "a", "n2": None}
    await t.emit(*[event(name, key=key) for name, key in keys.items()])
    first = await t.deliver(9, by_key=True)
    t.equal(event_ids(first), ["a1", "b1", "n1", "n2"], "handed out with every key free")
    t.equal(await t.owed(), (0, 4, 2, 0), "what is owed: those passed over are parked")
    t.equal(await t.deliver(9, by_key=True), (), "handed out while their keys are held")
    await t.ack(first[0])
    second = await t.deliver(9, by_key=True)
    t.equal(event_ids(second), ["a2"], "handed out when the first of a key was acked")
    t.equal(second[0].attempt, 1, "attempt of an event that had been passed over")


@case("delivery.key")
async def a_key_waits_for_a_retry_and_not_for_the_quarantine(t: Trial) -> None:
    new = [event(f"{key}{n}", key=key) for n in (1, 2, 3) for key in "ac"]
    await t.emit(*new)
    waits, again = await _by_key(t, ["a1", "c1"])
    await t.end(waits, Retry(LONG, "again"))
    await t.end(again, Retry(0, "again"))
    await t.age(0.1)
    (grant,) = await _by_key(t, ["c1"])
    await t.end(grant, Quarantine("no"))
    (grant,) = await _by_key(t, ["c2"])
    await t.release("c1")
    await t.ack(grant)
    (grant,) = await _by_key(t, ["c1"])
    await t.ack(grant)
    await _by_key(t, ["c3"])


@case("delivery.key")
async def what_is_passed_over_is_given_back_before_others(t: Trial) -> None:
    await t.emit(*[event(f"a{n}", key="a") for n in (1, 2)], *events(3))
    first = await t.deliver(2, by_key=True)
    t.equal(event_ids(first), ["a1", "e1"], "handed out first")
    await t.ack(first[0])
    await _by_key(t, ["a2", "e2", "e3"])


@case("delivery.key", time_limit=120)
async def a_delivery_passes_over_so_many_events_and_goes_on_with_the_next(t: Trial) -> None:
    waiting = [event(f"a{n}", key="a") for n in range(DELIVER_LOOK_LIMIT + 5)]
    await t.emit(event("first", key="a"), *waiting, event("b", key="b"))
    await _by_key(t, ["first"])
    expected = (6, 1, DELIVER_LOOK_LIMIT, 0)
    t.equal(await t.owed(), expected, "what is owed after one delivery: not all was looked at")
    await _by_key(t, ["b"])
    t.equal(await t.owed(), (0, 2, DELIVER_LOOK_LIMIT + 5, 0), "what is owed after the next")


@case("delivery.key")
async def a_key_is_of_one_organization(t: Trial) -> None:
    orgs = (None, "a", "b")
    await t.emit(*[event(f"{n}", org, key="k") for n in (1, 2) for org in orgs])
    found = [(g.org_id, g.id) for g in await t.deliver(9, by_key=True)]
    t.equal(found, [(org, "1") for org in orgs], "handed out of one key in three organizations")


@case("delivery.key")
async def without_being_asked_for_keys_hold_nothing_up(t: Trial) -> None:
    await t.emit(*[event(f"a{n}", key="a") for n in (1, 2)])
    t.equal(event_ids(await t.deliver(9)), ["a1", "a2"], "handed out of one key")


async def _by_key(t: Trial, expected: list[str]) -> tuple[EventGrant, ...]:
    grants = await t.deliver(9, by_key=True)
    t.equal(event_ids(grants), expected, "handed out by key")
    return grants
