"""What must be true under real processes that are killed: the checker, property by property."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial

from gnl_conformance._case import Body, Tier, case
from gnl_conformance._harness import StoreConformance, where
from gnl_conformance._trial import Trial
from gnl_conformance.checker import PROPERTIES, Property
from gnl_conformance.process.actors import spawn
from gnl_conformance.process.driver import Storm, run_storm
from gnl_conformance.process.judging import check_that_time_passes, judge_storm
from gnl_core.spi import Capability

_NEEDS = [Capability.MULTI_PROCESS]
_STORMS: dict[tuple[type[StoreConformance], float, int], Storm] = {}


async def storm_of(harness: StoreConformance) -> Storm:
    """The one storm that all properties judge; its first asker has to wait for it."""
    key = type(harness), harness.seconds, harness.seeds.start
    if key not in _STORMS:
        space = f"gnl{uuid.uuid4().hex[:12]}"
        await check_that_time_passes(harness, space)
        _STORMS[key] = await run_storm(harness, space)
    return _STORMS[key]


async def _judge(t: Trial, prop: Property) -> None:
    storm = await storm_of(t.harness)
    judge_storm(t.harness, storm, prop)


def _body(prop: Property) -> Body:
    return partial(_judge, prop=prop)


for _property in PROPERTIES:
    case(_property.rule, tier=Tier.PROCESS, needs=_NEEDS, time_limit=600, name=_property.name)(
        _body(_property)
    )


@case("store.schema", tier=Tier.PROCESS, needs=_NEEDS)
async def upgrades_by_several_processes_agree(t: Trial) -> None:
    space = f"{t.space}race"
    name = where(type(t.harness))
    children = [spawn(name, space, "--role", "upgrade") for _ in range(5)]
    try:
        ends = await asyncio.gather(*[asyncio.to_thread(one.communicate) for one in children])
        said = {out.decode().strip() for out, _ in ends}
        failed = [
            errors.decode()[-600:]
            for (_, errors), one in zip(ends, children, strict=True)
            if one.returncode != 0
        ]
        t.check(not failed, f"an upgrade raced by others failed: {failed[:1]}")
        t.check(len(said) == 1, f"five upgrades at once found {sorted(said)}")
    finally:
        await t.harness.drop(space)
