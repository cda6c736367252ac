"""A first look at a harness: are its spaces apart? Else dozens of rules seem to be broken."""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress
from typing import Final

from gnl_conformance._harness import StoreConformance
from gnl_conformance._violation import WrongAnswer
from gnl_core.spi import NewJob

_LIMIT: Final = 20.0
"""Seconds; a store that takes longer is left to its cases."""
_MIXED: Final = (
    "two spaces show the same data: a job that was added in one is found in the other. "
    "Does `connect` open the store by its `space`?"
)
_SEEN: Final[dict[type[StoreConformance], bool]] = {}


def check_spaces(harness: StoreConformance) -> None:
    """Raise `WrongAnswer` if two spaces are one; looked at once for each harness class.

    A store that cannot add and get a job yet says so in its cases.
    """
    kind = type(harness)
    if kind not in _SEEN:
        _SEEN[kind] = False
        with suppress(Exception), asyncio.Runner() as runner:
            _SEEN[kind] = runner.run(_mixed(harness))
    if _SEEN[kind]:
        raise WrongAnswer(_MIXED)


async def _mixed(harness: StoreConformance) -> bool:
    spaces = [f"gnl{uuid.uuid4().hex[:12]}" for _ in "ab"]
    job = NewJob(uuid.uuid4().hex, None, "work", "null")
    try:
        async with asyncio.timeout(_LIMIT), harness.connect(spaces[0]) as one:
            await one.upgrade()
            await one.jobs.add([job])
            async with harness.connect(spaces[1]) as other:
                await other.upgrade()
                return await other.jobs.get(None, job.id) is not None
    finally:
        for space in spaces:
            await harness.drop(space)
