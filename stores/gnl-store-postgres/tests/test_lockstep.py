"""Model and worlds on a clock that the test moves: the reference's answers, to the microsecond."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import asyncpg
import pytest

from gnl_conformance import StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_store_postgres import PostgresStore, open_postgres

CASES = [*chosen(["model"]), *chosen(["world"], ["lane.order"])]

TEST_CLOCK = """
create table {0}.test_clock (at bigint not null);
insert into {0}.test_clock values (1000000000);
create or replace function {0}.gnl_now() returns bigint language sql volatile as
'select at from {0}.test_clock'
"""


class OnItsOwnClock(StoreConformance):
    url: ClassVar[str]
    # Half of the scripts: `test_conformance.py` plays all, on the server's own clock.
    seeds = range(10)
    controls: ClassVar[dict[str, asyncpg.Connection]] = {}

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[PostgresStore]:
        store = await open_postgres(f"{self.url}{'&' if '?' in self.url else '?'}schema={space}")
        await store.upgrade()
        control = self.controls[space] = await asyncpg.connect(self.url)
        try:
            await control.execute(TEST_CLOCK.format(space))
            yield store
        finally:
            await control.close()
            await store.close()

    async def age(self, space: str, seconds: float) -> None:
        moved = f"update {space}.test_clock set at = at + $1"
        await self.controls[space].execute(moved, int(seconds * 1_000_000))

    async def drop(self, space: str) -> None:
        connection = await asyncpg.connect(self.url)
        await connection.execute(f"drop schema if exists {space} cascade")
        await connection.close()


def test_answers_are_those_of_the_reference_store(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OnItsOwnClock, "url", server_url, raising=False)
    grades = [grade(OnItsOwnClock(), case) for case in CASES]
    assert {one.outcome for one in grades} == {"passed"}, [one.why for one in grades if one.why]
