"""One job as the files keep it: a frozen row. A change is a new row in place of the old one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from gnl_core.spi import Failure, Instant, JobRecord, JobState
from gnl_store_files.lines import Json

FIXED = ("id", "org_id", "type", "payload", "max_attempts", "run_id", "enqueued_at")
MOVING = (
    *("due_at", "state", "ready", "attempts", "token", "budget", "expires_at", "worker"),
    *("cancel_requested", "reclaimed", "result", "finished_at", "failures"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """What a job was enqueued with (never changes), and where it is now.

    `ready` is a waiting job that was found due; a waiting job that is not is delayed.
    `token` and `budget` are those of the latest grant.
    """

    seq: int
    id: str
    org_id: str | None
    type: str
    payload: str
    max_attempts: int | None
    run_id: str
    enqueued_at: Instant

    due_at: Instant
    state: JobState = JobState.WAITING
    ready: bool = False
    attempts: int = 0
    token: int = 0
    budget: int = 0
    expires_at: Instant | None = None
    worker: str | None = None
    cancel_requested: bool = False
    reclaimed: bool = False
    result: str | None = None
    finished_at: Instant | None = None
    failures: tuple[Failure, ...] = ()

    def waits(self, now: Instant, due_at: Instant) -> Job:
        """The job waiting for `due_at`, held by no one."""
        free = self._free(JobState.WAITING)
        return replace(free, due_at=due_at, ready=due_at <= now)

    def ends(self, now: Instant, state: JobState, result: str | None = None) -> Job:
        """The job finished now."""
        return replace(self._free(state), finished_at=now, result=result)

    def fails(self, now: Instant, error: str) -> Job:
        """The job with one failure more in its history."""
        return replace(self, failures=(*self.failures, Failure(self.attempts, error, now)))

    def _free(self, state: JobState) -> Job:
        return replace(
            self,
            state=state,
            ready=False,
            expires_at=None,
            worker=None,
            cancel_requested=False,
            reclaimed=False,
        )

    def record(self, *, history: bool) -> JobRecord:
        """What callers are shown."""
        return JobRecord(
            seq=self.seq,
            id=self.id,
            org_id=self.org_id,
            type=self.type,
            payload=self.payload,
            state=self.state,
            run_id=self.run_id,
            attempts=self.attempts,
            max_attempts=self.max_attempts,
            enqueued_at=self.enqueued_at,
            due_at=self.due_at,
            worker=self.worker,
            expires_at=self.expires_at,
            cancel_requested=self.cancel_requested,
            result=self.result,
            error=self.failures[-1].error if self.failures else None,
            finished_at=self.finished_at,
            failures=self.failures if history else (),
        )


def to_json(job: Job, *, whole: bool) -> dict[str, Json]:
    """A row for the log: all of it, or only what moves."""
    fields: dict[str, Json] = {
        name: getattr(job, name) for name in (FIXED + MOVING if whole else MOVING)
    }
    fields["state"] = job.state.value
    fields["failures"] = [[one.attempt, one.error, one.failed_at] for one in job.failures]
    return fields


def from_json(seq: int, fields: dict[str, Json], before: Job | None) -> Job:
    """The row of the log, laid over the row before it."""
    failures = cast("list[tuple[int, str, int]]", fields["failures"])
    values = {
        **fields,
        "state": JobState(fields["state"]),
        "failures": tuple(Failure(*one) for one in failures),
    }
    if before is None:
        return Job(seq, **values)  # type: ignore[arg-type] # written by `to_json`
    return replace(before, **values)  # type: ignore[arg-type] # written by `to_json`
