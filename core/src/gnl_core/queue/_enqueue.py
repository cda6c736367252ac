"""Enqueuing: everything is checked and encoded first, then added in one decision."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias

from gnl_core._counts import check_count
from gnl_core._durations import Seconds
from gnl_core._shown import shown
from gnl_core.errors import InvalidInput, InvalidJob, QueueFull
from gnl_core.ids import check_name, new_id
from gnl_core.queue._batch import Batch, Conflict, find_conflict, prepare
from gnl_core.queue._job import Job, to_new_job
from gnl_core.spi import Added, Known, NewJob, Store

OnConflict: TypeAlias = Literal["keep", "raise"]

_log = logging.getLogger("gnl.queue")


async def enqueue(
    work: Store,
    type: str,
    payload: object = None,
    *,
    id: str | None = None,
    org_id: str | None = None,
    delay: Seconds | None = None,
    run_at: datetime | None = None,
    max_depth: int | None = None,
    max_attempts: int | None = None,
    on_conflict: OnConflict = "keep",
    connection: object | None = None,
) -> str:
    """Write a job and return its id.

    Args:
        work: The store, ``storage.work``.
        type: Which handler runs it.
        payload: A JSON value, or one that holds dates, decimals and the like; see `codec`.
        id: Names the job within its organization; made at random if left out. A job that
            already has the id, in whatever state, stays as it is and is the answer.
        org_id: The organization, whose jobs share a lane; None is a lane of its own.
        delay: Seconds or `timedelta` until it is due, by the store's clock.
        run_at: An aware `datetime` when it is due; in place of `delay`.
        max_depth: Refuse if the organization would have more live jobs than this.
        max_attempts: The job's own budget, in place of the worker's.
        on_conflict: What to do if `id` is known with another type or payload: "keep" the old
            job and log a warning, or "raise" `IdConflict`. The old job is unchanged either way.
        connection: The caller's own transaction, in a form that the store documents; the job
            is committed with it, gone with it, and not visible before.

    Raises:
        InvalidJob: An argument was refused; nothing was written.
        QueueFull: `max_depth` would be exceeded; nothing was written.
        IdConflict: See `on_conflict`; nothing was written.

    """
    job = Job(
        type,
        payload,
        id=id,
        org_id=org_id,
        delay=delay,
        run_at=run_at,
        max_attempts=max_attempts,
    )
    try:
        new = to_new_job(job, new_id() if id is None else check_name(id, "id"))
        limit = _check_call(max_depth, on_conflict)
    except InvalidInput as error:
        raise InvalidJob(str(error)) from None
    known = await _add(work, [new], limit, connection)
    _report(find_conflict(None, new, known[0]), on_conflict, written=False)
    return new.id


async def enqueue_many(
    work: Store,
    jobs: Iterable[Job],
    *,
    max_depth: int | None = None,
    on_conflict: OnConflict = "keep",
    connection: object | None = None,
) -> list[str]:
    """Write any number of jobs in one write, all or none, and return their ids in call order.

    An id that is known already, or repeated in the call for one organization, is one job; the
    first type, payload and options stay. `max_depth` counts per organization; jobs that exist
    already do not count.

    With ``on_conflict="raise"`` ids given are looked up first (one read each), so that a known
    id with another type or payload refuses the call before anything is written. Only if such a
    job appears between the look and the write are the others written all the same; the
    `IdConflict` then says so, and its `written` is true.

    Raises:
        InvalidJob: A job was refused, its `index` says which; nothing was written.
        QueueFull: `max_depth` would be exceeded; nothing was written.
        IdConflict: See above.

    """
    try:
        limit = _check_call(max_depth, on_conflict)
    except InvalidInput as error:
        raise InvalidJob(str(error)) from None
    batch = prepare(jobs)
    _report(batch.repeats, on_conflict, written=False)
    if on_conflict == "raise":
        await _look_up(work, batch)
    if batch.new:
        known = await _add(work, batch.new, limit, connection)
        _report(_conflicts(batch, known), on_conflict, written=True)
    return batch.ids


async def _add(
    work: Store, jobs: Sequence[NewJob], max_depth: int | None, connection: object | None
) -> tuple[Known | None, ...]:
    answer = await work.jobs.add(jobs, max_depth=max_depth, connection=connection)
    if isinstance(answer, Added):
        return answer.known
    raise QueueFull(org_id=answer.org_id, depth=answer.depth, new=answer.new, limit=answer.limit)


async def _look_up(work: Store, batch: Batch) -> None:
    """Refuse conflicts that are there before the write: a store cannot take one write back."""
    for at in batch.named:
        job = batch.new[at]
        record = await work.jobs.get(job.org_id, job.id)
        if record is not None:
            known = Known(record.type, record.payload)
            _report(find_conflict(batch.indexes[at], job, known), "raise", written=False)


def _conflicts(batch: Batch, known: Sequence[Known | None]) -> list[Conflict]:
    return [
        conflict
        for index, job, before in zip(batch.indexes, batch.new, known, strict=True)
        if before is not None
        for conflict in find_conflict(index, job, before)
    ]


def _report(conflicts: Sequence[Conflict], on_conflict: OnConflict, *, written: bool) -> None:
    """Raise for the first conflict, or log one warning for all of them."""
    if not conflicts:
        return
    if on_conflict == "raise":
        raise conflicts[0].error(written=written)
    more = f" (and {len(conflicts) - 1} more in this call)" if len(conflicts) > 1 else ""
    _log.warning("%s%s", conflicts[0].describe(), more)


def _check_call(max_depth: object, on_conflict: object) -> int | None:
    if on_conflict not in ("keep", "raise"):
        raise InvalidInput(f"on_conflict is {shown(on_conflict)}; it must be 'keep' or 'raise'")
    return check_count(max_depth, "max_depth", least=0)
