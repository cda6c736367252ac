"""Producers and claimers that meet: nothing is lost, stranded or given out twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from gnl_core.spi import SECOND, Done, JobState, NewJob, Outcome, Release, Retry
from gnl_store_postgres import PostgresStore

PATIENCE = 120.0
ORGS = (None, "a", "b", "c", "d")
TYPES = ("t", "u")


class Load:
    """Some producers, some claimers, and what they saw."""

    def __init__(self, store: PostgresStore, seed: int) -> None:
        self.store = store
        self.rng = random.Random(seed)
        self.added: set[tuple[str | None, str]] = set()
        self.done: Counter[tuple[str | None, str]] = Counter()
        self.producing = 0

    def jobs(self, count: int) -> list[NewJob]:
        made = [
            NewJob(
                str(self.rng.getrandbits(60)),
                self.rng.choice(ORGS),
                self.rng.choice(TYPES),
                "0",
                delay=self.rng.choice((0, 0, 0, 20_000)),
            )
            for _ in range(count)
        ]
        self.added |= {(job.org_id, job.id) for job in made}
        return made

    async def produce(self, rounds: int) -> None:
        self.producing += 1
        for _ in range(rounds):
            await self.store.jobs.add(self.jobs(self.rng.choice((1, 1, 3))))
            await asyncio.sleep(self.rng.random() * 0.01)
        self.producing -= 1

    async def produce_slowly(self, space: Any, rounds: int) -> None:
        """In transactions that stay open for a while."""
        self.producing += 1
        async with space.connected() as connection:
            for _ in range(rounds):
                isolation = self.rng.choice(("read_committed", "repeatable_read"))
                async with connection.transaction(isolation=isolation):
                    await connection.fetch("select 1 from gnl_lanes")
                    await self.store.jobs.add(self.jobs(2), connection=connection)
                    await asyncio.sleep(self.rng.random() * 0.15)
        self.producing -= 1

    async def consume(self, store: PostgresStore) -> None:
        while self.producing or sum(self.done.values()) < len(self.added):
            limit = self.rng.choice((1, 2, 10))
            types = self.rng.choice((TYPES, TYPES, ("t",), ("u",)))
            claimed = await store.jobs.claim(types, limit, 30 * SECOND, "w", max_attempts=99)
            ends = []
            for grant in claimed.grants:
                again = self.rng.random() < 0.15
                verdict = self.rng.choice((Retry(0, "e"), Release(0))) if again else Done("0")
                ends.append(Outcome(grant.hold, verdict))
            settled = await store.jobs.settle(ends)
            for grant, settlement in zip(claimed.grants, settled, strict=True):
                if settlement.state is JobState.DONE:
                    self.done[grant.org_id, grant.id] += 1
            if not claimed.grants:
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("seed", range(3))
async def test_tiny_lanes_that_empty_and_fill_again(seed: int, space: Any) -> None:
    async with space.opened(pool_size=8) as store, space.opened(pool_size=4) as other:
        load = Load(store, seed)
        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(load.produce(60))
            for _ in range(4):
                group.create_task(load.produce_slowly(space, 8))
            for taker in (store, store, other, other):
                group.create_task(load.consume(taker))
        assert set(load.done) == load.added
        assert set(load.done.values()) == {1}
        # Whoever found a lane empty while somebody was adding to it left its row behind: the
        # next claims that come by tidy up.
        async with asyncio.timeout(PATIENCE), space.connected() as control:
            while await control.fetchval("select count(*) from gnl_lanes"):
                await store.jobs.claim(TYPES, 1, SECOND, "w", max_attempts=1)
                await asyncio.sleep(0.05)


async def test_one_lane_is_shared_by_many_claimers(space: Any) -> None:
    """None of them sees an empty queue while there is work for all."""
    async with space.opened(pool_size=8) as store:
        await store.jobs.add([NewJob(str(n), None, "t", "0") for n in range(1_600)])
        claims = [
            store.jobs.claim(["t"], 20, 30 * SECOND, f"w{n}", max_attempts=5) for n in range(80)
        ]
        answers = await asyncio.gather(*claims)
        assert [len(answer.grants) for answer in answers] == [20] * 80
        ids = {grant.id for answer in answers for grant in answer.grants}
        assert len(ids) == 1_600


async def test_calls_with_common_ids_do_not_deadlock(space: Any) -> None:
    async with space.opened(pool_size=8) as store:
        jobs = [NewJob(str(n), f"o{n % 7}", "t", "0") for n in range(60)]
        for turn in range(5):
            batches = [random.Random(turn * 9 + n).sample(jobs, 40) for n in range(8)]
            answers = await asyncio.gather(*(store.jobs.add(batch) for batch in batches))
            assert all(len(answer.known) == 40 for answer in answers)
        assert sum(lane.ready for lane in await store.jobs.lanes()) == 60


async def test_a_limit_is_exact_among_calls_at_once(space: Any) -> None:
    async with space.opened(pool_size=8) as store:
        calls = [store.jobs.add([NewJob(str(n), "org", "t", "0")], max_depth=10) for n in range(40)]
        await asyncio.gather(*calls)
        assert await store.jobs.depth("org") == 10


async def test_cancel_and_revive_against_claims(space: Any) -> None:
    async with space.opened(pool_size=8) as store:
        await store.jobs.add([NewJob(str(n), None, "t", "0") for n in range(200)])
        grants = store.jobs.claim(["t"], 100, 30 * SECOND, "w", max_attempts=5)
        found = [store.jobs.cancel(None, str(n)) for n in range(200)]
        claimed, *states = await asyncio.gather(grants, *found)
        running = {grant.id for grant in claimed.grants}
        for number, state in enumerate(states):
            record = await store.jobs.get(None, str(number))
            assert record is not None
            if str(number) in running:
                # Granted first, then marked; or canceled before and never granted.
                assert state is JobState.RUNNING
                assert record.cancel_requested
            else:
                assert state is JobState.WAITING
                assert record.state is JobState.CANCELED


@pytest.mark.parametrize("size", [1, 3])
async def test_a_job_that_is_called_new_is_done_though_its_forerunner_is_pruned(
    space: Any, size: int
) -> None:
    """An add meets a known id, and the job that has it is pruned before it can be looked at."""
    async with space.opened(pool_size=8) as store, space.opened(pool_size=4) as other:
        created, executed, producers = 0, 0, 6

        async def produce() -> None:
            nonlocal created, producers
            for _ in range(300):
                answer = await store.jobs.add([NewJob(str(n), None, "t", "0") for n in range(size)])
                created += answer.known.count(None)
            producers -= 1

        async def work_off() -> None:
            nonlocal executed
            while producers or await other.jobs.depth(None):
                got = await other.jobs.claim(["t"], 10, 30 * SECOND, "w", max_attempts=5)
                await other.jobs.settle([Outcome(grant.hold, Done("0")) for grant in got.grants])
                executed += len(got.grants)

        async def prune() -> None:
            while producers:
                await other.jobs.prune([JobState.DONE], keep=0)

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
            for _ in range(producers):
                group.create_task(produce())
            group.create_task(work_off())
            group.create_task(prune())
        assert created == executed > size
