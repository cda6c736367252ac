"""The client's clock, set wrong."""

from __future__ import annotations

import datetime

import time_machine

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, Trial, job
from gnl_core.spi import SECOND, Grant, HoldState, Retry

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


def _check_off(t: Trial, off: int, what: str) -> None:
    t.check(off < 60 * SECOND, f"{what} a client whose clock is wrong is {off} us off{_HINT}")
