"""The same random calls on a store and on the reference store, answer by answer.

Both stores have to be on one clock that the caller moves, so that exact equality is fair.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

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
    Scope,
    Verdict,
)

T = TypeVar("T")

ORGS = (None, "a", "A", "b ", "é😀")
TYPES = ("t", "u", "v'\"")
FINISHED = (JobState.DONE, JobState.DEAD, JobState.CANCELED)


@dataclass
class Clock:
    """The clock of both stores, in microseconds since the epoch."""

    now: int = 1_000 * SECOND

    def __call__(self) -> int:
        """The time now."""
        return self.now


@dataclass
class _Side:
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
    """Both stores, driven by one source of random choices.

    `moved` is awaited with the new time whenever the clock was moved, for a store that does not
    read `clock` itself.
    """

    def __init__(
        self,
        rng: random.Random,
        clock: Clock,
        ours: JobStore,
        moved: Callable[[int], Awaitable[object]] | None = None,
    ) -> None:
        self._moved = moved
        self._rng = rng
        self._clock = clock
        self._left = _Side(MemoryStore(clock).jobs)
        self._right = _Side(ours)
        self._ids = 0
        self.grants = 0
        """How many grants there were; a script without any shows little."""

    async def _both(
        self,
        call: Callable[[_Side], Awaitable[T]],
        view: Callable[[_Side, T], object] | None = None,
    ) -> T:
        left, right = await call(self._left), await call(self._right)
        theirs: object = right if view is None else view(self._right, right)
        expected: object = left if view is None else view(self._left, left)
        assert theirs == expected, f"the store answers\n{theirs}\nthe reference\n{expected}"
        return left

    async def _step(self) -> None:
        choices = [self._add, self._claim, self._claim, self._settle, self._settle, self._extend]
        choices += [self._change, self._tick, self._read, self._prune]
        weights = [6, 4, 4, 4, 4, 2, 3, 5, 2, 1]
        await self._rng.choices(choices, weights)[0]()

    async def _tick(self) -> None:
        self._clock.now += self._rng.choice((1_000, 300_000, SECOND, 5 * SECOND))
        if self._moved is not None:
            await self._moved(self._clock.now)

    def _new_job(self) -> NewJob:
        self._ids += 1
        id_ = str(self._rng.randrange(self._ids) if self._rng.random() < 0.15 else self._ids)
        soon = self._rng.random() < 0.3
        return NewJob(
            id_,
            self._rng.choice(ORGS),
            self._rng.choice(TYPES),
            f'{{"n": {self._ids}}}',
            max_attempts=self._rng.choice((None, None, 1, 2)),
            delay=self._rng.choice((0, 1, SECOND)) if soon else 0,
            run_at=self._clock.now + self._rng.randint(-SECOND, SECOND)
            if self._rng.random() < 0.1
            else None,
        )

    async def _add(self) -> None:
        jobs = {
            (j.org_id, j.id): j
            for j in (self._new_job() for _ in range(self._rng.choice((1, 1, 3, 8))))
        }
        depth = self._rng.choice((None, None, 5, 20))
        await self._both(lambda side: side.jobs.add(list(jobs.values()), max_depth=depth))

    async def _claim(self) -> None:
        types = self._rng.sample(TYPES, self._rng.randint(1, 3))
        limit = self._rng.choice((1, 2, 3, 7, 20))
        ttl = self._rng.choice((1, SECOND, 3 * SECOND))
        answer = await self._both(
            lambda side: side.jobs.claim(types, limit, ttl, "w", max_attempts=3), _Side.claimed
        )
        self.grants += len(answer.grants)

    def _verdict(self) -> Verdict:
        delay = self._rng.choice((0, 0, SECOND))
        verdicts = (Done('"r"'), Retry(delay, "e"), Dead("dead"), Release(delay))
        return self._rng.choices(verdicts, (4, 3, 1, 2))[0]

    def _some_holds(self) -> list[int]:
        """Places in the lists of holds, among the latest, old ones and doubles included."""
        known = len(self._left.holds)
        first = max(0, known - 25)
        return (
            [self._rng.randrange(first, known) for _ in range(self._rng.randint(0, 6))]
            if known
            else []
        )

    async def _settle(self) -> None:
        ends = [(at, self._verdict()) for at in self._some_holds()]
        await self._both(
            lambda side: side.jobs.settle([Outcome(side.holds[at], v) for at, v in ends])
        )

    async def _extend(self) -> None:
        places = self._some_holds()
        await self._both(
            lambda side: side.jobs.extend([side.holds[at] for at in places], 2 * SECOND)
        )

    async def _change(self) -> None:
        org, id_ = self._rng.choice(ORGS), str(self._rng.randint(0, self._ids))
        if self._rng.random() < 0.5:
            await self._both(lambda side: side.jobs.cancel(org, id_))
        else:
            await self._both(lambda side: side.jobs.revive(org, id_))

    async def _prune(self) -> None:
        states = self._rng.sample(FINISHED, self._rng.randint(1, 3))
        older = self._rng.choice((None, 0, 5 * SECOND))
        keep = self._rng.choice((None, 0, 3, 20))
        limit = self._rng.choice((2, 10_000))
        await self._both(
            lambda side: side.jobs.prune(states, older_than=older, keep=keep, limit=limit)
        )

    async def _read(self) -> None:
        await self._both(lambda side: side.jobs.lanes())
        org = self._rng.choice(ORGS)
        await self._both(lambda side: side.jobs.depth(org))
        id_ = str(self._rng.randint(0, self._ids))
        await self._both(lambda side: side.jobs.get(org, id_), _Side.record)

    async def run(self, steps: int) -> None:
        """So many random steps, then every job and every listing."""
        for _ in range(steps):
            await self._step()
        await self._compare_all()

    async def _compare_all(self) -> None:
        """Every job with its history, and whole listings in pages, while jobs are added."""
        scopes: list[Scope] = [EveryLane(), *(OneLane(org) for org in ORGS)]
        for scope in scopes:
            states = self._rng.sample(list(JobState), self._rng.randint(0, 3))
            size = self._rng.randint(1, 40)
            positions: dict[int, str | None] = {id(self._left): None, id(self._right): None}
            while True:
                left, right = [
                    await side.jobs.page(scope, positions[id(side)], size, states=states)
                    for side in (self._left, self._right)
                ]
                theirs, expected = self._right.page(right), self._left.page(left)
                assert theirs == expected, f"the store lists\n{theirs}\nthe reference\n{expected}"
                positions = {id(self._left): left.position, id(self._right): right.position}
                if left.position is None:
                    break
                await self._add()
        for org in ORGS:
            for number in range(self._ids + 1):
                await self._both(lambda side: side.jobs.get(org, str(number)), _Side.record)  # noqa: B023
