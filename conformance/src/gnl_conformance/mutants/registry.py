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
from gnl_conformance._rules import RULES
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import MemoryJobs, _Data

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


_MUTANTS: list[Mutant] = []


def breaks(rule: str, fragment: str, *, tier: Tier | None = None) -> Callable[[Broken], Broken]:
    """Register a broken table, store, jobs part or whole harness as a mutant of `rule`.

    `tier` is the one that has to tell; by default that of examples, of processes for a store
    that can be opened by several.
    """

    def register(broken: Broken) -> Broken:
        harness = _harness(broken)
        file_based = "MULTI_PROCESS" in {one.name for one in harness.capabilities}
        teller = tier or (Tier.PROCESS if file_based else Tier.CASES)
        how = (broken.__doc__ or "").strip()
        name = broken.__name__
        _MUTANTS.append(Mutant(name, how, RULES[rule].id, fragment, harness, teller))
        return broken

    return register


def _harness(broken: type) -> type[StoreConformance]:
    if issubclass(broken, StoreConformance):
        return broken
    if issubclass(broken, JobTable):
        return type(broken.__name__, (ReferenceConformance,), {"table": broken})
    store = broken if issubclass(broken, MemoryStore) else _store_with(broken)
    return type(broken.__name__, (ReferenceConformance,), {"store": store})


def _store_with(jobs: type) -> type[MemoryStore]:
    assert issubclass(jobs, MemoryJobs), f"{jobs.__name__} breaks no part of the reference"

    class Store(MemoryStore):
        def _open(self, data: _Data) -> None:
            super()._open(data)
            self._jobs = jobs(data)

    return Store


@cache
def all_mutants() -> tuple[Mutant, ...]:
    """Every broken store of the kit."""
    package = importlib.import_module("gnl_conformance.mutants")
    for module in pkgutil.iter_modules(package.__path__, "gnl_conformance.mutants."):
        importlib.import_module(module.name)
    return tuple(_MUTANTS)
