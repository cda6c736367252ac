"""Adding jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from gnl_core.spi import Added, DepthRefused, Instant, Known, NewJob
from gnl_store_sql import Reads, Step, Steps, org_text
from gnl_store_sqlite._clock import Tick
from gnl_store_sqlite._waiting import Waiting, give_turns, wait

_INSERT: Final = (
    "INSERT INTO gnl_jobs (seq, org, id, type, payload, max_attempts, enqueued_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (org, id) DO NOTHING"
)
_COUNT_CREATED: Final = "SELECT count(*) FROM gnl_jobs WHERE seq > ?"
_CREATED: Final = "SELECT seq FROM gnl_jobs WHERE seq > ?"
_READY_AT_ONCE: Final = (
    "INSERT INTO gnl_ready (org, type, seq, attempts, due_at, reclaimed) "
    "SELECT org, type, seq, 0, enqueued_at, 0 FROM gnl_jobs WHERE seq > ?"
)
_KNOWN: Final = (
    "SELECT j.org, j.id, j.type, j.payload FROM json_each(?) k CROSS JOIN gnl_jobs j "
    "ON j.org = json_extract(k.value, '$[0]') AND j.id = json_extract(k.value, '$[1]')"
)


def add(
    tick: Tick, reads: Reads, jobs: Sequence[NewJob], max_depth: int | None
) -> Steps[Added | DepthRefused]:
    """All of `jobs` or none. The write lock is held and `tick` has just been read."""
    if max_depth is not None:
        refused = yield from _too_deep(reads, jobs, max_depth)
        if refused is not None:
            return refused
    created = yield from _insert(tick, jobs)
    if created and (yield from _let_wait(tick, jobs, created)):
        yield tick.save()
    if len(created) == len(jobs):
        return Added((None,) * len(jobs))
    known = yield from _find([job for at, job in enumerate(jobs) if at not in created])
    return Added(
        tuple([None if at in created else known[_key(job)] for at, job in enumerate(jobs)])
    )


def _insert(tick: Tick, jobs: Sequence[NewJob]) -> Steps[Collection[int]]:
    """Write the jobs whose ids are new; the indexes of these."""
    first = tick.seq + 1
    rows = [
        (seq, job.org_id or "", job.id, job.type, job.payload, job.max_attempts, tick.now)
        for seq, job in enumerate(jobs, first)
    ]
    yield Step(_INSERT, rows, many=True)
    count = yield Step(_COUNT_CREATED, (tick.seq,))
    tick.seq += len(jobs)
    if count[0][0] == len(jobs):
        return range(len(jobs))
    created = yield Step(_CREATED, (first - 1,))
    return {seq - first for (seq,) in created}


def _let_wait(tick: Tick, jobs: Sequence[NewJob], created: Collection[int]) -> Steps[bool]:
    """Let the created jobs wait; true if that changed `tick`."""
    first = tick.seq - len(jobs) + 1
    if len(jobs) > 1 and all(job.run_at is None and job.delay == 0 for job in jobs):
        # Copied within the database: half the time of sending every row again.
        yield Step(_READY_AT_ONCE, (first - 1,))
        new = [jobs[at] for at in sorted(created)]
        return (yield from give_turns(tick, [(job.org_id or "", job.type) for job in new]))
    waiting = [
        Waiting(job.org_id or "", job.type, first + at, 0, _due_at(tick, job))
        for at, job in enumerate(jobs)
        if at in created
    ]
    return (yield from wait(tick, waiting))


def _due_at(tick: Tick, job: NewJob) -> Instant:
    return job.run_at if job.run_at is not None else tick.now + job.delay


def _too_deep(reads: Reads, jobs: Sequence[NewJob], limit: int) -> Steps[DepthRefused | None]:
    known = yield from _find(jobs)
    new = Counter(job.org_id for job in jobs if _key(job) not in known)
    for org_id, count in new.items():
        depth = yield from reads.depth(org_id)
        if depth + count > limit:
            return DepthRefused(org_id, depth, count, limit)
    return None


def _find(jobs: Sequence[NewJob]) -> Steps[dict[tuple[str, str], Known]]:
    """Those jobs of the call that are in the store, by lane and id."""
    keys = json.dumps([_key(job) for job in jobs], ensure_ascii=False)
    rows = yield Step(_KNOWN, (keys,))
    return {(org, id_): Known(type_, payload) for org, id_, type_, payload in rows}


def _key(job: NewJob) -> tuple[str, str]:
    return org_text(job.org_id), job.id
