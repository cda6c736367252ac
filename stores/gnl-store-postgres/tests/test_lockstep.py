"""The same calls on this store and on the reference store give the same answers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gnl_conformance.lockstep import Clock, Pair

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

        async def move(now: int) -> None:
            await control.execute("update test_clock set at = $1", now)

        await move(clock.now)
        pair = Pair(random.Random(seed), clock, store.jobs, move)
        await pair.run(400)
    assert pair.grants > 50
