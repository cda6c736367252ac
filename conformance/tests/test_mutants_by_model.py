"""What the model tier kills is pinned: a tier that gets weaker is noticed."""

import asyncio

import pytest

from gnl_conformance import Part, Tier
from gnl_conformance._case import Case, chosen
from gnl_conformance.model import search
from gnl_conformance.model.difference import RULES_NAMED
from gnl_conformance.model.run import run_model
from gnl_conformance.mutants.by_model import KILLED, LEFT, SEEDS
from gnl_conformance.mutants.registry import all_mutants

OF_ONE_STORE = ("lease.token", "attempt.run", "enqueue.order", "enqueue.once", "store.clock")
"""Rules that a store can break by what it says itself."""
FAMILIES = {rule.partition(".")[0] for rule in RULES_NAMED}
HARNESSES = {
    one.name: one.harness
    for one in all_mutants()
    if one.tier is Tier.CASES and one.part is Part.JOBS and one.rule.partition(".")[0] in FAMILIES
}


@pytest.mark.parametrize("name", KILLED)
def test_the_model_tier_kills(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SHRINKS", 0)
    harness = HARNESSES[name]()
    harness.seeds = SEEDS
    # A traceback would be raised: it is no such message.
    found = asyncio.run(run_model(harness))
    assert found is not None
    assert found.rule in KILLED[name]
    assert "the reference" in found.sentence or found.rule in OF_ONE_STORE


def test_every_broken_store_is_killed_or_left_for_a_reason() -> None:
    assert {*KILLED} | {*LEFT} == {*HARNESSES}
    assert not {*KILLED} & {*LEFT}


def test_what_is_killed_does_not_shrink_in_silence() -> None:
    assert len(KILLED) == 77


def test_every_rule_that_can_be_named_is_a_case() -> None:
    cases: tuple[Case, ...] = chosen(["model"])
    assert {case.name for case in cases} == {"scripts_play_as_on_the_reference"}
