"""The store on files keeps every promise."""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from gnl_conformance import Capability, StoreConformance
from gnl_store_files import FileStore
from gnl_store_files.log import file_clock

FOLDER = Path(tempfile.gettempdir()) / "gnl-store-files"


class TestFiles(StoreConformance):
    capabilities = frozenset({Capability.MULTI_PROCESS})
    moved: ClassVar[defaultdict[str, int]] = defaultdict(int)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[FileStore]:
        def clock(descriptor: int) -> int:
            return file_clock(descriptor) + self.moved[space]

        # Compact often, so that it happens under all that the kit does.
        store = FileStore(FOLDER / space, compact_after=50, clock=clock)
        yield store
        await store.close()

    async def drop(self, space: str) -> None:
        shutil.rmtree(FOLDER / space, ignore_errors=True)

    async def age(self, space: str, seconds: float) -> None:
        self.moved[space] += int(seconds * 1_000_000)
