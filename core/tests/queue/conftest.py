"""Memory stores that tests can set the clock of, and make fail."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

import pytest

from gnl_core.memory import MemoryStore
from gnl_core.memory._store import MemoryJobs, system_clock
from gnl_core.spi import SECOND, Claimed, Duration, Extension, Hold, Outcome, Settlement
from gnl_core.storage import Storage


async def nothing(call: str) -> None:
    """The fault of a store that works."""


class FaultyJobs(MemoryJobs):
    def __init__(self, store: FaultyStore) -> None:
        super().__init__(store._data)
        self._store = store

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        await self._store.around("claim")
        claimed = await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)
        self._store.limits.append((limit, len(claimed.grants)))
        await self._store.after("claim")
        return claimed

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        await self._store.around("extend")
        return await super().extend(holds, ttl)

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        await self._store.around("settle")
        self._store.settling = outcomes
        if self._store.refuse is not None:
            self._store.refuse(outcomes)
        answers = await super().settle(outcomes)
        await self._store.after("settle")
        return answers


class FaultyStore(MemoryStore):
    """`before` and `after` are called around claim, extend and settle; what they raise counts."""

    def __init__(self, clock: Callable[[], int] = system_clock) -> None:
        super().__init__(clock)
        self._jobs = FaultyJobs(self)
        self.before: Callable[[str], Awaitable[None]] = nothing
        self.after: Callable[[str], Awaitable[None]] = nothing
        self.refuse: Callable[[Sequence[Outcome]], None] | None = None
        self.calls: list[str] = []
        self.limits: list[tuple[int, int]] = []

    async def around(self, call: str) -> None:
        self.calls.append(call)
        await self.before(call)

    async def sibling(self) -> FaultyStore:
        return self


class Clock:
    """A store's clock that stands still unless told to go on."""

    def __init__(self) -> None:
        self.micros = 1_700_000_000 * SECOND

    def __call__(self) -> int:
        return self.micros

    def forward(self, seconds: float) -> None:
        self.micros += round(seconds * SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def faulty() -> FaultyStore:
    return FaultyStore()


@pytest.fixture
def storage() -> Storage:
    return Storage(MemoryStore())


class Until:
    """Waits for conditions, with a bound that only a hang reaches."""

    async def __call__(self, condition: Callable[[], object]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                await asyncio.sleep(0.002)


@pytest.fixture
def until() -> Until:
    return Until()
