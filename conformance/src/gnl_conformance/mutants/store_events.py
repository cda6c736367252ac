"""Stores whose events break what is common to all parts of a store."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance._rules import Part
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.memory._store import _Data
from gnl_core.spi import (
    Appended,
    DeliveryState,
    EventOutcome,
    EventSettlement,
    NewEvent,
    SchemaVersion,
    TopicRecord,
    TopicRefused,
)


class _NoEvents(MemoryStore):
    events = None  # type: ignore[assignment] # that is what is wrong with it


@breaks("store.capabilities", "declares events, which the store has not", part=Part.EVENTS)
class DeclaresWhatItHasNot(ReferenceConformance):
    """Declares events and keeps none."""

    store = _NoEvents


@breaks("store.capabilities", "for which it is not graded: add Part.EVENTS", part=Part.EVENTS)
class HidesItsEvents(ReferenceConformance):
    """Keeps events and does not want them graded."""

    parts = frozenset({Part.JOBS})


@breaks("store.errors", "an append on a connection of an unknown kind was not rejected")
class TakesAnyConnection(MemoryEvents):
    """Takes whatever it is given for a connection, and does without."""

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        return await super().append(events, max_depth=max_depth)


class _Bare(EventTable):
    upgraded = False

    def topics(self) -> tuple[TopicRecord, ...]:
        if not self.upgraded:
            raise KeyError("no such table: topics")
        return super().topics()


@breaks("store.errors", "`topics` before an upgrade raised KeyError", part=Part.EVENTS)
class TripsOverMissingTables(MemoryStore):
    """Lets its driver's error out when there are no tables."""

    def _open(self, data: _Data) -> None:
        if not isinstance(data.events, _Bare):
            data.events = _Bare(data.jobs.now)
        super()._open(data)

    async def upgrade(self) -> SchemaVersion:
        vars(self._data.events)["upgraded"] = True
        return await super().upgrade()


class _Closed(MemoryEvents):
    closed = False

    async def topics(self) -> tuple[TopicRecord, ...]:
        if self.closed:
            raise ValueError("I/O operation on closed file")
        return await super().topics()


@breaks("store.errors", "`topics` on a closed handle raised ValueError", part=Part.EVENTS)
class TripsOverItsClosedFile(MemoryStore):
    """Lets its driver's error out when it was closed."""

    def _open(self, data: _Data) -> None:
        super()._open(data)
        self._events = _Closed(data.events, data.wake)

    async def close(self) -> None:
        vars(self._events)["closed"] = True


@breaks("store.schema", "what is owed after a second upgrade", part=Part.EVENTS)
class UpgradeForgetsDeliveries(MemoryStore):
    """Makes the consumers anew, and everything new to them."""

    async def upgrade(self) -> SchemaVersion:
        for consumer in self._data.events._consumers.values():
            consumer.rewind(0)
        return await super().upgrade()


@breaks("store.sibling", "does not hold what the store holds", part=Part.EVENTS)
class SiblingHasItsOwnEvents(MemoryStore):
    """Opens a log of its own for a sibling."""

    async def sibling(self) -> MemoryStore:
        other = await super().sibling()
        other._events = MemoryStore().events
        return other


@breaks("store.kept", "seen by a handle after another closed")
class AcksStayWithTheirHandle(MemoryEvents):
    """Answers an ack, and keeps it to itself."""

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        return tuple(EventSettlement(DeliveryState.ACKED) for _ in outcomes)


@breaks("store.wake", "no hint arrived after any of many appends")
class NeverWakes(MemoryEvents):
    """Appends without a hint."""

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        wake, self._wake = self._wake, lambda: None
        try:
            return await super().append(events, max_depth=max_depth, connection=connection)
        finally:
            self._wake = wake
