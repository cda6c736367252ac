"""Each broken store and worker of the world tier fails its rule in a small batch of worlds."""

import pytest

from gnl_conformance import Tier, grade
from gnl_conformance._case import chosen
from gnl_conformance.mutants.registry import Mutant, all_mutants

MUTANTS = [mutant for mutant in all_mutants() if mutant.tier is Tier.WORLD]
WORLDS = range(80)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one.rule}-{one.name}")
def test_a_broken_one_fails_its_rule_by_its_message(mutant: Mutant) -> None:
    harness = mutant.harness()
    harness.worlds = WORLDS
    again = "python -m gnl_conformance x.py:X --tier world --seeds 0-79"
    grades = [grade(harness, case, again=again) for case in chosen(["world"], [mutant.rule])]
    whys = [one.why for one in grades if one.outcome == "failed"]
    told = [why for why in whys if mutant.fragment in why.split("\n")[0]]
    assert told, whys or [one.why for one in grades]
    sentence, *_, seed, command = told[0].split("\n")
    assert sentence.startswith(f"{mutant.rule} (")
    number = int(seed.removeprefix("seed: "))
    assert command == f"run again: {again.replace('0-79', f'{number}-{number}')}"


def test_every_rule_of_the_world_tier_has_a_broken_store_or_worker() -> None:
    rules = {case.rule.id for case in chosen(["world"])}
    assert {mutant.rule for mutant in MUTANTS} == rules
