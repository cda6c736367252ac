"""What a harness may rely on in the names of spaces, which become schemas, prefixes and folders."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

from gnl_conformance import Part, grade
from gnl_conformance._case import chosen, kept
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_core.memory import MemoryStore


class Noting(ReferenceConformance):
    noted: ClassVar[set[str]] = set()
    parts = frozenset(Part)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        self.noted.add(space)
        async with super().connect(space) as store:
            yield store


def test_a_space_is_up_to_40_small_letters_and_digits() -> None:
    for case in kept(chosen(["cases"]), Noting.parts):
        grade(Noting(), case)
    assert len(Noting.noted) > 100
    assert [one for one in Noting.noted if not re.fullmatch(r"[a-z][a-z0-9]{0,39}", one)] == []
