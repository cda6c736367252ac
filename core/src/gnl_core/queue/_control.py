"""Looking at single jobs and changing their fate."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Final

from gnl_core._counts import check_count
from gnl_core._durations import Seconds, to_duration
from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.queue._listing import to_state
from gnl_core.queue._records import JobInfo, to_info
from gnl_core.spi import JobState, Lane, Store

PRUNE_BATCH: Final = 10_000


class CancelAnswer(StrEnum):
    """What `cancel_job` found and did. True in a condition if the job is or will be stopped."""

    CANCELED = "canceled"
    """It was waiting; it will never start."""
    TOLD = "told"
    """It is running: its handler is told, and what it answers is discarded."""
    FINISHED = "finished"
    """It had finished before; nothing was changed."""
    UNKNOWN = "unknown"
    """No job has this id in this organization."""

    def __bool__(self) -> bool:
        return self in (CancelAnswer.CANCELED, CancelAnswer.TOLD)


class RetryAnswer(StrEnum):
    """What `retry_job` found and did. True in a condition if the job was revived."""

    REVIVED = "revived"
    """It was dead; it is due now, with a fresh budget."""
    NOT_DEAD = "not-dead"
    """It is waiting, running, done or canceled; nothing was changed."""
    UNKNOWN = "unknown"
    """No job has this id in this organization."""

    def __bool__(self) -> bool:
        return self is RetryAnswer.REVIVED


async def get_job(work: Store, id: str, *, org_id: str | None = None) -> JobInfo | None:
    """One job with its failures, or None if its organization has no job of this id.

    Costs the same whatever the size of the queue.
    """
    record = await work.jobs.get(*_name(org_id, id))
    return None if record is None else to_info(record)


async def cancel_job(work: Store, id: str, *, org_id: str | None = None) -> CancelAnswer:
    """Cancel a job: a waiting one never starts, a running one is told. The answer says which."""
    match await work.jobs.cancel(*_name(org_id, id)):
        case None:
            return CancelAnswer.UNKNOWN
        case JobState.WAITING:
            return CancelAnswer.CANCELED
        case JobState.RUNNING:
            return CancelAnswer.TOLD
    return CancelAnswer.FINISHED


async def retry_job(work: Store, id: str, *, org_id: str | None = None) -> RetryAnswer:
    """Revive a dead job in place: same id, same run, fresh budget, history kept.

    Anything but a dead job is left alone, so a second call does nothing.
    """
    match await work.jobs.revive(*_name(org_id, id)):
        case None:
            return RetryAnswer.UNKNOWN
        case JobState.DEAD:
            return RetryAnswer.REVIVED
    return RetryAnswer.NOT_DEAD


async def prune_jobs(
    work: Store,
    *,
    older_than: Seconds | None = None,
    keep: int | None = None,
    states: Collection[JobState | str] = ("done", "canceled"),
) -> int:
    """Delete finished jobs and return how many. Their ids are free again.

    Deletes those that finished at least `older_than` ago, and those beyond the `keep` latest
    finished; at least one of the two must be given. Dead jobs go only if `states` names them.
    Deletes in batches of 10,000, each of which is one decision.
    """
    if older_than is None and keep is None:
        raise InvalidInput("give older_than, keep, or both: without them nothing is pruned")
    age = None if older_than is None else to_duration(older_than, "older_than")
    count = check_count(keep, "keep", least=0)
    finished = _finished(states)
    total = 0
    while True:
        deleted = await work.jobs.prune(finished, older_than=age, keep=count, limit=PRUNE_BATCH)
        total += deleted
        if deleted < PRUNE_BATCH:
            return total


async def job_depth(work: Store, org_id: str | None = None) -> int:
    """How many live jobs (waiting or running) an organization has; None: jobs without one."""
    return await work.jobs.depth(None if org_id is None else check_name(org_id, "org_id"))


async def list_lanes(work: Store) -> tuple[Lane, ...]:
    """Every lane with live jobs: the one without organization first, then by name."""
    return await work.jobs.lanes()


def _name(org_id: str | None, id: str) -> tuple[str | None, str]:
    return None if org_id is None else check_name(org_id, "org_id"), check_name(id, "id")


def _finished(states: Collection[JobState | str]) -> frozenset[JobState]:
    if isinstance(states, (str, JobState)):
        raise InvalidInput(f"states is one state; give a collection, as in [{states!r}]")
    finished = frozenset(map(to_state, states))
    live = sorted(state.value for state in finished if state.live)
    if live or not finished:
        raise InvalidInput(
            f"states names {', '.join(live) or 'nothing'}; only done, dead and canceled jobs"
            " can be pruned"
        )
    return finished
