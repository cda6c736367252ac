"""What all parts of a store share, seen with events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._rules import Part
from gnl_conformance._trial import LONG, Trial
from gnl_conformance.cases.errors import call_all
from gnl_core.spi import (
    Ack,
    Capability,
    DeliveryState,
    Edge,
    EventHold,
    EventOutcome,
    EventStore,
    StoreError,
    StoreRejected,
)

_CALLS: dict[str, Callable[[EventStore], Awaitable[object]]] = {
    "append": lambda e: e.append([event("x")]),
    "deliver": lambda e: e.deliver(
        TOPIC, CONSUMER, 1, LONG, "w", max_attempts=5, start=Edge.EARLIEST
    ),
    "extend": lambda e: e.extend([EventHold(1, 1, 1)], LONG),
    "settle": lambda e: e.settle([EventOutcome(EventHold(1, 1, 1), Ack())]),
    "dead": lambda e: e.dead(TOPIC, CONSUMER, None, 5),
    "release": lambda e: e.release(TOPIC, CONSUMER, None, "x"),
    "consumers": lambda e: e.consumers(),
    "topics": lambda e: e.topics(),
    "rewind": lambda e: e.rewind(TOPIC, CONSUMER, 0),
    "remove": lambda e: e.remove(TOPIC, CONSUMER),
    "prune": lambda e: e.prune(None, older_than=0),
}


@case("store.errors", part=Part.EVENTS)
async def an_append_on_an_unknown_connection_is_rejected(t: Trial) -> None:
    rejected = False
    try:
        await t.events.append([event("x")], connection=object())
    except StoreRejected:
        rejected = True
    t.check(rejected, "an append on a connection of an unknown kind was not rejected")
    t.equal(await t.deliver(9), (), "events of a rejected call")


@case("store.errors", part=Part.EVENTS)
async def calls_about_events_without_tables_are_rejected_if_they_need_them(t: Trial) -> None:
    space = f"{t.space}bare"
    try:
        async with t.harness.connect(space) as store:
            part: EventStore = getattr(store, Part.EVENTS.value)
            await call_all(t, part, _CALLS, "before an upgrade", StoreRejected)
    finally:
        await t.harness.drop(space)


@case("store.errors", part=Part.EVENTS)
async def calls_about_events_on_a_closed_handle_raise_no_error_of_a_driver(t: Trial) -> None:
    async with t.harness.connect(t.space) as store:
        part: EventStore = getattr(store, Part.EVENTS.value)
        await store.close()
        await call_all(t, part, _CALLS, "on a closed handle", StoreError)


@case("store.schema", part=Part.EVENTS)
async def an_upgrade_can_be_repeated_and_keeps_all_events(t: Trial) -> None:
    await t.emit(*events(3))
    held = await t.deliver_one()
    await t.store.upgrade()
    t.equal(await t.owed(), (2, 1, 0, 0), "what is owed after a second upgrade")
    t.equal(await t.end(held, Ack()), DeliveryState.ACKED, "a hold from before the upgrade")
    t.equal(event_ids(await t.deliver(9)), ["e2", "e3"], "handed out then")


@case("store.sibling", part=Part.EVENTS)
async def a_sibling_holds_what_the_store_holds(t: Trial) -> None:
    await t.emit(*events(2))
    grant = await t.deliver_one()
    sibling = await t.store.sibling()
    (kept,) = await sibling.events.extend([grant.hold], LONG)
    t.check(kept.expires_at is not None, "a sibling does not hold what the store holds")
    t.equal(event_ids(await t.deliver(9, on=sibling)), ["e2"], "handed out to a sibling")
    await sibling.close()
    t.equal(await t.owed(), (0, 2, 0, 0), "what is owed after the sibling closed")


@case("store.kept", part=Part.EVENTS)
async def another_handle_sees_all_that_was_answered(t: Trial) -> None:
    async with t.handle() as other:
        await other.events.append(events(4))
        grants = await t.deliver(2, on=other)
        await other.events.settle([EventOutcome(grants[0].hold, Ack())])
    t.equal(await t.owed(), (2, 1, 0, 0), "what is owed, seen by a handle after another closed")
    t.equal(event_ids(await t.deliver(9)), ["e3", "e4"], "handed out then")


@case("store.wake", needs=[Capability.WAKE_UPS], part=Part.EVENTS)
async def a_listener_is_woken_by_a_new_event(t: Trial) -> None:
    woken = asyncio.Event()
    async with t.handle() as other:
        listening = asyncio.create_task(other.listen(woken.set))
        # A hint may be lost, most likely before the listener stands: so try more than once.
        for n in range(25):
            await t.emit(event(f"{n}"))
            await asyncio.wait([asyncio.create_task(woken.wait())], timeout=0.2)
            if woken.is_set() or listening.done():
                break
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
    t.check(woken.is_set(), "no hint arrived after any of many appends")
