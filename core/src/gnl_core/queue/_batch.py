"""The jobs of one call: checked, repeated ids made one, conflicts found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gnl_core._shown import shown
from gnl_core.codec import same_content
from gnl_core.errors import IdConflict, InvalidInput, InvalidJob
from gnl_core.ids import check_name, new_ids
from gnl_core.queue._job import Job, to_new_job
from gnl_core.spi import Known, NewJob


@dataclass(frozen=True, slots=True)
class Conflict:
    """A job whose id is taken by one with another type or payload; `index` is its place."""

    index: int | None
    job: NewJob
    difference: str

    def describe(self) -> str:
        """One sentence for a log or an error."""
        where = "" if self.job.org_id is None else f" of organization {shown(self.job.org_id)}"
        return f"id {shown(self.job.id)}{where} is known with {self.difference}; that job stays"

    def error(self, *, written: bool) -> IdConflict:
        """The error for it; `written` if the other jobs of the call are in the store."""
        rest = "the other jobs of the call were written" if written else "nothing was written"
        return IdConflict(
            f"{self.describe()}, and {rest}; use another id, or on_conflict='keep'",
            id=self.job.id,
            org_id=self.job.org_id,
            index=self.index,
            written=written,
        )


@dataclass(slots=True)
class Batch:
    """`ids` answers the call. `new` are its distinct jobs, found at `indexes` of the call.

    `repeats` are jobs left out because an earlier one of the call has their id, as far as they
    differ from it.
    """

    ids: list[str] = field(default_factory=list)
    new: list[NewJob] = field(default_factory=list)
    indexes: list[int] = field(default_factory=list)
    named: list[int] = field(default_factory=list)
    """Positions in `new` of the jobs that were given an id."""
    repeats: list[Conflict] = field(default_factory=list)


def prepare(jobs: Iterable[Job]) -> Batch:
    """Check and encode every job. Raises `InvalidJob` with the index of the first bad one."""
    batch, first = Batch(), dict[tuple[str | None, str], NewJob]()
    jobs = list(jobs)
    fresh = iter(new_ids(len(jobs)))
    for index, job in enumerate(jobs):
        new = _check(job, index, fresh)
        batch.ids.append(new.id)
        if job.id is not None:
            earlier = first.setdefault((new.org_id, new.id), new)
            if earlier is not new:
                batch.repeats += find_conflict(index, new, Known(earlier.type, earlier.payload))
                continue
            batch.named.append(len(batch.new))
        batch.new.append(new)
        batch.indexes.append(index)
    return batch


def find_conflict(index: int | None, job: NewJob, known: Known | None) -> Sequence[Conflict]:
    """The conflict of `job` with the one that has its id, if there is one."""
    if known is None:
        return ()
    if job.type != known.type:
        types = f"type {shown(known.type)} instead of {shown(job.type)}"
        return (Conflict(index, job, types),)
    if not same_content(job.payload, known.payload):
        return (Conflict(index, job, "another payload"),)
    return ()


def _check(job: Job, index: int, fresh: Iterator[str]) -> NewJob:
    if not isinstance(job, Job):
        raise InvalidJob(f"expected a Job, not {type(job).__name__}: {shown(job)}", index=index)
    try:
        return to_new_job(job, next(fresh) if job.id is None else check_name(job.id, "id"))
    except InvalidInput as error:
        raise InvalidJob(str(error), index=index) from None
