"""The events' part of a store."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gnl_core.errors import StoreRejected
from gnl_core.spi import EventStore, Store


@runtime_checkable
class _HasEvents(Protocol):
    @property
    def events(self) -> EventStore: ...


def events_of(work: Store) -> EventStore:
    """The part of `work` that keeps events. `StoreRejected` for a store that has none."""
    if not isinstance(work, _HasEvents):
        raise StoreRejected(
            f"{type(work).__name__} keeps no events; upgrade its distribution, or use a store"
            " that does"
        )
    return work.events
