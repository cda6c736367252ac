"""The store on files agrees with the reference to the microsecond, by a clock that stands still.

`TestFiles` has a clock that runs, as killed processes need it. There no lease is ever met in the
very instant in which it runs out.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

from gnl_conformance import Capability, StoreConformance, Tier, all_cases, grade
from gnl_store_files import FileStore

FOLDER = Path(tempfile.gettempdir()) / "gnl-store-files-still"


class StillFiles(StoreConformance):
    capabilities = frozenset({Capability.MULTI_PROCESS})
    clocks: ClassVar[defaultdict[str, int]] = defaultdict(lambda: 1_700_000_000_000_000)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[FileStore]:
        store = FileStore(FOLDER / space, compact_after=50, clock=lambda _: self.clocks[space])
        yield store
        await store.close()

    async def drop(self, space: str) -> None:
        shutil.rmtree(FOLDER / space, ignore_errors=True)

    async def age(self, space: str, seconds: float) -> None:
        self.clocks[space] += int(seconds * 1_000_000)


def test_scripts_play_as_on_the_reference() -> None:
    grades = [grade(StillFiles(), case) for case in all_cases() if case.tier is Tier.MODEL]
    assert grades
    assert [one.why for one in grades if one.outcome != "passed"] == []
