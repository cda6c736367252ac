"""Reads that are the same on every SQL store: get, depth, lanes."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
    union_all,
)

from gnl_core.spi import JobRecord, Lane
from gnl_store_sql.records import (
    RECORD_COLUMNS,
    failure_history,
    job_record,
    lane_counts,
    org_text,
)
from gnl_store_sql.statements import SqlDialect, Steps
from gnl_store_sql.tables import Tables


def record_columns(tables: Tables) -> list[ColumnElement[Any]]:
    """The columns `RECORD_COLUMNS` over `record_source`."""
    job, ready, delayed = tables.jobs.c, tables.ready.c, tables.delayed.c
    held, finished = tables.held.c, tables.finished.c
    waits = or_(ready.seq.is_not(None), delayed.seq.is_not(None))
    columns: dict[str, ColumnElement[Any]] = {
        **{name: job[name] for name in RECORD_COLUMNS if name in job},
        "state": case(
            (waits, literal_column("'waiting'")),
            (held.seq.is_not(None), literal_column("'running'")),
            else_=finished.state,
        ),
        "attempts": func.coalesce(
            ready.attempts, delayed.attempts, held.attempts, finished.attempts
        ),
        "due_at": func.coalesce(ready.due_at, delayed.due_at, held.due_at),
        "worker": held.worker,
        "expires_at": held.expires_at,
        "canceled": held.canceled,
        "result": finished.result,
        "error": func.coalesce(ready.error, delayed.error, held.error, finished.error),
        "finished_at": finished.finished_at,
    }
    return [columns[name].label(name) for name in RECORD_COLUMNS]


def record_source(tables: Tables) -> FromClause:
    """Jobs, each with its row in the table of its state."""
    jobs, ready = tables.jobs, tables.ready
    at_ready = and_(
        ready.c.org == jobs.c.org, ready.c.type == jobs.c.type, ready.c.seq == jobs.c.seq
    )
    source: FromClause = jobs.outerjoin(ready, at_ready)
    for table in (tables.delayed, tables.held, tables.finished):
        source = source.outerjoin(table, table.c.seq == jobs.c.seq)
    return source


def select_records(tables: Tables) -> Select[Any]:
    """Every job as `RECORD_COLUMNS`; the caller adds conditions on ``tables.jobs``."""
    return select(*record_columns(tables)).select_from(record_source(tables))


def count_lanes(tables: Tables) -> Select[Any]:
    """Lane, ready, delayed and running jobs of every lane with live jobs, in listing order."""
    counted = ("ready", "delayed", "held")
    parts = []
    for name in counted:
        table = getattr(tables, name)
        counts = [func.count() if name == other else literal_column("0") for other in counted]
        labels = [count.label(other) for count, other in zip(counts, counted, strict=True)]
        parts.append(select(table.c.org, *labels).group_by(table.c.org))
    both = union_all(*parts).subquery("counted")
    sums = [func.sum(both.c[name]) for name in counted]
    return select(both.c.org, *sums).group_by(both.c.org).order_by(both.c.org)


def count_live(tables: Tables) -> Select[Any]:
    """How many live jobs the lane ``:org`` has."""
    counts = [
        select(func.count()).where(table.c.org == bindparam("org")).scalar_subquery()
        for table in (tables.ready, tables.delayed, tables.held)
    ]
    return select((counts[0] + counts[1] + counts[2]).label("depth"))


class Reads:
    """Reads of single jobs and of lanes, compiled for one dialect."""

    def __init__(self, tables: Tables, dialect: SqlDialect) -> None:
        jobs, failures = tables.jobs.c, tables.failures.c
        named = and_(jobs.org == bindparam("org"), jobs.id == bindparam("id"))
        self._get = dialect.compile(select_records(tables).where(named))
        self._failures = dialect.compile(
            select(failures.attempt, failures.error, failures.failed_at)
            .where(failures.seq == bindparam("seq"))
            .order_by(failures.n)
        )
        self._depth = dialect.compile(count_live(tables))
        self._lanes = dialect.compile(count_lanes(tables))

    def get(self, org_id: str | None, id: str) -> Steps[JobRecord | None]:
        """One job with its failures. To be run in one snapshot."""
        rows = yield self._get(org=org_text(org_id), id=id)
        if not rows:
            return None
        history = yield self._failures(seq=rows[0][0])
        return job_record(rows[0], failure_history(history))

    def depth(self, org_id: str | None) -> Steps[int]:
        """How many live jobs one lane has."""
        rows = yield self._depth(org=org_text(org_id))
        return int(rows[0][0])

    def lanes(self) -> Steps[tuple[Lane, ...]]:
        """Every lane with live jobs, in listing order."""
        return lane_counts((yield self._lanes()))
