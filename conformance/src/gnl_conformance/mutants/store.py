"""Stores that break what is common to all of a store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import _Data
from gnl_core.spi import (
    CLAIM_SWEEP_LIMIT,
    Capability,
    Claimed,
    Duration,
    Instant,
    JobRecord,
    JobState,
    Lane,
    SchemaVersion,
)


@breaks("store.organization", "states of one id in three lanes")
class CancelsInEveryOrganization(JobTable):
    """Cancels a job by its id alone."""

    def cancel(self, org_id: str | None, id: str) -> JobState | None:
        found = super().cancel(org_id, id)
        for other, name in list(self._by_id):
            if name == id and other != org_id:
                super().cancel(other, name)
        return found


@breaks("store.get", "the running job")
class HidesTheWorker(JobTable):
    """Does not say who holds a job."""

    def get(self, org_id: str | None, id: str) -> JobRecord | None:
        record = super().get(org_id, id)
        if record is not None:
            object.__setattr__(record, "worker", None)
        return record


@breaks("store.depth", "depths")
class DepthCountsWaiting(JobTable):
    """Leaves running jobs out of the depth."""

    def depth(self, org_id: str | None) -> int:
        running = sum(self._by_seq[seq].record.org_id == org_id for seq in self._held)
        return super().depth(org_id) - running


@breaks("store.lanes", "lanes: expected")
class LanesInAnyOrder(JobTable):
    """Gives lanes in the order of their last names."""

    def lanes(self) -> tuple[Lane, ...]:
        return super().lanes()[::-1]


@breaks("store.lanes", "lanes of an empty store")
class LanesNeverEnd(JobTable):
    """Shows lanes without a live job."""

    def lanes(self) -> tuple[Lane, ...]:
        return super().lanes() or (Lane(None, 0, 0, 0),)


@breaks("store.due", "next due of the other type")
class DueOfAnyType(JobTable):
    """Says when a job of any type falls due."""

    def _next_due_in(self, types: Collection[str], now: Instant) -> Duration | None:
        every = {job.record.type for job in self._by_seq.values()}
        return super()._next_due_in(every if types and every & set(types) else types, now)


@breaks("store.due", "a retry is not announced as due")
class RetriesAreNotAnnounced(JobTable):
    """Leaves retries out when it says what is due next."""

    def _next_due_in(self, types: Collection[str], now: Instant) -> Duration | None:
        retried = {seq for seq in self._delayed if self._by_seq[seq].failures}
        self._delayed -= retried
        try:
            return super()._next_due_in(types, now)
        finally:
            self._delayed |= retried


@breaks("store.due", "were due already")
class ForgetsTheRestThatIsDue(JobTable):
    """Says when the next job falls due, and leaves out those that have."""

    def _next_due_in(self, types: Collection[str], now: Instant) -> Duration | None:
        return super()._next_due_in(types, now) or None


@breaks("store.due", "lanes after a claim found")
class WakesAsManyAsAreDue(JobTable):
    """Makes all due jobs ready in one claim, however many they are."""

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        for _ in range(2):
            super()._wake_delayed(types, now)

    def _next_due_in(self, types: Collection[str], now: Instant) -> Duration | None:
        found = super()._next_due_in(types, now)
        return 0 if found is None and len(self._by_seq) > CLAIM_SWEEP_LIMIT else found


@breaks("store.prune", "too young")
class PruneIgnoresAge(JobTable):
    """Prunes young jobs with the old ones."""

    def prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> int:
        young = older_than is not None and older_than > 60_000_000
        return super().prune(states, 0 if young else older_than, keep, limit)


@breaks("store.prune", "of whatever age")
class PruneWantsThemOlder(JobTable):
    """Leaves the jobs that finished just as long ago as was asked for."""

    def prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> int:
        older = None if older_than is None else older_than + 1
        return super().prune(states, older, keep, limit)


@breaks("store.prune", "jobs pruned first")
class PrunesById(JobTable):
    """Prunes in the order of adding, not of finishing."""

    def prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> int:
        for seq in self._finished:
            job = self._by_seq[seq]
            job.record = replace(job.record, finished_at=seq)
        return super().prune(states, older_than, keep, limit)


@breaks("store.prune", "sequence number")
class NumbersAreUsedAgain(JobTable):
    """Numbers a new job like the pruned one that was the last."""

    def _delete(self, seq: int) -> None:
        super()._delete(seq)
        self._seq = max(self._by_seq, default=0)


@breaks("store.prune", "sequence number")
class CountsFromWhatIsLeft(MemoryStore):
    """Finds the last number among the jobs that are left, when it is opened."""

    def _open(self, data: _Data) -> None:
        super()._open(data)
        data.jobs._seq = max(data.jobs._by_seq, default=0)


@breaks("store.clock", "read by two handles in turn")
class RunsBack(JobTable):
    """Lets its clock run back now and then."""

    def now(self) -> Instant:
        self._reads = getattr(self, "_reads", 0) + 1
        return super().now() - (self._reads % 7)


@breaks("store.sibling", "does not hold what the store holds")
class SiblingHasItsOwnData(MemoryStore):
    """Opens a store of its own for a sibling."""

    async def sibling(self) -> MemoryStore:
        return MemoryStore()


def _claims_nothing(*_: object) -> Claimed:
    return Claimed((), None)


@breaks("store.close", "after another was closed twice")
class SecondCloseTakesAll(MemoryStore):
    """Takes other handles' data along when it is closed a second time."""

    closed = False

    async def close(self) -> None:
        if self.closed:
            self._data.jobs.claim = _claims_nothing  # type: ignore[assignment, method-assign] # the break
        self.closed = True


@breaks("store.schema", "depth after a second upgrade")
class UpgradeStartsAfresh(MemoryStore):
    """Drops the tables and creates them anew."""

    async def upgrade(self) -> SchemaVersion:
        vars(self._data.jobs).update(vars(JobTable(self._data.jobs._clock)))
        return await super().upgrade()


@breaks("store.capabilities", "the store says")
class ClaimsTransactions(MemoryStore):
    """Says that it has what it has not."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        return super().capabilities | {Capability.TRANSACTIONS}


@breaks("store.wake", "no hint arrived")
class NeverWakes(MemoryStore):
    """Listens to nothing."""

    async def listen(self, wake: Callable[[], None]) -> None:
        await asyncio.Event().wait()
