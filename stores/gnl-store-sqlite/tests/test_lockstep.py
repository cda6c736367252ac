"""Model and worlds on a clock that the test moves: the reference's answers, to the microsecond."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from gnl_conformance import StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._url import Location

CASES = [*chosen(["model"]), *chosen(["world"], ["lane.order"])]


class OnItsOwnClock(StoreConformance):
    clocks: ClassVar[dict[str, int]] = defaultdict(lambda: 1_000_000_000)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[SqliteStore]:
        file = Path(tempfile.gettempdir()) / f"{space}.db"
        store = SqliteStore(Location(file), clock=lambda: self.clocks[space])
        yield store
        await store.close()

    async def age(self, space: str, seconds: float) -> None:
        self.clocks[space] += int(seconds * 1_000_000)

    async def drop(self, space: str) -> None:
        self.clocks.pop(space, None)
        for file in Path(tempfile.gettempdir()).glob(f"{space}.db*"):
            file.unlink()


def test_answers_are_those_of_the_reference_store() -> None:
    grades = [grade(OnItsOwnClock(), case) for case in CASES]
    assert {one.outcome for one in grades} == {"passed"}, [one.why for one in grades if one.why]
