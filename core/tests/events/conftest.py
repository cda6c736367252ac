from __future__ import annotations

from collections.abc import Callable

import pytest

from gnl_core.memory import MemoryStore
from gnl_core.spi import SECOND
from gnl_core.storage import Storage


class Clock:
    """The store's clock, moved by hand; in microseconds."""

    def __init__(self) -> None:
        self.now = 1_000 * SECOND

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def storage(clock: Callable[[], int]) -> Storage:
    return Storage(MemoryStore(clock))
