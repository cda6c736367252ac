"""Which store is broken how, and by which words the kit has to say so."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from gnl_conformance._case import Tier
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rules import RULES, Part
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_core.memory import MemoryStore
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import MemoryJobs, _Data
from gnl_core.spi import Start

Broken = TypeVar("Broken", bound=type)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken store that must fail `rule` by a message with `fragment`."""

    name: str
    how: str
    rule: str
    fragment: str
    harness: type[StoreConformance]
    tier: Tier
    part: Part


_MUTANTS: list[Mutant] = []
_OF_EVENTS = (EventTable, Consumer, MemoryEvents)


def breaks(
    rule: str, fragment: str, *, tier: Tier | None = None, part: Part | None = None
) -> Callable[[Broken], Broken]:
    """Register a broken table, consumer, store, part of it or whole harness as a mutant of `rule`.

    `tier` is the one that has to tell; by default that of examples, of processes for a store
    that can be opened by several. `part` is what is broken; by default what the rule is about.
    """

    def register(broken: Broken) -> Broken:
        harness = _harness(broken)
        file_based = "MULTI_PROCESS" in {one.name for one in harness.capabilities}
        teller = tier or (Tier.PROCESS if file_based else Tier.CASES)
        how = (broken.__doc__ or "").strip()
        name = broken.__name__
        of = Part.EVENTS if issubclass(broken, _OF_EVENTS) else part or RULES[rule].part
        _MUTANTS.append(Mutant(name, how, rule, fragment, harness, teller, of))
        return broken

    return register


def _harness(broken: type) -> type[StoreConformance]:
    if issubclass(broken, StoreConformance):
        return broken
    if issubclass(broken, JobTable):
        return type(broken.__name__, (ReferenceConformance,), {"table": broken})
    store = broken if issubclass(broken, MemoryStore) else _store_with(broken)
    return type(broken.__name__, (ReferenceConformance,), {"store": store})


def _store_with(broken: type) -> type[MemoryStore]:
    if issubclass(broken, Consumer):
        return _store_with(table_with(broken))
    if issubclass(broken, EventTable):
        return _store_with_events(table=broken)
    if issubclass(broken, MemoryEvents):
        return _store_with_events(part=broken)
    assert issubclass(broken, MemoryJobs), f"{broken.__name__} breaks no part of the reference"

    class Store(MemoryStore):
        def _open(self, data: _Data) -> None:
            super()._open(data)
            self._jobs = broken(data)

    return Store


def _store_with_events(
    *, table: type[EventTable] = EventTable, part: type[MemoryEvents] = MemoryEvents
) -> type[MemoryStore]:
    """A memory store with another table of events, or another way to it."""

    class Store(MemoryStore):
        def _open(self, data: _Data) -> None:
            if type(data.events) is not table:
                data.events = table(data.jobs.now)
            super()._open(data)
            self._events = part(data.events, data.wake)

    return Store


def table_with(consumer: type[Consumer]) -> type[EventTable]:
    """A table of events with other consumers."""

    class Table(EventTable):
        def _register(self, topic: str, name: str, start: Start) -> Consumer:
            good = super()._register(topic, name, start)
            broken = consumer(good.number, topic, name, self._logs[topic], good.reach)
            self._consumers[topic, name] = broken
            return broken

    return Table


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every broken store of the kit."""
    package = importlib.import_module("gnl_conformance.mutants")
    for module in pkgutil.iter_modules(package.__path__, "gnl_conformance.mutants."):
        importlib.import_module(module.name)
    return tuple(_MUTANTS)
