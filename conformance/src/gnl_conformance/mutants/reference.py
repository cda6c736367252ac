"""The reference store under harnesses whose rules can be broken.

In memory, with a clock that stands still unless it is moved; and in a file, for processes.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import pickle
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, cast

from gnl_conformance._harness import StoreConformance
from gnl_conformance._rules import Part
from gnl_core.memory import MemoryStore
from gnl_core.memory._events import EventTable
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import _Data, system_clock
from gnl_core.spi import SECOND, Capability, Instant


class Space:
    """A clock that stands still, and a store that goes by it."""

    def __init__(self, store: type[MemoryStore], table: type[JobTable]) -> None:
        self.now = 1_700_000_000 * SECOND
        self.store = store(lambda: self.now, table=table)


class ReferenceConformance(StoreConformance):
    """The reference in memory. A mutant puts another class in the place of `store` or `table`."""

    capabilities = frozenset({Capability.WAKE_UPS})
    parts = frozenset(Part)
    store: ClassVar[type[MemoryStore]] = MemoryStore
    table: ClassVar[type[JobTable]] = JobTable
    spaces: ClassVar[dict[str, Space]] = {}

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        if space not in self.spaces:
            self.spaces[space] = Space(self.store, self.table)
        opened = await MemoryStore.sibling(self.spaces[space].store)
        yield opened
        await opened.close()

    async def drop(self, space: str) -> None:
        self.spaces.pop(space, None)

    def simulated(self, clock: Callable[[], Instant]) -> MemoryStore:
        return self.store(clock, table=self.table)

    async def age(self, space: str, seconds: float) -> None:
        self.spaces[space].now += int(seconds * SECOND)


Table = JobTable | EventTable


class FileTable:
    """A table in a file: each call locks it, reads it, acts, and writes it anew."""

    def __init__(self, path: Path, table: type[Table]) -> None:
        self._path = path
        self._kind = table

    def __getattr__(self, name: str) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            with self._path.with_suffix(".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                table = self.load()
                answer = getattr(table, name)(*arguments, **named)
                if name not in _READS:
                    self.save(table)
                return answer

        return call

    def load(self) -> Table:
        """The table as the file has it."""
        table = self._kind(system_clock)
        if self._path.exists():
            kept = pickle.loads(self._path.read_bytes())  # noqa: S301 - our own file
            vars(table).update({name: _thawed(value) for name, value in kept.items()})
        return table

    def save(self, table: Table) -> None:
        """Replace the file, so that a kill leaves the old or the new one."""
        kept = {name: value for name, value in vars(table).items() if name not in _NOT_KEPT}
        state = {name: _frozen(value) for name, value in kept.items()}
        new = self._path.with_suffix(f".{os.getpid()}")
        new.write_bytes(pickle.dumps(state))
        new.replace(self._path)


_READS = ("now", "get", "page", "depth", "lanes", "dead", "consumers", "topics")
_NOT_KEPT = ("_lock", "_clock", "_now")


_COUNTER = "next number of a counter"


def _frozen(value: object) -> object:
    """Counters cannot be pickled, and a child may know this module by another name."""
    return (_COUNTER, next(value)) if isinstance(value, itertools.count) else value


def _thawed(value: object) -> object:
    match value:
        case (str(what), int(number)) if what == _COUNTER:
            return itertools.count(number)
    return value


class FileStore(MemoryStore):
    """A memory store whose tables are in files."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.MULTI_PROCESS})


class FileConformance(StoreConformance):
    """The reference in files, for the process tier."""

    capabilities = frozenset({Capability.MULTI_PROCESS})
    parts = frozenset(Part)
    store: ClassVar[type[FileStore]] = FileStore
    table: ClassVar[type[JobTable]] = JobTable
    event_table: ClassVar[type[EventTable]] = EventTable
    file: ClassVar[type[FileTable]] = FileTable

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        opened = self.store()
        data = _Data(cast("JobTable", self.file(_path(space), self.table)))
        log = _path(space).with_suffix(".log")
        data.events = cast("EventTable", FileTable(log, self.event_table))
        opened._open(data)
        yield opened

    async def drop(self, space: str) -> None:
        for left in _path(space).parent.glob(f"{space}.*"):
            left.unlink()


def _path(space: str) -> Path:
    return Path(tempfile.gettempdir()) / f"{space}.table"
