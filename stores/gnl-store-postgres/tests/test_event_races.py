"""Emitters and consumers that meet: nothing waits, nothing is lost or handed out twice."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from gnl_core.spi import (
    SECOND,
    Ack,
    Appended,
    Delivered,
    DeliveryState,
    Edge,
    EventOutcome,
    KnownEvent,
    NewEvent,
    Release,
    Retry,
    TopicRefused,
)
from gnl_store_postgres import PostgresStore, _database
from gnl_store_postgres._errors import Fate, fate_of

PATIENCE = 120.0
NAMES = ("a", "b", "c")
HANDLES = 3
EMITTERS = 16
ROUNDS = 12


def event(id: str, topic: str = "t", key: str | None = None) -> NewEvent:
    return NewEvent(id, None, topic, "0", key)


async def deliver(
    store: PostgresStore, name: str = "c", limit: int = 100, *, by_key: bool = False
) -> Delivered:
    return await store.events.deliver(
        "t", name, limit, 60 * SECOND, "w", max_attempts=99, start=Edge.EARLIEST, by_key=by_key
    )


async def ids(store: PostgresStore, name: str = "c") -> list[str]:
    return [grant.id for grant in (await deliver(store, name)).grants]


async def test_what_is_committed_late_comes_late_and_stops_nobody(space: Any) -> None:
    async with space.opened() as store, space.connected() as slow, asyncio.timeout(PATIENCE):
        transaction = slow.transaction()
        await transaction.start()
        await store.events.append([event("slow-1"), event("slow-2")], connection=slow)
        await store.events.append([event("fast-1")])
        assert await ids(store) == ["fast-1"]
        await store.events.append([event("fast-2")], max_depth=5)
        assert await ids(store) == ["fast-2"]
        assert (await store.events.topics())[0].events == 2
        await transaction.commit()
        delivered = await deliver(store)
        assert [(g.id, g.position) for g in delivered.grants] == [("slow-1", 3), ("slow-2", 4)]
        # A new consumer reads the log in the same order.
        assert await ids(store, "other") == ["fast-1", "fast-2", "slow-1", "slow-2"]


async def test_what_was_rolled_back_leaves_no_gap_in_the_positions(space: Any) -> None:
    async with space.opened() as store, space.connected() as other:
        transaction = other.transaction()
        await transaction.start()
        await store.events.append([event("never")], connection=other)
        await transaction.rollback()
        await store.events.append([event("ever")])
        delivered = await deliver(store)
        assert [(g.id, g.position) for g in delivered.grants] == [("ever", 1)]
        assert delivered.next_due_in is None


async def test_one_id_at_once_is_one_event(space: Any) -> None:
    async with space.opened() as store, space.connected() as first, asyncio.timeout(PATIENCE):
        transaction = first.transaction()
        await transaction.start()
        await store.events.append([event("x")], connection=first)
        second = asyncio.create_task(store.events.append([event("y"), event("x")]))
        await asyncio.sleep(0.2)
        assert not second.done()
        await transaction.commit()
        assert await second == Appended((None, KnownEvent("0", None)))
        many = [store.events.append([event("z"), event(str(n))]) for n in range(20)]
        answers = await asyncio.gather(*many)
        assert sum(answer.known[0] is None for answer in answers) == 1
        assert Counter(await ids(store)) == Counter(["x", "y", "z", *map(str, range(20))])


async def test_a_limit_holds_against_emitters_at_once(space: Any) -> None:
    async with space.opened(pool_size=8) as store:
        calls = [store.events.append([event(str(n))], max_depth=7) for n in range(40)]
        answers = await asyncio.gather(*calls)
        assert sum(isinstance(answer, Appended) for answer in answers) == 7
        assert all(answer.depth == 7 for answer in answers if isinstance(answer, TopicRefused))


@pytest.fixture
def collisions(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Errors after which a call was tried again: deadlocks, for one."""
    seen: list[BaseException] = []

    def note(error: BaseException) -> Fate | None:
        fate = fate_of(error)
        if fate is Fate.RETRY:
            seen.append(error)
        return fate

    monkeypatch.setattr(_database, "fate_of", note)
    return seen


class Load:
    """Some emitters in transactions that stay open, some consumers, and what these saw."""

    def __init__(self, seed: int, *, by_key: bool) -> None:
        self.rng = random.Random(seed)
        self.by_key = by_key
        self.emitted: set[str] = set()
        self.emitting = 0
        self.acked = {name: Counter[str]() for name in NAMES}
        self.order: dict[tuple[str, str], list[int]] = {}

    async def emit(self, space: Any, store: PostgresStore, number: int) -> None:
        self.emitting += 1
        async with space.connected() as connection:
            for round_ in range(ROUNDS):
                new = [
                    event(f"{number}-{round_}-{n}", key=self.rng.choice((None, "k", "l")))
                    for n in range(self.rng.choice((1, 1, 5)))
                ]
                both = f"both-{round_}-{number // 2}"
                transaction = connection.transaction()
                await transaction.start()
                await store.events.append([*new, event(both)], connection=connection)
                await asyncio.sleep(self.rng.random() * 0.08)
                if self.rng.random() < 0.2:
                    await transaction.rollback()
                    continue
                await transaction.commit()
                self.emitted |= {one.id for one in new} | {both}
        self.emitting -= 1

    async def consume(self, store: PostgresStore, name: str) -> None:
        while self.emitting or sum(self.acked[name].values()) < len(self.emitted):
            limit = self.rng.choice((1, 3, 20))
            delivered = await deliver(store, name, limit, by_key=self.by_key)
            outcomes = []
            for grant in delivered.grants:
                verdict = self.rng.choice(
                    (Ack(), Ack(), Ack(), Retry(1_000, "again"), Release(), Release(500))
                )
                outcomes.append(EventOutcome(grant.hold, verdict))
                if isinstance(verdict, Ack):
                    self.acked[name][grant.id] += 1
                    if grant.key is not None:
                        self.order.setdefault((name, grant.key), []).append(grant.position)
            self.rng.shuffle(outcomes)
            settled = await store.events.settle(outcomes)
            assert None not in {one.state for one in settled}, "no lease ran out"
            if not outcomes:
                await asyncio.sleep(0.005)


@pytest.mark.parametrize("by_key", [False, True])
async def test_every_consumer_gets_each_event_once(
    space: Any, collisions: list[BaseException], by_key: bool
) -> None:
    load = Load(1, by_key=by_key)
    async with space.opened(pool_size=2) as emitting, asyncio.timeout(PATIENCE):
        handles = [await emitting.sibling() for _ in range(HANDLES)]
        emitters = [load.emit(space, emitting, number) for number in range(EMITTERS)]
        consumers = [load.consume(handle, name) for handle in handles for name in NAMES]
        await asyncio.gather(*emitters, *consumers)
        for name in NAMES:
            assert load.acked[name] == Counter(load.emitted)
        if by_key:
            assert all(positions == sorted(positions) for positions in load.order.values())
        for record in await emitting.events.consumers():
            assert (record.lag, record.held, record.parked, record.quarantined) == (0, 0, 0, 0)
        for handle in handles:
            await handle.close()
    assert collisions == []


async def test_rewinds_removals_and_prunings_meet_deliveries(
    space: Any, collisions: list[BaseException]
) -> None:
    """Whatever meets, no call fails, and in the end everything can be acked."""
    rng = random.Random(2)
    async with space.opened(pool_size=6) as store, asyncio.timeout(PATIENCE):
        over = asyncio.Event()

        async def disturb() -> None:
            while not over.is_set():
                await store.events.rewind("t", "a", rng.choice((Edge.EARLIEST, Edge.LATEST, 50)))
                await store.events.release("t", "a", None, str(rng.randrange(300)))
                await store.events.prune(None, older_than=rng.choice((None, 0)), limit=20)
                await store.events.consumers()
                await store.events.topics()
                if rng.random() < 0.2:
                    await store.events.remove("t", "b")
                await asyncio.sleep(rng.random() * 0.01)

        async def consume(name: str) -> None:
            while not over.is_set():
                delivered = await deliver(store, name, 10, by_key=rng.random() < 0.5)
                verdicts = (Ack(), Ack(), Retry(100, "again"), Release())
                ends = [EventOutcome(g.hold, rng.choice(verdicts)) for g in delivered.grants]
                await store.events.settle(ends)

        async def emit() -> None:
            for number in range(300):
                await store.events.append([event(str(number), key=rng.choice((None, "k")))])
            over.set()

        await asyncio.gather(disturb(), disturb(), consume("a"), consume("a"), consume("b"), emit())
        for name in "ab":
            while (delivered := await deliver(store, name)).grants or delivered.next_due_in == 0:
                ends = [EventOutcome(grant.hold, Ack()) for grant in delivered.grants]
                states = {one.state for one in await store.events.settle(ends)}
                assert states <= {DeliveryState.ACKED}
        assert {(r.held, r.parked, r.lag) for r in await store.events.consumers()} == {(0, 0, 0)}
    assert collisions == []
