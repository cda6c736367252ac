"""What must be true of every simulated world: the checker, property by property.

A store that cannot live in a world is told the calls of some worlds, and compared.
"""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from gnl_conformance._case import Body, Tier, case
from gnl_conformance._harness import StoreConformance, owns_its_time
from gnl_conformance._trial import Trial
from gnl_conformance._violation import NotApplicable, Violation
from gnl_conformance.checker import Property
from gnl_conformance.model.run import Stage
from gnl_conformance.model.script import STILL
from gnl_conformance.world.batch import WORLD_PROPERTIES, Batch, play_batch
from gnl_conformance.world.play import Clock, Parts
from gnl_conformance.world.script import script_of
from gnl_conformance.world.sometimes import ENOUGH, unseen
from gnl_core.spi import Store

_LIMIT = 24 * 3_600.0
"""Seconds; a run of many worlds takes as long as it takes."""

_TOLD = 50
"""Worlds whose calls are told to a store."""

_BATCHES: dict[tuple[type[StoreConformance], range], Batch] = {}


async def batch_of(harness: StoreConformance) -> Batch:
    """The one batch that all properties judge; its first asker has to wait for it."""
    key = type(harness), harness.worlds
    if key not in _BATCHES:
        _BATCHES[key] = await _play(harness)
    return _BATCHES[key]


async def _play(harness: StoreConformance) -> Batch:
    def store(clock: Clock) -> Store:
        simulated = harness.simulated(clock)
        if simulated is None:
            raise NotApplicable(
                "worlds are played on stores that live in this process: give `simulated` if yours "
                "does"
            )
        return simulated

    store(lambda: 0)
    parts = Parts(store, harness._worker)
    stop = threading.Event()
    try:
        # In a thread of its own, where no event loop runs but those of the worlds.
        return await asyncio.to_thread(play_batch, harness.worlds, parts, stop)
    finally:
        stop.set()


async def _judge(t: Trial, prop: Property) -> None:
    batch = await batch_of(t.harness)
    if prop.name in batch.violations:
        raise batch.violations[prop.name]
    if batch.surprise is not None:
        raise RuntimeError(batch.surprise)


def _body(prop: Property) -> Body:
    return partial(_judge, prop=prop)


for _property in WORLD_PROPERTIES:
    case(
        _property.rule,
        tier=Tier.WORLD,
        time_limit=_LIMIT,
        name=f"{_property.name}_in_every_world",
    )(_body(_property))


@case("store.live", tier=Tier.WORLD, time_limit=_LIMIT)
async def the_worlds_had_every_kind_of_trouble(t: Trial) -> None:
    batch = await batch_of(t.harness)
    if batch.worlds < ENOUGH:
        raise NotApplicable(f"{batch.worlds} worlds are too few to have seen everything")
    never = unseen(batch.seen)
    t.check(not never, f"in {batch.worlds} worlds it was never seen that {'; '.join(never)}")


@case("lane.order", tier=Tier.WORLD, time_limit=_LIMIT)
async def the_calls_of_worlds_are_answered_as_by_the_reference(t: Trial) -> None:
    if not owns_its_time(t.harness):
        raise NotApplicable(
            "the calls of worlds are told to stores whose clock stands still unless `age` moves "
            "it: give `age` and such a clock if yours can have one"
        )
    stage = Stage(t.harness)
    try:
        if await stage.times() is not STILL:
            raise NotApplicable(
                "its clock also moves by itself, so answers cannot be compared: give it one that "
                "stands still unless `age` moves it, if it can have one"
            )
        for seed in t.harness.worlds[:_TOLD]:
            script = await asyncio.to_thread(script_of, seed)
            try:
                await stage.play(script)
            except Violation as found:
                raise found.placed(seed=seed) from found
    finally:
        await stage.close()
