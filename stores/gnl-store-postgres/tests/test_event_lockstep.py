"""Events under random scripts: the reference's answers, to the microsecond."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gnl_conformance.model.event_lockstep import EventLockstep

START = 1_000_000_000
SEEDS = range(40)

TEST_CLOCK = f"""
create table test_clock (at bigint not null);
insert into test_clock values ({START});
create or replace function gnl_now() returns bigint language sql volatile as
'select at from {{schema}}.test_clock'
"""


@contextlib.asynccontextmanager
async def lockstep(space: Any, seed: int) -> AsyncIterator[EventLockstep]:
    async with space.opened(wake_ups="off") as store, space.connected() as control:
        await control.execute(TEST_CLOCK.replace("{schema}", space.schema))

        async def move(by: int) -> int:
            now: int = await control.fetchval("update test_clock set at = at + $1 returning at", by)
            return now

        yield EventLockstep(store.events, now=START, move=move, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
async def test_answers_are_those_of_the_reference_store(seed: int, space: Any) -> None:
    async with lockstep(space, seed) as run:
        await run.play(250)


async def test_so_they_are_at_the_limits_of_one_call(space: Any) -> None:
    async with lockstep(space, 0) as run:
        await run.play_crowd()
