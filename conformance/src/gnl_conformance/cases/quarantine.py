"""Setting events aside that fail again and again, and handing them back."""

from __future__ import annotations

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_conformance.cases._texts import MEBIBYTE, PAYLOADS
from gnl_core.spi import LEASE_EXPIRED, Ack, DeadEvent, DeliveryState, Quarantine, Release, Retry


@case("quarantine.budget")
async def an_event_whose_last_lease_runs_out_is_set_aside(t: Trial) -> None:
    await t.emit(*events(2))
    for attempt in (1, 2):
        grant = await t.deliver_one(ttl=t.tick, max_attempts=2)
        t.equal((grant.id, grant.attempt), ("e1", attempt), "event and attempt granted")
        await t.age(1.1)
    t.equal(event_ids(await t.deliver(9, max_attempts=2)), ["e2"], "handed out after the last one")
    (dead,) = await t.dead()
    t.equal((dead.id, dead.attempts, dead.error), ("e1", 2, LEASE_EXPIRED), "what was set aside")


@case("quarantine.budget")
async def a_lease_is_judged_by_the_budget_it_was_granted_with(t: Trial) -> None:
    await t.emit(*events(2))
    await t.deliver(1, ttl=t.tick, max_attempts=1)
    await t.deliver(1, ttl=t.tick, max_attempts=9)
    await t.age(1.1)
    found = event_ids(await t.deliver(9, max_attempts=1))
    t.equal(found, ["e2"], "handed out after two leases with different budgets ran out")
    t.equal(event_ids(await t.dead()), ["e1"], "set aside")


@case("quarantine.budget")
async def without_a_budget_nothing_is_set_aside(t: Trial) -> None:
    await t.emit(event("x"))
    for attempt in range(1, 13):
        grant = await t.deliver_one(max_attempts=None)
        t.equal(grant.attempt, attempt, "attempt granted")
        await t.end(grant, Retry(0, "again"))
    await t.deliver_one(ttl=t.tick, max_attempts=None)
    await t.age(1.1)
    grant = await t.deliver_one(max_attempts=None)
    t.equal(grant.attempt, 14, "attempt granted after a lease ran out")
    t.equal(await t.dead(), [], "set aside")


@case("quarantine.budget")
async def a_verdict_sets_an_event_aside_at_once(t: Trial) -> None:
    await t.emit(event("x"))
    state = await t.end(await t.deliver_one(max_attempts=None), Quarantine("no"))
    t.equal(state, DeliveryState.QUARANTINED, "the state after a verdict")
    t.equal(await t.owed(), (0, 0, 0, 1), "what is owed then")
    await t.age(1.1)
    t.equal(await t.deliver(9), (), "handed out then")


@case("quarantine.apart")
async def events_behind_a_failing_one_flow(t: Trial) -> None:
    await t.emit(*events(3))
    await t.end(await t.deliver_one(), Quarantine("no"))
    await t.end(await t.deliver_one(), Retry(LONG, "later"))
    t.equal(event_ids(await t.deliver(9)), ["e3"], "handed out behind two that failed")
    await t.emit(*events(3, "new"))
    t.equal(event_ids(await t.deliver(9)), ["new1", "new2", "new3"], "handed out later on")
    t.equal(await t.owed(), (0, 4, 1, 1), "what is owed: nothing failed is passed")


@case("quarantine.apart")
async def new_events_flow_beside_many_retries(t: Trial) -> None:
    await t.emit(*events(40))
    for grant in await t.deliver(40):
        await t.end(grant, Retry(0, "again"))
    await t.age(0.1)
    await t.emit(*events(10, "new"))
    found = event_ids(await t.deliver(20))
    t.equal(sum(one.startswith("new") for one in found), 10, "new ones among the next twenty")


@case("quarantine.page")
async def events_set_aside_are_listed_page_by_page(t: Trial) -> None:
    await t.emit(*[event(f"e{n}", "ab"[n % 2], payload=f"{n}", key=f"k{n}") for n in range(12)])
    grants = await t.deliver(12)
    for n in (7, 1, 9, 3, 11, 5, 10):
        await t.end(grants[n], Quarantine(f"error {n}"))
    found: list[DeadEvent] = []
    position, sizes = None, []
    while True:
        page = await t.events.dead(TOPIC, CONSUMER, position, 3)
        sizes.append(len(page.items))
        found += page.items
        position = page.position
        if position is None:
            break
    t.equal(sizes, [3, 3, 1], "events on each page")
    order = [1, 3, 5, 7, 9, 10, 11]
    said = [(d.id, d.org_id, d.key, d.payload, d.error, d.attempts) for d in found]
    expected = [(f"e{n}", "ab"[n % 2], f"k{n}", f"{n}", f"error {n}", 1) for n in order]
    t.equal(said, expected, "what the pages say")
    places = [(grants[n].position, grants[n].emitted_at) for n in order]
    t.equal([(d.position, d.emitted_at) for d in found], places, "positions, and when emitted")


@case("quarantine.page")
async def a_listing_ends_and_says_when(t: Trial) -> None:
    await t.emit(*events(3))
    t.equal(await t.dead("nobody"), [], "quarantined events of a consumer that is none")
    began = await t.store.now()
    for grant in await t.deliver(3):
        await t.end(grant, Quarantine("no"))
    ended = await t.store.now()
    page = await t.events.dead(TOPIC, CONSUMER, None, 3)
    t.equal((event_ids(page.items), page.position), (["e1", "e2", "e3"], None), "a full last page")
    times = [one.quarantined_at for one in page.items]
    t.check(all(began <= at <= ended for at in times), f"set aside in {began}..{ended}: {times}")
    t.equal(await t.dead(topic="other"), [], "quarantined events of another topic")


@case("quarantine.error")
async def an_error_is_read_back_exactly(t: Trial) -> None:
    texts = [*PAYLOADS, MEBIBYTE, "", " x "]
    await t.emit(*events(len(texts)))
    for text, grant in zip(texts, await t.deliver(len(texts)), strict=True):
        await t.end(grant, Retry(0, "an earlier one"))
        again = await t.deliver_one()
        await t.end(again, Quarantine(text))
    for text, dead in zip(texts, await t.dead(), strict=True):
        t.check(dead.error == text, f"an error came back changed: {text[:50]!r}")


@case("quarantine.release")
async def a_released_event_begins_afresh(t: Trial) -> None:
    await t.emit(*events(3))
    for attempt in (1, 2):
        grant = await t.deliver_one(max_attempts=2)
        verdict = Retry(0, "again") if attempt == 1 else Quarantine("no")
        await t.end(grant, verdict)
        await t.age(0.1)
    found = await t.release("e1")
    t.equal(found, DeliveryState.QUARANTINED, "the state it was found in")
    t.equal(await t.dead(), [], "quarantined events then")
    for attempt in (1, 2):
        grant = await t.deliver_one(ttl=t.tick, max_attempts=2)
        t.equal((grant.id, grant.attempt), ("e1", attempt), "event and attempt granted next")
        await t.age(1.1)
    t.equal(event_ids(await t.deliver(9, max_attempts=2)), ["e2", "e3"], "handed out after that")
    (dead,) = await t.dead()
    t.equal((dead.attempts, dead.error), (2, LEASE_EXPIRED), "attempts and error, set aside again")


@case("quarantine.release")
async def nothing_else_is_released(t: Trial) -> None:
    await t.emit(*events(4))
    acked, parked, _ = await t.deliver(3)
    await t.ack(acked)
    await t.end(parked, Retry(LONG, "again"))
    states = (DeliveryState.ACKED, DeliveryState.PARKED, DeliveryState.HELD, DeliveryState.NEW)
    for n, state in enumerate(states, 1):
        t.equal(await t.release(f"e{n}"), state, f"the state in which e{n} was found")
    t.equal(await t.owed(), (1, 1, 1, 0), "what is owed after four releases of nothing")
    t.equal(await t.release("unknown"), None, "a release of no event")
    t.equal(await t.release("e1", "nobody"), None, "a release for no consumer")
    t.equal(event_ids(await t.deliver(9)), ["e4"], "handed out then")


@case("quarantine.alone")
async def an_event_is_set_aside_and_released_for_one_consumer_alone(t: Trial) -> None:
    await t.emit(event("x"))
    for consumer in ("a", "b"):
        await t.end(await t.deliver_one(consumer), Quarantine(f"by {consumer}"))
    t.equal((await t.deliver_one("c")).id, "x", "the event, handed out to a third")
    await t.release("x", "a")
    t.equal([one.error for one in await t.dead("b")], ["by b"], "quarantined for the other")
    t.equal(await t.deliver(9, "b"), (), "handed out to the other after a release")
    t.equal(event_ids(await t.deliver(9, "a")), ["x"], "handed out to the one")
    t.equal(await t.owed("c"), (0, 1, 0, 0), "what the third owes")


@case("quarantine.late")
async def a_release_beats_a_failure_that_is_repeated(t: Trial) -> None:
    await t.emit(event("x"))
    grant = await t.deliver_one()
    await t.end(grant, Quarantine("no"))
    await t.release("x")
    for verdict in (Quarantine("no"), Retry(LONG, "again"), Ack(), Release(LONG)):
        t.equal(await t.end(grant, verdict), None, f"a {verdict} after the release")
    t.equal(event_ids(await t.deliver(9)), ["x"], "handed out after late failures")


@case("quarantine.late")
async def a_release_beats_the_failure_of_a_lost_lease(t: Trial) -> None:
    await t.emit(event("x"))
    slow = await t.deliver_one(ttl=t.tick, max_attempts=1)
    await t.age(1.1)
    await t.deliver(9)
    t.equal(await t.release("x"), DeliveryState.QUARANTINED, "the state after the lease ran out")
    t.equal(await t.end(slow, Quarantine("late")), None, "the late failure before it is held")
    fresh = await t.deliver_one(max_attempts=1)
    t.equal(await t.end(slow, Quarantine("late")), None, "the late failure while it is held")
    t.equal(await t.dead(), [], "quarantined events after late failures")
    t.equal(await t.end(fresh, Ack()), DeliveryState.ACKED, "the fresh settlement")
