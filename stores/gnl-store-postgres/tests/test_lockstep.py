"""The same calls on this store and on the reference store give the same answers."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import asyncpg
import pytest

from gnl_core.memory import MemoryStore
from gnl_core.spi import (
    SECOND,
    Claimed,
    Dead,
    Done,
    EveryLane,
    Hold,
    JobPage,
    JobRecord,
    JobState,
    JobStore,
    NewJob,
    OneLane,
    Outcome,
    Release,
    Retry,
    Verdict,
)

T = TypeVar("T")

ORGS = (None, "a", "A", "b ", "é😀")
TYPES = ("t", "u", "v'\"")
FINISHED = (JobState.DONE, JobState.DEAD, JobState.CANCELED)


@dataclass
class Clock:
    now: int = 1_000 * SECOND

    def __call__(self) -> int:
        return self.now


@dataclass
class Side:
    """One store, with its own numbers for the same things."""

    jobs: JobStore
    seqs: dict[int, int] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)

    def symbol(self, seq: int) -> int:
        return self.seqs.setdefault(seq, len(self.seqs))

    def claimed(self, answer: Claimed) -> object:
        self.holds += [grant.hold for grant in answer.grants]
        tokens = [grant.token for grant in answer.grants]
        assert tokens == sorted(set(tokens))
        return answer.next_due_in, [
            replace(g, seq=self.symbol(g.seq), token=0, run_id="") for g in answer.grants
        ]

    def record(self, record: JobRecord | None) -> JobRecord | None:
        if record is None:
            return None
        assert record.run_id == f"job-{record.seq}"
        return replace(record, seq=self.symbol(record.seq), run_id="")

    def page(self, page: JobPage) -> object:
        return [self.record(record) for record in page.items], page.position is None


class Pair:
    """Both stores, driven by one source of random choices."""

    def __init__(
        self, rng: random.Random, clock: Clock, ours: JobStore, control: asyncpg.Connection
    ) -> None:
        self.control = control
        self.rng = rng
        self.clock = clock
        self.left = Side(MemoryStore(clock).jobs)
        self.right = Side(ours)
        self.ids = 0
        self.grants = 0

    async def both(
        self, call: Callable[[Side], Awaitable[T]], view: Callable[[Side, T], object] | None = None
    ) -> T:
        left, right = await call(self.left), await call(self.right)
        if view is None:
            assert right == left
        else:
            assert view(self.right, right) == view(self.left, left)
        return left

    async def step(self) -> None:
        choices = [self.add, self.claim, self.claim, self.settle, self.settle, self.extend]
        choices += [self.change, self.tick, self.read, self.prune]
        weights = [6, 4, 4, 4, 4, 2, 3, 5, 2, 1]
        await self.rng.choices(choices, weights)[0]()

    async def tick(self) -> None:
        self.clock.now += self.rng.choice((1_000, 300_000, SECOND, 5 * SECOND))
        await self.set_clock()

    async def set_clock(self) -> None:
        await self.control.execute("update test_clock set at = $1", self.clock.now)

    def new_job(self) -> NewJob:
        self.ids += 1
        id_ = str(self.rng.randrange(self.ids) if self.rng.random() < 0.15 else self.ids)
        soon = self.rng.random() < 0.3
        return NewJob(
            id_,
            self.rng.choice(ORGS),
            self.rng.choice(TYPES),
            f'{{"n": {self.ids}}}',
            max_attempts=self.rng.choice((None, None, 1, 2)),
            delay=self.rng.choice((0, 1, SECOND)) if soon else 0,
            run_at=self.clock.now + self.rng.randint(-SECOND, SECOND)
            if self.rng.random() < 0.1
            else None,
        )

    async def add(self) -> None:
        jobs = {
            (j.org_id, j.id): j
            for j in (self.new_job() for _ in range(self.rng.choice((1, 1, 3, 8))))
        }
        depth = self.rng.choice((None, None, 5, 20))
        await self.both(lambda side: side.jobs.add(list(jobs.values()), max_depth=depth))

    async def claim(self) -> None:
        types = self.rng.sample(TYPES, self.rng.randint(1, 3))
        limit = self.rng.choice((1, 2, 3, 7, 20))
        ttl = self.rng.choice((1, SECOND, 3 * SECOND))
        answer = await self.both(
            lambda side: side.jobs.claim(types, limit, ttl, "w", max_attempts=3), Side.claimed
        )
        self.grants += len(answer.grants)

    def verdict(self) -> Verdict:
        delay = self.rng.choice((0, 0, SECOND))
        verdicts = (Done('"r"'), Retry(delay, "e"), Dead("dead"), Release(delay))
        return self.rng.choices(verdicts, (4, 3, 1, 2))[0]

    def some_holds(self) -> list[int]:
        """Places in the lists of holds, among the latest, old ones and doubles included."""
        known = len(self.left.holds)
        first = max(0, known - 25)
        return (
            [self.rng.randrange(first, known) for _ in range(self.rng.randint(0, 6))]
            if known
            else []
        )

    async def settle(self) -> None:
        ends = [(at, self.verdict()) for at in self.some_holds()]
        await self.both(
            lambda side: side.jobs.settle([Outcome(side.holds[at], v) for at, v in ends])
        )

    async def extend(self) -> None:
        places = self.some_holds()
        await self.both(
            lambda side: side.jobs.extend([side.holds[at] for at in places], 2 * SECOND)
        )

    async def change(self) -> None:
        org, id_ = self.rng.choice(ORGS), str(self.rng.randint(0, self.ids))
        if self.rng.random() < 0.5:
            await self.both(lambda side: side.jobs.cancel(org, id_))
        else:
            await self.both(lambda side: side.jobs.revive(org, id_))

    async def prune(self) -> None:
        states = self.rng.sample(FINISHED, self.rng.randint(1, 3))
        older = self.rng.choice((None, 0, 5 * SECOND))
        keep = self.rng.choice((None, 0, 3, 20))
        limit = self.rng.choice((2, 10_000))
        await self.both(
            lambda side: side.jobs.prune(states, older_than=older, keep=keep, limit=limit)
        )

    async def read(self) -> None:
        await self.both(lambda side: side.jobs.lanes())
        org = self.rng.choice(ORGS)
        await self.both(lambda side: side.jobs.depth(org))
        id_ = str(self.rng.randint(0, self.ids))
        await self.both(lambda side: side.jobs.get(org, id_), Side.record)

    async def compare_all(self) -> None:
        """Every job with its history, and whole listings in pages, while jobs are added."""
        for scope in (EveryLane(), *map(OneLane, ORGS)):
            states = self.rng.sample(list(JobState), self.rng.randint(0, 3))
            size = self.rng.randint(1, 40)
            positions: dict[int, str | None] = {id(self.left): None, id(self.right): None}
            while True:
                left, right = [
                    await side.jobs.page(scope, positions[id(side)], size, states=states)
                    for side in (self.left, self.right)
                ]
                assert self.right.page(right) == self.left.page(left)
                positions = {id(self.left): left.position, id(self.right): right.position}
                if left.position is None:
                    break
                await self.add()
        for org in ORGS:
            for number in range(self.ids + 1):
                await self.both(lambda side: side.jobs.get(org, str(number)), Side.record)  # noqa: B023


TEST_CLOCK = """
create table test_clock (at bigint not null);
insert into test_clock values (0);
create or replace function gnl_now() returns bigint language sql volatile as
'select at from SCHEMA.test_clock'
"""


@pytest.mark.parametrize("seed", range(6))
async def test_answers_are_those_of_the_reference_store(seed: int, space: Any) -> None:
    clock = Clock()
    async with space.opened() as store, space.connected() as control:
        await control.execute(TEST_CLOCK.replace("SCHEMA", space.schema))
        pair = Pair(random.Random(seed), clock, store.jobs, control)
        await pair.set_clock()
        for _ in range(400):
            await pair.step()
        await pair.compare_all()
    assert pair.grants > 50
