"""Judges what a storm has shown, and says when it could not show anything."""

from __future__ import annotations

import asyncio
from typing import Final

from gnl_conformance._harness import StoreConformance
from gnl_conformance._violation import NotRun
from gnl_conformance.checker import Property
from gnl_conformance.process.driver import Storm
from gnl_core.spi import Store

LEAST_SECONDS: Final = 4.0
"""In less, leases may not have run out under a slow store, whatever it does."""

_LOOKS: Final = 10
_PAUSE: Final = 0.02


def judge_storm(harness: StoreConformance, storm: Storm, prop: Property) -> None:
    """Judge a storm by one property.

    Raises `Violation`, or `NotRun` if something was not seen in a run too short to show it.
    """
    for violation in prop.holds(storm.history):
        if prop.witness and harness.seconds < LEAST_SECONDS:
            raise NotRun(
                f"{violation.sentence}; {harness.seconds:g} s prove nothing: run longer, "
                f"at least {LEAST_SECONDS:g} seconds"
            )
        raise violation.placed(seed=storm.seed)


async def check_that_time_passes(harness: StoreConformance, space: str) -> None:
    """Refuse a store whose clock stands still: no lease would ever end. Raises `NotRun`."""
    try:
        async with harness.connect(space) as store:
            await store.upgrade()
            passes = await _time_passes(store)
    finally:
        await harness.drop(space)
    if not passes:
        raise NotRun(
            "the store's clock stands still, so no lease ends while processes are killed: run "
            "the tiers cases, model and world on this harness, and the process tier on one "
            "whose clock runs"
        )


async def _time_passes(store: Store) -> bool:
    first = await store.now()
    for _ in range(_LOOKS):
        await asyncio.sleep(_PAUSE)
        if await store.now() != first:
            return True
    return False
