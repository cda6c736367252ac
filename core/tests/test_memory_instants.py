"""All that one call of the memory store writes has one instant, on a clock that never stands."""

from __future__ import annotations

import itertools

from gnl_core.memory import MemoryStore
from gnl_core.spi import (
    SECOND,
    Done,
    Edge,
    EventOutcome,
    Extension,
    NewEvent,
    NewJob,
    Outcome,
    Retry,
)


def running() -> MemoryStore:
    return MemoryStore(itertools.count(1_000 * SECOND).__next__)


async def test_outcomes_of_one_call_end_at_one_instant() -> None:
    jobs = running().jobs
    await jobs.add([NewJob(str(n), None, "t", "0") for n in range(20)])
    got = await jobs.claim(["t"], 20, SECOND, "w", max_attempts=2)
    extended = await jobs.extend([grant.hold for grant in got.grants], SECOND)
    assert len({one.expires_at for one in extended if isinstance(one, Extension)}) == 1
    verdicts = [Done("0") if n % 2 else Retry(SECOND, "e") for n in range(20)]
    outcomes = [Outcome(g.hold, v) for g, v in zip(got.grants, verdicts, strict=True)]
    await jobs.settle(outcomes)
    records = [await jobs.get(None, str(n)) for n in range(20)]
    assert len({record.due_at for record in records[::2] if record}) == 1


async def test_events_parked_by_one_call_are_due_at_one_instant() -> None:
    events = running().events
    await events.append([NewEvent(str(n), None, "t", "0") for n in range(20)])

    async def take(limit: int) -> list[int]:
        got = await events.deliver(
            "t", "c", limit, SECOND, "w", max_attempts=None, start=Edge.EARLIEST
        )
        await events.settle([EventOutcome(g.hold, Retry(0, "e")) for g in got.grants])
        return [grant.due_at for grant in got.grants]

    await take(20)
    assert len(set(await take(20))) == 1
