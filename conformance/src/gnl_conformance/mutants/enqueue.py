"""Stores that add jobs wrongly."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import MemoryJobs
from gnl_core.spi import Added, DepthRefused, Instant, Known, NewJob


@breaks("enqueue.once", "after its id was added again")
class ForgetsFinishedIds(JobTable):
    """Takes an id for new once its job has finished."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        for job in jobs:
            old = self._by_id.get((job.org_id, job.id))
            if old is not None and not old.record.state.live:
                self._delete(old.record.seq)
        return super().add(jobs, max_depth)


@breaks("enqueue.once", "one id in two more lanes")
class IdsAreGlobal(JobTable):
    """Takes an id for known when another organization has it."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        lane_of = {name: org for org, name in self._by_id}
        moved = [replace(job, org_id=lane_of.setdefault(job.id, job.org_id)) for job in jobs]
        return super().add(moved, max_depth)


@breaks("enqueue.once", "calls that say that they created the job")
class LooksThenAdds(MemoryJobs):
    """Asks whether an id is known, and answers by that when it has added the job."""

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        known = [self._table.get(job.org_id, job.id) for job in jobs]
        await asyncio.sleep(0)
        answer = await super().add(jobs, max_depth=max_depth, connection=connection)
        if isinstance(answer, DepthRefused):
            return answer
        return Added(tuple(Known(old.type, old.payload) if old else None for old in known))


@breaks("enqueue.known", "job")
class EnqueueReplaces(JobTable):
    """Gives a known job the new content."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        for job in jobs:
            old = self._by_id.get((job.org_id, job.id))
            if old is not None:
                old.record = replace(old.record, payload=job.payload)
        return super().add(jobs, max_depth)


@breaks("enqueue.order", "answers: expected")
class AnswersNewOnesFirst(JobTable):
    """Answers for new jobs before it answers for known ones."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        answer = super().add(jobs, max_depth)
        if isinstance(answer, DepthRefused):
            return answer
        return Added(tuple(sorted(answer.known, key=lambda known: known is not None)))


@breaks("enqueue.order", "sequence numbers in call order are")
class NumbersBackwards(JobTable):
    """Numbers the jobs of a call from its end."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        answer = super().add(jobs[::-1], max_depth)
        return answer if isinstance(answer, DepthRefused) else Added(answer.known[::-1])


@breaks("enqueue.atomic", "while 400 jobs were being added")
class RowByRow(MemoryJobs):
    """Adds each job of a call for itself."""

    pause = 0.0
    pauses = 1

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        if max_depth is not None or connection is not None:
            return await super().add(jobs, max_depth=max_depth, connection=connection)
        known: list[Known | None] = []
        for job in jobs:
            answer = await super().add([job])
            assert isinstance(answer, Added)
            known += answer.known
            for _ in range(self.pauses):
                await asyncio.sleep(self.pause)
        return Added(tuple(known))


@breaks("enqueue.atomic", "canceled left")
class CutShort(RowByRow):
    """Adds each job of a call for itself, and can be stopped between two."""


@breaks("enqueue.atomic", "a job of the refused call")
class WritesWhatFits(JobTable):
    """Adds those jobs of a refused call whose organization has room."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        answer = super().add(jobs, max_depth)
        if isinstance(answer, DepthRefused):
            super().add([job for job in jobs if job.org_id != answer.org_id], None)
        return answer


@breaks("enqueue.depth", "answer to 41 jobs more")
class DepthIgnoresTheCall(JobTable):
    """Looks at the depth before the call only."""

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        refused = super()._too_deep(jobs, created, limit)
        return refused if refused is not None and refused.depth >= limit else None


@breaks("enqueue.depth", "five known jobs and the sixth")
class DepthCountsKnown(JobTable):
    """Counts jobs that are there already once more."""

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        return super()._too_deep(jobs, jobs, limit)


@breaks("enqueue.depth", "twelve calls at once")
class DepthIsReadBefore(MemoryJobs):
    """Reads the depth in one step and adds in the next."""

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        refused = self._table._too_deep(jobs, jobs, max_depth) if max_depth is not None else None
        await asyncio.sleep(0)
        return refused or await super().add(jobs, connection=connection)


@breaks("enqueue.names", "is not in the store")
class IgnoresCase(JobTable):
    """Compares ids without case."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        return super().add([replace(job, id=job.id.casefold()) for job in jobs], max_depth)


@breaks("enqueue.names", "jobs listed for organization")
class TrimsOrganizations(JobTable):
    """Drops blanks at the end of an organization's name."""

    def _create(self, new: NewJob, now: Instant) -> None:
        super()._create(replace(new, org_id=new.org_id and new.org_id.rstrip(" ")), now)


@breaks("enqueue.payload", "payloads granted")
class RewritesJson(JobTable):
    """Reads a payload as JSON and writes it anew."""

    def _create(self, new: NewJob, now: Instant) -> None:
        with contextlib.suppress(ValueError):
            new = replace(new, payload=json.dumps(json.loads(new.payload)))
        super()._create(new, now)


@breaks("enqueue.payload", "1 MiB")
class CutsAt64K(JobTable):
    """Keeps the first 65,535 characters."""

    def _create(self, new: NewJob, now: Instant) -> None:
        super()._create(replace(new, payload=new.payload[:65_535]), now)


@breaks("enqueue.bulk", "30,000 new jobs")
class TakesTenThousand(JobTable):
    """Adds the first ten thousand jobs of a call."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        return super().add(jobs[:10_000], max_depth)


@breaks("enqueue.delay", "early")
class IgnoresDelay(JobTable):
    """Says when a job falls due, and grants it before."""

    def _create(self, new: NewJob, now: Instant) -> None:
        super()._create(new, now)
        self._delayed.discard(self._seq)
        if not self._by_seq[self._seq].ready:
            self._make_ready(self._by_seq[self._seq])


@breaks("enqueue.delay", "once its delay is over")
class DelaysTwice(JobTable):
    """Grants a delayed job after twice its delay."""

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        for seq in sorted(self._delayed):
            record = self._by_seq[seq].record
            due_at = record.due_at or 0
            if due_at + (due_at - record.enqueued_at) <= now:
                self._delayed.discard(seq)
                self._make_ready(self._by_seq[seq])
