"""The same calls on this store and on the reference store give the same answers."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gnl_conformance.lockstep import Clock, Pair
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location


@pytest.mark.parametrize("seed", range(6))
async def test_answers_are_those_of_the_reference_store(seed: int, tmp_path: Path) -> None:
    clock = Clock()
    store = SqliteStore(Location(tmp_path / "jobs.db"), clock=clock)
    await store.upgrade()
    pair = Pair(random.Random(seed), clock, store.jobs)
    try:
        await pair.run(400)
    finally:
        await store.close()
    assert pair.grants > 50
