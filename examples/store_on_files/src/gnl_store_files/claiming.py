"""The decision `claim`: end expired leases, wake delayed jobs, grant in the total claim order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gnl_core.spi import (
    CLAIM_SWEEP_LIMIT,
    LEASE_EXPIRED,
    Claimed,
    Duration,
    Grant,
    Instant,
    JobState,
)
from gnl_store_files.rows import Job
from gnl_store_files.tables import Tables


def claim(
    tables: Tables,
    now: Instant,
    types: Collection[str],
    limit: int,
    *,
    ttl: Duration,
    worker: str,
    max_attempts: int,
) -> Claimed:
    """Grant up to `limit` ready jobs of `types`."""
    _end_leases(tables, now)
    _wake(tables, now, types)
    grants: list[Grant] = []
    while len(grants) < limit:
        job = _take_turn(tables, types)
        if job is None:
            break
        budget = max_attempts if job.max_attempts is None else job.max_attempts
        grants.append(_grant(tables, now, job, ttl=ttl, worker=worker, budget=budget))
        tables.stamp([pair for pair in tables.ready if pair[0] == job.org_id])
    return Claimed(tuple(grants), _next_due_in(tables, now, types))


def _end_leases(tables: Tables, now: Instant) -> None:
    expired = [tables.jobs[seq] for at, seq in tables.leases[:CLAIM_SWEEP_LIMIT] if at <= now]
    for job in expired:
        assert job.expires_at is not None
        if job.cancel_requested:
            tables.put(job.ends(now, JobState.CANCELED))
            continue
        failed = job.fails(now, LEASE_EXPIRED)
        if job.attempts >= job.budget:
            tables.put(failed.ends(now, JobState.DEAD))
        else:
            tables.put(replace(failed.waits(now, job.expires_at), reclaimed=True))


def _wake(tables: Tables, now: Instant, types: Collection[str]) -> None:
    due = sorted(
        entry
        for type_ in set(types)
        for entry in tables.delayed[type_][:CLAIM_SWEEP_LIMIT]
        if entry[0] <= now
    )
    for _, seq in due[:CLAIM_SWEEP_LIMIT]:
        tables.put(replace(tables.jobs[seq], ready=True))


def _take_turn(tables: Tables, types: Collection[str]) -> Job | None:
    """The ready job that is next: of the lane whose turn it is, the earliest enqueued."""
    pairs = [pair for pair in tables.turns if pair[1] in types]
    if not pairs:
        return None
    lane, _ = min(pairs, key=tables.turns.__getitem__)
    return tables.jobs[min(tables.ready[pair][0] for pair in pairs if pair[0] == lane)]


def _grant(
    tables: Tables, now: Instant, job: Job, *, ttl: Duration, worker: str, budget: int
) -> Grant:
    held = replace(
        job,
        state=JobState.RUNNING,
        ready=False,
        attempts=job.attempts + 1,
        token=job.token + 1,
        budget=budget,
        expires_at=now + ttl,
        worker=worker,
    )
    tables.put(held)
    return Grant(
        seq=held.seq,
        token=held.token,
        id=held.id,
        org_id=held.org_id,
        type=held.type,
        payload=held.payload,
        run_id=held.run_id,
        attempt=held.attempts,
        max_attempts=held.budget,
        enqueued_at=held.enqueued_at,
        due_at=held.due_at,
        granted_at=now,
        expires_at=now + ttl,
        reclaimed=held.reclaimed,
    )


def _next_due_in(tables: Tables, now: Instant, types: Collection[str]) -> Duration | None:
    first = [tables.delayed[type_][0][0] for type_ in types if tables.delayed[type_]]
    return max(0, min(first) - now) if first else None
