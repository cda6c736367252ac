from __future__ import annotations

from pathlib import Path

import pytest

from gnl_core.spi import SECOND, Done, JobState, NewJob, Outcome
from gnl_store_sqlite._clock import TOLERANCE, settled
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location

AT = 1_000_000 * SECOND


@pytest.mark.parametrize(
    ("latest", "wall", "now"),
    [
        (0, AT, AT),
        (AT, AT + 1, AT + 1),
        (AT, AT - 1, AT),
        (AT, AT - TOLERANCE, AT),
        (AT, AT - TOLERANCE - 1, AT - TOLERANCE - 1),
    ],
)
def test_a_clock_a_little_behind_is_late_and_one_far_behind_was_set_back(
    latest: int, wall: int, now: int
) -> None:
    assert settled(latest, wall) == now


async def test_time_does_not_run_back_when_the_clock_does(path: Path) -> None:
    wall = [AT]
    store = SqliteStore(Location(path), clock=lambda: wall[0])
    await store.upgrade()
    await store.jobs.add([NewJob("a", None, "t", "1")])
    wall[0] = AT - 5 * SECOND
    assert await store.now() == AT
    await store.jobs.add([NewJob("b", None, "t", "1")])
    record = await store.jobs.get(None, "b")
    assert record is not None
    assert record.enqueued_at == AT
    await store.close()


async def test_sqlites_own_clock_is_the_machines(path: Path) -> None:
    store = SqliteStore(Location(path))
    await store.upgrade()
    times = [await store.now() for _ in range(50)]
    await store.close()
    assert times == sorted(times)
    # Well after this was written, well before a mistake in the unit or the epoch.
    assert 1_600_000_000 * SECOND < times[0] < 10_000_000_000 * SECOND


async def test_a_number_is_never_given_twice_even_after_its_job_was_pruned(path: Path) -> None:
    store = SqliteStore(Location(path))
    await store.upgrade()
    numbers, tokens = [], []
    for _ in range(3):
        await store.jobs.add([NewJob("a", None, "t", "1")])
        (grant,) = (await store.jobs.claim(["t"], 1, SECOND, "w", max_attempts=1)).grants
        await store.jobs.settle([Outcome(grant.hold, Done("1"))])
        assert await store.jobs.prune([JobState.DONE], keep=0) == 1
        numbers.append(grant.seq)
        tokens.append(grant.token)
    await store.close()
    assert numbers == sorted(set(numbers))
    assert tokens == sorted(set(tokens))
