"""The queue: jobs from enqueuing to their result."""

from gnl_core._pages import Page
from gnl_core.queue._context import JobContext
from gnl_core.queue._control import (
    CancelAnswer,
    RetryAnswer,
    cancel_job,
    get_job,
    job_depth,
    list_lanes,
    prune_jobs,
    retry_job,
)
from gnl_core.queue._enqueue import OnConflict, enqueue, enqueue_many
from gnl_core.queue._job import Job
from gnl_core.queue._listing import list_all_jobs, list_jobs
from gnl_core.queue._records import JobFailure, JobInfo
from gnl_core.queue._worker import Worker
from gnl_core.runtime import DeadLetter, GiveBack, Retry

__all__ = [
    "CancelAnswer",
    "DeadLetter",
    "GiveBack",
    "Job",
    "JobContext",
    "JobFailure",
    "JobInfo",
    "OnConflict",
    "Page",
    "Retry",
    "RetryAnswer",
    "Worker",
    "cancel_job",
    "enqueue",
    "enqueue_many",
    "get_job",
    "job_depth",
    "list_all_jobs",
    "list_jobs",
    "list_lanes",
    "prune_jobs",
    "retry_job",
]
