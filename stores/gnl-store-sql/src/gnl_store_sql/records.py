"""Rows of the tables, as records of the store interface."""

from __future__ import annotations

from collections.abc import Iterable

from gnl_core.spi import Failure, JobRecord, JobState, Lane
from gnl_store_sql.statements import Row

RECORD_COLUMNS = (
    "seq",
    "id",
    "org",
    "type",
    "payload",
    "max_attempts",
    "enqueued_at",
    "state",
    "attempts",
    "due_at",
    "worker",
    "expires_at",
    "canceled",
    "result",
    "error",
    "finished_at",
)
"""The columns from which `job_record` makes a record, in order."""

_STATES = {state.value: state for state in JobState}


def run_id(seq: int) -> str:
    """The run of a job: the same for all its attempts."""
    return f"job-{seq}"


def org_text(org_id: str | None) -> str:
    """How a lane is written; the empty string is not a name, so it means none."""
    return "" if org_id is None else org_id


def org_name(org: str) -> str | None:
    """The lane that `org_text` wrote."""
    return org or None


def job_record(row: Row, failures: tuple[Failure, ...] = ()) -> JobRecord:
    """A record from the columns `RECORD_COLUMNS`."""
    seq, id_, org, type_, payload, budget, enqueued_at, state, attempts, *rest = row
    due_at, worker, expires_at, canceled, result, error, finished_at = rest
    return JobRecord(
        seq=seq,
        id=id_,
        org_id=org_name(org),
        type=type_,
        payload=payload,
        state=_STATES[state],
        run_id=run_id(seq),
        attempts=attempts,
        max_attempts=budget,
        enqueued_at=enqueued_at,
        due_at=due_at,
        worker=worker,
        expires_at=expires_at,
        cancel_requested=bool(canceled),
        result=result,
        error=error,
        finished_at=finished_at,
        failures=failures,
    )


def failure_history(rows: Iterable[Row]) -> tuple[Failure, ...]:
    """Failures from rows of attempt, error and instant, oldest first."""
    return tuple(Failure(attempt, error, failed_at) for attempt, error, failed_at in rows)


def lane_counts(rows: Iterable[Row]) -> tuple[Lane, ...]:
    """Lanes from rows of lane, ready, delayed and running."""
    return tuple(Lane(org_name(org), *map(int, counts)) for org, *counts in rows)
