"""Jobs that end, and failed attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import JobState
from gnl_store_sql import Step, Steps
from gnl_store_sqlite._clock import Tick

_ENTER_FINISHED: Final = (
    "INSERT INTO gnl_finished (seq, org, state, result, error, attempts, finished_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_RECORD_FAILURE: Final = (
    "INSERT INTO gnl_failures (seq, n, attempt, error, failed_at) "
    "SELECT ?, coalesce(max(n), 0) + 1, ?, ?, ? FROM gnl_failures WHERE seq = ?"
)


class Ended(NamedTuple):
    """A job that ends in `state`."""

    seq: int
    org: str
    state: JobState
    result: str | None
    error: str | None
    attempts: int


def finish(tick: Tick, jobs: Sequence[Ended]) -> Steps[None]:
    """Put the jobs among the finished ones."""
    if jobs:
        rows = [
            (job.seq, job.org, job.state.value, job.result, job.error, job.attempts, tick.now)
            for job in jobs
        ]
        yield Step(_ENTER_FINISHED, rows, many=True)


def record_failures(tick: Tick, failures: Sequence[tuple[int, int, str]]) -> Steps[None]:
    """Note failed attempts, each a sequence number, an attempt and an error."""
    if failures:
        rows = [(seq, attempt, error, tick.now, seq) for seq, attempt, error in failures]
        yield Step(_RECORD_FAILURE, rows, many=True)
