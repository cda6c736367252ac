"""Jobs as users read them: aware datetimes, decoded payloads and results."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gnl_core._durations import to_datetime
from gnl_core.codec import Decoded, decode
from gnl_core.spi import Failure, Instant, JobRecord, JobState


@dataclass(frozen=True, slots=True)
class JobFailure:
    """One failed attempt."""

    attempt: int
    error: str
    failed_at: datetime


@dataclass(frozen=True, slots=True)
class JobInfo:
    """A job as it was when it was read; all times are the store's, in UTC.

    `attempts` counts since enqueuing or since the last `retry_job`. `due_at` is given for
    waiting jobs; `worker`, `lease_expires_at` and `cancel_requested` belong to running ones.
    `error` is the last failure's text. `failures`, oldest first, come with `get_job` only.
    """

    id: str
    org_id: str | None
    type: str
    state: JobState
    run_id: str
    attempts: int
    max_attempts: int | None
    enqueued_at: datetime
    due_at: datetime | None
    worker: str | None
    lease_expires_at: datetime | None
    cancel_requested: bool
    error: str | None
    finished_at: datetime | None
    failures: tuple[JobFailure, ...]
    payload_text: str = field(repr=False)
    result_text: str | None = field(repr=False)

    # Decoded on demand: one damaged row must not spoil a listing.

    @property
    def payload(self) -> Decoded:
        """What was enqueued. Raises `UndecodableText` if the stored text is damaged."""
        return decode(self.payload_text)

    @property
    def result(self) -> Decoded:
        """What the handler returned; None as well unless the job is done."""
        return None if self.result_text is None else decode(self.result_text)


def to_info(record: JobRecord) -> JobInfo:
    """`record` as users read it."""
    return JobInfo(
        id=record.id,
        org_id=record.org_id,
        type=record.type,
        state=record.state,
        run_id=record.run_id,
        attempts=record.attempts,
        max_attempts=record.max_attempts,
        enqueued_at=to_datetime(record.enqueued_at),
        due_at=_moment(record.due_at),
        worker=record.worker,
        lease_expires_at=_moment(record.expires_at),
        cancel_requested=record.cancel_requested,
        error=record.error,
        finished_at=_moment(record.finished_at),
        failures=tuple(map(_failure, record.failures)),
        payload_text=record.payload,
        result_text=record.result,
    )


def _failure(failure: Failure) -> JobFailure:
    return JobFailure(failure.attempt, failure.error, to_datetime(failure.failed_at))


def _moment(instant: Instant | None) -> datetime | None:
    return None if instant is None else to_datetime(instant)
