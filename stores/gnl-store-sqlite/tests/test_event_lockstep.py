"""Events under random scripts: the reference's answers, to the microsecond."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gnl_conformance.model.event_lockstep import EventLockstep
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location

START = 1_000_000_000
SEEDS = range(40)


@contextlib.asynccontextmanager
async def lockstep(folder: Path, seed: int) -> AsyncIterator[EventLockstep]:
    now = START

    async def move(by: int) -> int:
        nonlocal now
        now += by
        return now

    store = SqliteStore(Location(folder / "events.db"), clock=lambda: now)
    await store.upgrade()
    yield EventLockstep(store.events, now=START, move=move, seed=seed)
    await store.close()


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_are_those_of_the_reference_store(seed: int, tmp_path: Path) -> None:
    async with lockstep(tmp_path, seed) as run:
        await run.play(250)


async def test_so_they_are_at_the_limits_of_one_call(tmp_path: Path) -> None:
    async with lockstep(tmp_path, 0) as run:
        await run.play_crowd()
