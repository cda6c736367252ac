"""One job to enqueue: what users write, checked and turned into what stores add."""

from __future__ import annotations

from dataclasses import KW_ONLY
from datetime import datetime

from gnl_core._counts import check_count
from gnl_core._durations import Seconds, to_duration, to_instant
from gnl_core._value import value
from gnl_core.codec import encode
from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.spi import Instant, NewJob


@value
class Job:
    """A job for `enqueue_many`; its fields mean what the arguments of `enqueue` mean."""

    type: str
    payload: object = None
    _: KW_ONLY
    id: str | None = None
    org_id: str | None = None
    delay: Seconds | None = None
    run_at: datetime | None = None
    max_attempts: int | None = None


def to_new_job(job: Job, id: str) -> NewJob:
    """`job` as stores add it, under `id` (checked already). Raises `InvalidInput`."""
    return NewJob(
        id,
        None if job.org_id is None else check_name(job.org_id, "org_id"),
        check_name(job.type, "type"),
        encode(job.payload),
        check_count(job.max_attempts, "max_attempts", least=1),
        0 if job.delay is None else to_duration(job.delay, "delay"),
        _run_at(job),
    )


def _run_at(job: Job) -> Instant | None:
    if job.run_at is None:
        return None
    if job.delay is not None:
        raise InvalidInput("both delay and run_at are given; leave one out")
    return to_instant(job.run_at, "run_at")
