"""What is only read: `get`, `page`, `depth` and `lanes`."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

from gnl_core.spi import (
    JobPage,
    JobRecord,
    JobState,
    Lane,
    OneLane,
    Scope,
    StoreRejected,
)
from gnl_store_files.rows import Job
from gnl_store_files.tables import Tables


def get(tables: Tables, org_id: str | None, id: str) -> JobRecord | None:
    """One job with its history."""
    job = tables.find(org_id, id)
    return job.record(history=True) if job else None


def page(
    tables: Tables,
    scope: Scope,
    position: str | None,
    limit: int,
    states: Collection[JobState],
) -> JobPage:
    """The next `limit` jobs, less those of other states.

    The position holds the last number given at the first page, for what is added later has a
    greater one, and the job that was looked at last.
    """
    horizon, after = _read(position) if position else (tables.last_seq, None)
    found = list(islice(_walk(tables, scope, horizon, after), limit + 1))
    shown = found[:limit]
    more = len(found) > limit
    return JobPage(
        tuple(job.record(history=False) for job in shown if not states or job.state in states),
        json.dumps([horizon, shown[-1].org_id, shown[-1].seq]) if more and shown else None,
    )


def _walk(
    tables: Tables, scope: Scope, horizon: int, after: tuple[str | None, int] | None
) -> Iterator[Job]:
    orgs = [scope.org_id] if isinstance(scope, OneLane) else _by_name(tables.lanes)
    for org_id in orgs:
        if after and _name(org_id) < _name(after[0]):
            continue
        seqs = tables.lanes.get(org_id, [])
        start = bisect_right(seqs, after[1]) if after and after[0] == org_id else 0
        for seq in islice(seqs, start, bisect_right(seqs, horizon)):
            yield tables.jobs[seq]


def _read(position: str) -> tuple[int, tuple[str | None, int]]:
    with suppress(ValueError):
        match json.loads(position):
            case [int(horizon), str() | None as org_id, int(seq)]:
                return horizon, (org_id, seq)
    raise StoreRejected(f"{position!r} is no position of a listing: list anew")


def depth(tables: Tables, org_id: str | None) -> int:
    """How many live jobs one lane has."""
    return tables.live[org_id]


def lanes(tables: Tables) -> tuple[Lane, ...]:
    """Every lane with live jobs, counted."""
    counts = {org_id: [0, 0, 0] for org_id, live in tables.live.items() if live}
    for job in tables.jobs.values():
        if job.state is JobState.WAITING:
            counts[job.org_id][0 if job.ready else 1] += 1
        elif job.state is JobState.RUNNING:
            counts[job.org_id][2] += 1
    return tuple(Lane(org_id, *counts[org_id]) for org_id in _by_name(counts))


def _by_name(orgs: Collection[str | None]) -> list[str | None]:
    return sorted(orgs, key=_name)


def _name(org_id: str | None) -> tuple[bool, str]:
    """No organization first, then by name: Python orders text as its UTF-8 bytes are ordered."""
    return (org_id is not None, org_id or "")
