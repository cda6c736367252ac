"""What must agree with the reference, call by call: the rules that the model tier can name."""

from __future__ import annotations

from functools import partial

from gnl_conformance._case import Body, Tier, case
from gnl_conformance._harness import StoreConformance
from gnl_conformance._trial import Trial
from gnl_conformance._violation import NotRun, Violation
from gnl_conformance.model.difference import RULES_NAMED
from gnl_conformance.model.run import run_model

NAME = "scripts_play_as_on_the_reference"
_RUNS: dict[tuple[type[StoreConformance], range], Violation | None] = {}


async def found_by_model(harness: StoreConformance) -> Violation | None:
    """What the one run found that all rules share; its first asker has to wait for it."""
    key = type(harness), harness.seeds
    if key not in _RUNS:
        _RUNS[key] = await run_model(harness)
    return _RUNS[key]


async def _judge(t: Trial, rule: str) -> None:
    found = await found_by_model(t.harness)
    if found is None:
        return
    if found.rule == rule:
        raise found.placed(seed=t.harness.seeds.start)
    raise NotRun(
        f"the scripts ended at the first break, which is one of {found.rule}: "
        f"run --rules {found.rule} to see it (in pytest: --gnl-rules {found.rule})"
    )


def _body(rule: str) -> Body:
    return partial(_judge, rule=rule)


for _rule in RULES_NAMED:
    case(_rule, tier=Tier.MODEL, time_limit=900, name=NAME)(_body(_rule))
