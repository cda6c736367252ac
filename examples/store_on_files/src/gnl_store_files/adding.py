"""The decision `add`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import uuid4

from gnl_core.spi import Added, DepthRefused, Instant, Known, NewJob
from gnl_store_files.rows import Job
from gnl_store_files.tables import Tables


def add(
    tables: Tables, now: Instant, jobs: Sequence[NewJob], max_depth: int | None
) -> Added | DepthRefused:
    """Add all of `jobs` or, if a lane would get too deep, none."""
    found = [tables.find(new.org_id, new.id) for new in jobs]
    refused = _too_deep(tables, jobs, found, max_depth)
    if refused:
        return refused
    for new, known in zip(jobs, found, strict=True):
        if known is None:
            tables.put(_row(tables, now, new))
    return Added(tuple(Known(known.type, known.payload) if known else None for known in found))


def _too_deep(
    tables: Tables, jobs: Sequence[NewJob], found: Sequence[Job | None], limit: int | None
) -> DepthRefused | None:
    if limit is None:
        return None
    created: Counter[str | None] = Counter()
    for new, known in zip(jobs, found, strict=True):
        if known is None:
            created[new.org_id] += 1
    for org_id, count in created.items():
        if tables.live[org_id] + count > limit:
            return DepthRefused(org_id, tables.live[org_id], count, limit)
    return None


def _row(tables: Tables, now: Instant, new: NewJob) -> Job:
    due_at = now + new.delay if new.run_at is None else new.run_at
    return Job(
        seq=tables.next_seq(),
        id=new.id,
        org_id=new.org_id,
        type=new.type,
        payload=new.payload,
        max_attempts=new.max_attempts,
        run_id=str(uuid4()),
        enqueued_at=now,
        due_at=due_at,
        ready=due_at <= now,
    )
