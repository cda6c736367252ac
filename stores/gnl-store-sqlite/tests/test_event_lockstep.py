"""Events under random scripts: the reference's answers, to the microsecond."""

from __future__ import annotations

from pathlib import Path

import pytest

from gnl_conformance.model.event_lockstep import EventLockstep
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location

START = 1_000_000_000
SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_are_those_of_the_reference_store(seed: int, tmp_path: Path) -> None:
    now = START

    async def move(by: int) -> int:
        nonlocal now
        now += by
        return now

    store = SqliteStore(Location(tmp_path / "events.db"), clock=lambda: now)
    await store.upgrade()
    await EventLockstep(store.events, now=START, move=move, seed=seed).play(250)
    await store.close()
