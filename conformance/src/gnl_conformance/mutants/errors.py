"""Stores that raise what they should not, or do not raise what they should."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._store import MemoryJobs
from gnl_core.spi import Added, DepthRefused, Instant, NewJob, SchemaVersion


@breaks("store.errors", "`now` before an upgrade raised KeyError")
class TripsOverMissingTables(MemoryStore):
    """Lets its driver's error out when there are no tables."""

    async def now(self) -> Instant:
        if not vars(self._data.jobs).get("tables"):
            raise KeyError("no such table: clock")
        return await super().now()

    async def upgrade(self) -> SchemaVersion:
        vars(self._data.jobs)["tables"] = True
        return await super().upgrade()


@breaks("store.errors", "`now` on a closed handle raised ValueError")
class TripsOverItsClosedFile(MemoryStore):
    """Lets its driver's error out when it was closed."""

    closed = False

    async def now(self) -> Instant:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return await super().now()

    async def close(self) -> None:
        self.closed = True


@breaks("store.errors", "was not rejected")
class TakesAnyConnection(MemoryJobs):
    """Takes whatever it is given for a connection, and does without."""

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        return await super().add(jobs, max_depth=max_depth)
