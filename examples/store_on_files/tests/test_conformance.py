"""The store on files keeps every promise."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gnl_conformance import Capability, StoreConformance
from gnl_store_files import FileStore

FOLDER = Path(tempfile.gettempdir()) / "gnl-store-files"


class TestFiles(StoreConformance):
    capabilities = frozenset({Capability.MULTI_PROCESS})

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[FileStore]:
        store = FileStore(FOLDER / space, compact_after=50)
        yield store
        await store.close()

    async def drop(self, space: str) -> None:
        shutil.rmtree(FOLDER / space, ignore_errors=True)
