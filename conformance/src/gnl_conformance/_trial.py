"""What a case is given: a store in a space of its own, and the few verbs that cases need."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from gnl_conformance._case import Case
from gnl_conformance._event_trial import EventTrial
from gnl_conformance._harness import StoreConformance, Transaction, owns_its_time
from gnl_conformance._recorder import RecordedJobs, RecordedStore
from gnl_conformance._violation import NotApplicable
from gnl_core.spi import (
    SECOND,
    Added,
    Capability,
    Done,
    Duration,
    Grant,
    Instant,
    JobRecord,
    JobState,
    NewJob,
    Outcome,
    Store,
    Verdict,
)

LONG: Duration = 3_600 * SECOND
"""A lease or delay that does not end during a case."""

TYPE = "work"


def job(
    id: str,
    org: str | None = None,
    type: str = TYPE,
    payload: str = "null",
    *,
    max_attempts: int | None = None,
    delay: Duration = 0,
    run_at: Instant | None = None,
) -> NewJob:
    """A job to add, with everything but its id left at a default."""
    return NewJob(id, org, type, payload, max_attempts, delay, run_at)


def jobs(count: int, org: str | None = None, type: str = TYPE, prefix: str = "") -> list[NewJob]:
    """`count` jobs of one lane, with ids that say lane and number."""
    return [job(f"{prefix or org or 'none'}-{n}", org, type) for n in range(1, count + 1)]


def ids(grants: Sequence[Grant] | Sequence[JobRecord]) -> list[str]:
    """The ids, in order."""
    return [one.id for one in grants]


class Trial(EventTrial):
    """One case on one store."""

    def __init__(self, harness: StoreConformance, case: Case) -> None:
        super().__init__(case)
        self.harness = harness
        self.space = f"gnl{uuid.uuid4().hex[:12]}"
        # One tick is a time that a lease may take to run out: long where ageing is free.
        self._tick_seconds = 10.0 if owns_its_time(harness) else 0.3
        self._spaces: list[str] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Trial:
        self.store = await self._stack.enter_async_context(self._fresh(self.space))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        for space in self._spaces:
            await self.harness.drop(space)

    @asynccontextmanager
    async def _fresh(self, space: str) -> AsyncIterator[RecordedStore]:
        self._spaces.append(space)
        async with self.harness.connect(space) as store:
            recorded = RecordedStore(store, self._notes)
            await recorded.upgrade()
            yield recorded

    @property
    def jobs(self) -> RecordedJobs:
        """The queue of the store under trial."""
        return self.store.jobs

    @property
    def tick(self) -> Duration:
        """The unit of leases and delays that are to run out during a case."""
        return int(self._tick_seconds * SECOND)

    # Handles, time, transactions

    @asynccontextmanager
    async def handle(self) -> AsyncIterator[RecordedStore]:
        """Another handle on the same space."""
        async with self.harness.connect(self.space) as store:
            yield RecordedStore(store, self._notes)

    @asynccontextmanager
    async def elsewhere(self) -> AsyncIterator[RecordedStore]:
        """An empty store in another space."""
        async with self._fresh(f"{self.space}x{len(self._spaces)}") as store:
            yield store

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        """A transaction on the same space, as the store's user would open one."""
        async with self.harness.transaction(self.space) as transaction:
            yield transaction

    def need_several_writers(self) -> None:
        """Leave a case that a database with one writer at a time makes no sense of."""
        if self.harness.one_writer:
            raise NotApplicable("the database lets one open transaction write at a time")

    async def age(self, ticks: float = 1) -> Instant:
        """Let time pass for the store until its own clock shows it; answers that clock."""
        target = await self.store.now() + int(ticks * self.tick)
        await self.harness.age(self.space, ticks * self._tick_seconds)
        async with asyncio.timeout(10):
            while (now := await self.store.now()) < target:  # noqa: ASYNC110 - its clock is no event
                await asyncio.sleep(0.005)
        return now

    # Doing

    async def add(self, *new: NewJob, max_depth: int | None = None) -> Added:
        """Add jobs in one call that must not be refused."""
        answer = await self.jobs.add(new, max_depth=max_depth)
        self.check(isinstance(answer, Added), f"an add was refused: {answer}")
        assert isinstance(answer, Added)
        return answer

    async def add_singly(self, *new: NewJob) -> None:
        """Add jobs one call each."""
        for one in new:
            await self.add(one)

    async def claim(
        self,
        limit: int = 1,
        *types: str,
        ttl: Duration = LONG,
        worker: str = "w",
        max_attempts: int = 5,
        on: Store | RecordedStore | None = None,
    ) -> tuple[Grant, ...]:
        """Claim up to `limit` jobs of `types` (by default the kit's own type)."""
        where = on or self.store
        claimed = await where.jobs.claim(
            types or (TYPE,), limit, ttl, worker, max_attempts=max_attempts
        )
        return claimed.grants

    async def claim_one(
        self, *types: str, ttl: Duration = LONG, max_attempts: int = 5, worker: str = "w"
    ) -> Grant:
        """Claim the one job that must be ready."""
        grants = await self.claim(1, *types, ttl=ttl, max_attempts=max_attempts, worker=worker)
        self.check(len(grants) == 1, "a claim granted nothing although a job was ready")
        return grants[0]

    async def claim_singly(self, count: int, *types: str) -> list[str]:
        """The ids that `count` claims of one grant, in order; fewer when the queue runs dry."""
        found: list[str] = []
        for _ in range(count):
            found += ids(await self.claim(1, *types))
        return found

    async def settle(self, grant: Grant, verdict: Verdict) -> JobState | None:
        """Settle one grant; the state that the job is in afterwards."""
        settlements = await self.jobs.settle([Outcome(grant.hold, verdict)])
        self.check(len(settlements) == 1, f"settle answered {settlements} to one outcome")
        return settlements[0].state

    async def finish(self, *grants: Grant) -> None:
        """Settle grants as done."""
        await self.jobs.settle([Outcome(grant.hold, Done("null")) for grant in grants])

    async def get(self, id: str, org: str | None = None) -> JobRecord:
        """A job that must be there."""
        record = await self.jobs.get(org, id)
        self.check(record is not None, f"job {id!r} of lane {org!r} is not in the store")
        assert record is not None
        return record

    def has(self, capability: Capability) -> bool:
        """Whether the harness declares this."""
        return capability in self.harness.capabilities
