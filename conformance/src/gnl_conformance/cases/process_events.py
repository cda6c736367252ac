"""What must be true of events under real processes that are killed."""

from __future__ import annotations

import uuid
from functools import partial

from gnl_conformance._case import Body, Tier, case
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rules import Part
from gnl_conformance._trial import Trial
from gnl_conformance.checker import Property
from gnl_conformance.event_checker import EVENT_PROPERTIES
from gnl_conformance.process.driver import Storm
from gnl_conformance.process.event_storm import run_event_storm
from gnl_conformance.process.judging import check_that_time_passes, judge_storm
from gnl_core.spi import Capability

_STORMS: dict[tuple[type[StoreConformance], float, int], Storm] = {}


async def _judge(t: Trial, prop: Property) -> None:
    """The one storm is judged by all properties; its first asker has to wait for it."""
    key = type(t.harness), t.harness.seconds, t.harness.seeds.start
    if key not in _STORMS:
        space = f"gnl{uuid.uuid4().hex[:12]}"
        await check_that_time_passes(t.harness, space)
        _STORMS[key] = await run_event_storm(t.harness, space)
    judge_storm(t.harness, _STORMS[key], prop)


def _body(prop: Property) -> Body:
    return partial(_judge, prop=prop)


for _property in EVENT_PROPERTIES:
    case(
        _property.rule,
        tier=Tier.PROCESS,
        needs=[Capability.MULTI_PROCESS],
        time_limit=600,
        name=_property.name,
        part=Part.EVENTS,
    )(_body(_property))
