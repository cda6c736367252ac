"""What every part of a store shares: clock, schema, wake-ups, capabilities, closing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from gnl_core.spi.job_values import Instant
from gnl_core.spi.jobs import JobStore


class Capability(Enum):
    """Facts about a store's environment. None of them excuses a promise.

    MULTI_PROCESS: the data can be opened from several processes at once.
    SERVER_CLOCK: the store's clock is not that of the client's machine.
    TRANSACTIONS: `JobStore.add` can take part in the caller's transaction.
    WAKE_UPS: `Store.listen` delivers hints.
    """

    MULTI_PROCESS = "multi-process"
    SERVER_CLOCK = "server-clock"
    TRANSACTIONS = "transactions"
    WAKE_UPS = "wake-ups"


@dataclass(frozen=True, slots=True)
class SchemaVersion:
    """`found` is the version in the store (None: no tables yet), `needed` that of the code."""

    found: int | None
    needed: int


class Store(Protocol):
    """One open handle on a database. Used on one event loop; safe for concurrent tasks there.

    Methods raise `StoreUnavailable` and `StoreRejected`, nothing else. While there are no tables
    yet, all but `schema`, `upgrade`, `sibling` and `close` raise `StoreRejected`, if the store
    needs tables at all. A task may be cancelled in the middle of a call: it has happened or not,
    as a whole, and the handle stays usable.
    """

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What is true of this store's environment."""
        ...

    @property
    def jobs(self) -> JobStore:
        """The queue's part."""
        ...

    async def now(self) -> Instant:
        """The store's clock: one for all handles, never running back.

        An embedded store has the clock of its machine. It asks the database or the file system
        for the time, not Python's `time`, which belongs to the client and may be replaced there.
        """
        ...

    async def schema(self) -> SchemaVersion:
        """Which version of the tables is there and which is needed."""
        ...

    async def upgrade(self) -> SchemaVersion:
        """Create the tables, or bring them up to what is needed, keeping all data.

        Safe to call from several processes at once; answers the version found afterwards.
        A newer version than needed is left alone.
        """
        ...

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` (on this event loop) whenever work may have become ready; never returns.

        Hints may be lost, doubled or wrong: call it once when hints begin to arrive, for what
        came before. Raises `StoreUnavailable` when the source is gone;
        the caller polls, and listens again. Only called on stores with WAKE_UPS.
        """
        ...

    async def sibling(self) -> Store:
        """Open another handle on the same data, with one connection of its own.

        May be called from, and the answer used on, another thread's event loop.
        """
        ...

    async def close(self) -> None:
        """Give everything back. A second call does nothing."""
        ...


class StoreFactory(Protocol):
    """What the entry point group ``gnl.stores`` names, by URL scheme."""

    async def __call__(self, url: str, /) -> Store:
        """Open the store at `url`; create nothing. Raises `ValueError` for a bad URL."""
        ...
