"""The decisions about held jobs: `extend` and `settle`. Each answer is fenced by the token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gnl_core.spi import (
    Dead,
    Done,
    Duration,
    Extension,
    Hold,
    HoldState,
    Instant,
    JobState,
    Outcome,
    Release,
    Retry,
    Settlement,
    Verdict,
)
from gnl_store_files.rows import Job
from gnl_store_files.tables import Tables


def extend(
    tables: Tables, now: Instant, holds: Sequence[Hold], ttl: Duration
) -> tuple[Extension, ...]:
    """Move the expiry of each hold to now + `ttl`."""
    return tuple(_extend(tables, now + ttl, hold) for hold in holds)


def _extend(tables: Tables, expires_at: Instant, hold: Hold) -> Extension:
    job = _held(tables, hold)
    if job is None:
        return Extension(HoldState.LOST, None)
    tables.put(replace(job, expires_at=expires_at))
    state = HoldState.CANCELED if job.cancel_requested else HoldState.KEPT
    return Extension(state, expires_at)


def settle(tables: Tables, now: Instant, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
    """End each hold with its verdict."""
    return tuple(_settle(tables, now, one) for one in outcomes)


def _settle(tables: Tables, now: Instant, outcome: Outcome) -> Settlement:
    job = _held(tables, outcome.hold)
    if job is None:
        return Settlement(None)
    if job.cancel_requested:
        settled = job.ends(now, JobState.CANCELED)
    else:
        settled = _apply(job, now, outcome.verdict)
    tables.put(settled)
    return Settlement(settled.state)


def _apply(job: Job, now: Instant, verdict: Verdict) -> Job:
    match verdict:
        case Done(result):
            return job.ends(now, JobState.DONE, result)
        case Retry(delay, error):
            return job.fails(now, error).waits(now, now + delay)
        case Dead(error):
            return job.fails(now, error).ends(now, JobState.DEAD)
        case Release(delay):
            return replace(job, attempts=job.attempts - 1).waits(now, now + delay)


def _held(tables: Tables, hold: Hold) -> Job | None:
    """The job, if this hold is still the one that holds it."""
    job = tables.jobs.get(hold.seq)
    if job is None or job.state is not JobState.RUNNING or job.token != hold.token:
        return None
    return job
