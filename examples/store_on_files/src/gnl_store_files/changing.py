"""The decisions that people take about single jobs, and `prune`."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection
from dataclasses import replace
from heapq import merge
from itertools import islice

from gnl_core.spi import Duration, Instant, JobState
from gnl_store_files.tables import Tables


def cancel(tables: Tables, now: Instant, org_id: str | None, id: str) -> JobState | None:
    """Cancel a waiting job, mark a running one."""
    job = tables.find(org_id, id)
    if job is None:
        return None
    if job.state is JobState.WAITING:
        tables.put(job.ends(now, JobState.CANCELED))
    elif job.state is JobState.RUNNING:
        tables.put(replace(job, cancel_requested=True))
    return job.state


def revive(tables: Tables, now: Instant, org_id: str | None, id: str) -> JobState | None:
    """Make a dead job ready again: same run, same place, a fresh budget."""
    job = tables.find(org_id, id)
    if job is None:
        return None
    if job.state is JobState.DEAD:
        tables.put(replace(job.waits(now, now), attempts=0, finished_at=None))
    return job.state


def prune(
    tables: Tables,
    now: Instant,
    states: Collection[JobState],
    *,
    older_than: Duration | None,
    keep: int | None,
    limit: int,
) -> int:
    """Delete finished jobs, oldest first. Both conditions name a beginning of that order."""
    lists = [tables.finished[state] for state in set(states)]
    count = 0
    if older_than is not None:
        until = (now - older_than, tables.last_seq)
        count = sum(bisect_right(entries, until) for entries in lists)
    if keep is not None:
        count = max(count, sum(map(len, lists)) - keep)
    doomed = list(islice(merge(*lists), min(count, limit)))
    for _, seq in doomed:
        tables.drop(tables.jobs[seq])
    return len(doomed)
