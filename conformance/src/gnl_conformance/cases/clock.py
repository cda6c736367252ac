"""The client's clock, set wrong."""

from __future__ import annotations

import datetime

import time_machine

from gnl_conformance._case import case
from gnl_conformance._event_trial import event, event_ids, events
from gnl_conformance._trial import LONG, Trial, job
from gnl_core.spi import SECOND, EventGrant, Grant, HoldState, Quarantine, Retry

_HINT = " (Python's clock was moved, the machine's was not: read the database's)"


@case("lease.clock")
async def the_clients_clock_changes_nothing(t: Trial) -> None:
    for n, hours in enumerate((-2, 2)):
        kind = f"t{n}"
        await t.add(job(f"held {n}", type=kind), job(f"late {n}", type=kind, delay=LONG))
        held = await t.claim_one(kind, ttl=LONG)
        away = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
        with time_machine.travel(away, tick=True):
            await _with_a_wrong_clock(t, kind, n, held)


async def _with_a_wrong_clock(t: Trial, kind: str, n: int, held: Grant) -> None:
    grants = await t.claim(5, kind)
    t.equal(grants, (), f"grants by a client whose clock is wrong{_HINT}")
    now = await t.store.now()
    (answer,) = await t.jobs.extend([held.hold], LONG)
    t.equal(answer.state, HoldState.KEPT, "a hold extended by a client whose clock is wrong")
    off = abs((answer.expires_at or 0) - now - LONG)
    _check_off(t, off, "an extension by")
    await t.add(job(f"new {n}", type=kind))
    grant = await t.claim_one(kind, ttl=LONG)
    off = abs(grant.expires_at - now - LONG)
    _check_off(t, off, "a lease given to")
    await t.settle(held, Retry(LONG, "later"))
    off = abs(((await t.get(f"held {n}")).due_at or 0) - now - LONG)
    _check_off(t, off, "a retry by")


@case("delivery.clock")
async def the_clients_clock_changes_nothing_for_events(t: Trial) -> None:
    for hours in (-2, 2):
        reader = f"{hours} h"
        await t.emit(*events(4, reader))
        held = await t.deliver(3, reader, topic="news")
        await t.end(held[2], Retry(LONG, "later"))
        away = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
        with time_machine.travel(away, tick=True):
            await _events_with_a_wrong_clock(t, reader, held)
        await t.events.remove("news", reader)
        await t.events.prune("news", older_than=0)


async def _events_with_a_wrong_clock(t: Trial, reader: str, held: tuple[EventGrant, ...]) -> None:
    now = await t.store.now()
    await t.emit(event("new"))
    grants = await t.deliver(5, reader)
    t.equal(event_ids(grants), [f"{reader}4", "new"], f"handed out, with a wrong clock{_HINT}")
    _check_off(t, abs(grants[0].expires_at - now - LONG), "a lease given to")
    _check_off(t, abs(grants[1].emitted_at - now), "an event emitted by")
    (answer,) = await t.events.extend([held[0].hold], LONG)
    _check_off(t, abs((answer.expires_at or 0) - now - LONG), "an extension by")
    await t.end(held[0], Quarantine("no"))
    (dead,) = await t.dead(reader)
    _check_off(t, abs(dead.quarantined_at - now), "what was set aside by")
    await t.end(held[1], Retry(0, "again"))
    again = await t.deliver_one(reader)
    t.equal(again.id, held[1].id, "handed out of retries, one of them due")
    _check_off(t, abs(again.due_at - now), "a retry by")
    t.equal(await t.events.prune("news", older_than=LONG), 0, "events pruned that are too young")


def _check_off(t: Trial, off: int, what: str) -> None:
    t.check(off < 60 * SECOND, f"{what} a client whose clock is wrong is {off} us off{_HINT}")
