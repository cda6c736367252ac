"""What users of events were promised, with real processes, real databases and real kills."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import ExitStack
from pathlib import Path

import asyncpg
import pytest
from backends import Backend
from workers import Spell, Workers, overlapping, spells

from gnl_core import Event, emit, emit_many, list_consumers, list_dead_events, open_storage

LEASE = 1.0
LONG_LEASE = 5.0
"""So long that none runs out because the machine is busy, but only with its process."""
NAMES = ("billing", "mail", "search")


def consumers(
    backend: Backend, diary: Path, name: str, *moment: str, lease: float = LEASE
) -> Workers:
    """Processes of one consumer name."""
    return Workers(
        backend.url,
        diary,
        lease,
        pace=0.05,
        program="consumer_program.py",
        arguments=(name, *moment),
    )


async def until_consumed(url: str, names: tuple[str, ...], seconds: float = 120) -> None:
    """Wait until no event is left to do for any of `names`."""
    give_up = time.monotonic() + seconds
    async with open_storage(url) as storage:
        while True:
            known = await list_consumers(storage.work, "t")
            done = [c.name for c in known if not (c.lag or c.held or c.parked)]
            if set(names) <= set(done):
                return
            assert time.monotonic() < give_up, f"events are left over: {known}"
            await asyncio.sleep(0.1)


async def emit_one(url: str) -> None:
    async with open_storage(url) as storage:
        await emit(storage.work, "t", 1, id="e")


@pytest.mark.parametrize(
    ("moment", "starts"), [("before", 1), ("in", 2), ("after", 2), ("acked", 1)]
)
def test_a_kill_around_the_handler_costs_one_consumer_one_start_at_most(
    backend: Backend, tmp_path: Path, moment: str, starts: int
) -> None:
    asyncio.run(emit_one(backend.url))
    diary = tmp_path / "diary"
    victim = consumers(backend, diary, "billing", moment)
    others = [consumers(backend, diary, name) for name in ("billing", "mail", "search")]
    victim.start()
    assert victim.processes[0].wait(30) == -9
    try:
        for other in others:
            other.start()
        asyncio.run(until_consumed(backend.url, NAMES))
    finally:
        for other in others:
            other.stop()
    calls = spells(victim)
    assert {event: len(done) for event, done in calls.items()} == {
        "billing/e": starts,
        "mail/e": 1,
        "search/e": 1,
    }


async def emit_in_open_transactions(url: str, count: int) -> None:
    """16 emitters; where the database allows it, in transactions that stay open for a while."""
    dice = random.Random(16)
    async with open_storage(url) as storage:

        async def emitter(number: int) -> None:
            mine = [f"{number}-{n}" for n in range(count)]
            while mine:
                some = [Event("t", id_, id=id_) for id_ in mine[: dice.randint(1, 5)]]
                mine = mine[len(some) :]
                if url.startswith("sqlite"):
                    await emit_many(storage.work, some)
                    await asyncio.sleep(dice.random() / 10)
                    continue
                connection = await asyncpg.connect(url.partition("?")[0])
                try:
                    async with connection.transaction():
                        for event in some:
                            await emit_many(storage.work, [event], connection=connection)
                            await asyncio.sleep(dice.random() / 10)
                finally:
                    await connection.close()

        await asyncio.gather(*(emitter(number) for number in range(16)))


def assert_doubled_only_by_kills(calls: dict[str, list[Spell]], killed: set[int]) -> None:
    """An event is handled again only if the process that had it was killed meanwhile."""
    for event, done in calls.items():
        assert not overlapping(done), f"{event} was handled twice at once"
        assert done[-1].finished
        again = [spell.pid for spell in done[:-1] if spell.pid not in killed]
        assert not again, f"{event} came twice, though {again} lived"


def test_kills_lose_no_event_and_double_only_what_was_in_flight(
    backend: Backend, tmp_path: Path
) -> None:
    dice = random.Random(3)
    diary = tmp_path / "diary"
    groups = [consumers(backend, diary, name, lease=LONG_LEASE) for name in NAMES]
    with ExitStack() as stack:
        for group in groups:
            stack.callback(group.stop)
            group.start(3)
        for group in groups:
            group.until_up()

        async def storm() -> None:
            emitting = asyncio.create_task(emit_in_open_transactions(backend.url, 60))
            while not emitting.done():
                await asyncio.sleep(dice.uniform(0.2, 1.0))
                group = dice.choice(groups)
                await asyncio.to_thread(group.kill_one, dice)
                group.start()
            await emitting
            await until_consumed(backend.url, NAMES)

        asyncio.run(storm())
    for group in groups[1:]:
        groups[0].killed_at |= group.killed_at
    calls = spells(groups[0])
    ids = {f"{name}/{number}-{n}" for name in NAMES for number in range(16) for n in range(60)}
    assert set(calls) == ids
    assert_doubled_only_by_kills(calls, set(groups[0].killed_at))

    async def quarantined() -> int:
        async with open_storage(backend.url) as storage:
            pages = [await list_dead_events(storage.work, "t", name) for name in NAMES]
            return sum(len(page.items) for page in pages)

    assert asyncio.run(quarantined()) == 0
