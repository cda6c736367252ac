"""The memory store keeps every rule. Its clock stands still unless it is moved."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import ClassVar

from gnl_conformance import Capability, Part, StoreConformance
from gnl_core.memory import MemoryStore


class Space:
    def __init__(self) -> None:
        self.now = 1_700_000_000_000_000
        self.store = MemoryStore(lambda: self.now)


class TestMemory(StoreConformance):
    capabilities = frozenset({Capability.WAKE_UPS})
    parts = frozenset(Part)
    spaces: ClassVar[dict[str, Space]] = {}

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        store = await self.spaces.setdefault(space, Space()).store.sibling()
        yield store
        await store.close()

    def simulated(self, clock: Callable[[], int]) -> MemoryStore:
        return MemoryStore(clock)

    async def drop(self, space: str) -> None:
        self.spaces.pop(space, None)

    async def age(self, space: str, seconds: float) -> None:
        self.spaces[space].now += int(seconds * 1_000_000)
