"""Appending inside the caller's own transaction."""

from __future__ import annotations

import asyncio

from gnl_conformance._case import case
from gnl_conformance._event_trial import event, event_ids, events
from gnl_conformance._trial import Trial
from gnl_core.spi import Capability, Edge, EventGrant, Start

_NEEDS = [Capability.TRANSACTIONS]
_SECONDS = 5
"""How long a call may take that must not wait for somebody's transaction."""


@case("log.transaction", needs=_NEEDS)
async def events_appear_when_their_transaction_commits(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.events.append(events(3), connection=caller.connection)
        if not t.harness.one_writer:
            t.equal(await t.deliver(5), (), "events handed out before the commit")
        await caller.commit()
    t.equal(event_ids(await t.deliver(5)), ["e1", "e2", "e3"], "handed out after the commit")


@case("log.transaction", needs=_NEEDS)
async def events_are_gone_with_their_transaction(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.events.append(events(3), connection=caller.connection)
        await caller.rollback()
    t.equal(await t.deliver(5), (), "events handed out after a rollback")
    answer = await t.emit(*events(3))
    t.equal(answer.known, (None,) * 3, "answers when the ids are appended after a rollback")


@case("log.transaction", needs=_NEEDS)
async def events_are_gone_when_their_transaction_is_left_open(t: Trial) -> None:
    async with t.transaction() as caller:
        await t.events.append([event("x")], connection=caller.connection)
    t.equal(await t.deliver(5), (), "handed out of a transaction that never ended")


@case("log.transaction", needs=_NEEDS)
async def emitters_do_not_wait_for_open_transactions(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as one, t.transaction() as two:
        try:
            async with asyncio.timeout(_SECONDS):
                await t.events.append(events(2), connection=one.connection)
                await t.events.append(events(2, "two"), connection=two.connection)
                await t.emit(*events(2, "three"))
                await two.commit()
                await one.commit()
        except TimeoutError:
            t.check(False, "one emitter waited for the open transaction of another")
    t.equal(len(await t.deliver(9)), 6, "events handed out after both commits")


@case("log.late", needs=_NEEDS)
async def what_commits_after_a_later_one_was_acked_is_delivered(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.events.append([event("early")], connection=caller.connection)
        await t.emit(event("late"))
        found = await _without_waiting(t)
        t.equal(event_ids(found), ["late"], "handed out beside an open transaction")
        await t.ack(*found)
        await caller.commit()
    t.equal(event_ids(await t.deliver(9)), ["early"], "handed out after the early one committed")
    t.equal(await t.owed(), (0, 1, 0, 0), "what the consumer owes then")


@case("log.late", needs=_NEEDS)
async def many_that_commit_in_any_order_are_all_delivered(t: Trial) -> None:
    t.need_several_writers()
    found: list[str] = []
    async with t.transaction() as a, t.transaction() as b, t.transaction() as c:
        for n, caller in enumerate((a, b, c)):
            await t.events.append(events(2, f"{n}-"), connection=caller.connection)
        for caller in (b, c, a):
            await t.emit(event(f"alone {len(found)}"))
            found += event_ids(await _without_waiting(t, 1))
            await caller.commit()
            found += event_ids(await _without_waiting(t, 1))
    found += event_ids(await t.deliver(99))
    t.equal(len(found), 9, f"events handed out, in all, of nine: {found}")
    t.equal(len(set(found)), 9, "different events among them")


@case("log.late", needs=_NEEDS)
async def a_consumer_that_begins_at_the_end_gets_what_commits_later(t: Trial) -> None:
    t.need_several_writers()
    async with t.transaction() as caller:
        await t.events.append([event("early")], connection=caller.connection)
        await t.emit(event("before"))
        found = await _without_waiting(t, start=Edge.LATEST)
        t.equal(found, (), "events before a consumer's start")
        await caller.commit()
    t.equal(event_ids(await t.deliver(9)), ["early"], "what committed after a consumer's start")


@case("log.rolledback", needs=_NEEDS)
async def what_was_rolled_back_stops_no_consumer(t: Trial) -> None:
    await t.deliver(1, "before")
    for n in range(5):
        async with t.transaction() as caller:
            await t.events.append(events(20, f"{n}-"), connection=caller.connection)
            await caller.rollback()
    await t.emit(event("good"))
    for consumer in ("before", "after"):
        t.equal(event_ids(await t.deliver(9, consumer)), ["good"], f"handed out to {consumer!r}")


async def _without_waiting(
    t: Trial, limit: int = 9, *, start: Start = Edge.EARLIEST
) -> tuple[EventGrant, ...]:
    try:
        async with asyncio.timeout(_SECONDS):
            return await t.deliver(limit, start=start)
    except TimeoutError:
        t.check(False, "a delivery waited for an emitter's open transaction")
    return ()
