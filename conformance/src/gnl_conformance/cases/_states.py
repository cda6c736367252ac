"""Brings a job into a state."""

from __future__ import annotations

from gnl_conformance._trial import TYPE, Trial, job
from gnl_core.spi import Dead, Done, Grant, JobState, Release, Retry, Verdict

VERDICTS: tuple[Verdict, ...] = (Done('"late"'), Retry(0, "late"), Dead("late"), Release())


async def bring_to(
    t: Trial, state: JobState, id: str, org: str | None = None, *, payload: str = "null"
) -> Grant | None:
    """Add a job and bring it to `state`; its grant, unless it was never claimed.

    No other job of the kit's type may be ready; one left waiting is delayed, so that none is.
    """
    parked = state in (JobState.WAITING, JobState.CANCELED)
    if parked:
        await t.add(job(id, org, payload=payload, delay=10 * 3_600_000_000))
        if state is JobState.CANCELED:
            await t.jobs.cancel(org, id)
        return None
    await t.add(job(id, org, payload=payload))
    grant = await t.claim_one(TYPE)
    t.equal((grant.org_id, grant.id), (org, id), "the job granted")
    if state is JobState.DONE:
        await t.settle(grant, Done('"result"'))
    elif state is JobState.DEAD:
        await t.settle(grant, Dead("broken"))
    return grant
