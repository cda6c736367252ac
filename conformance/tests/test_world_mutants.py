"""Each broken store and worker of the world tier fails its rule in a small batch of worlds."""

import pytest

from gnl_conformance import Tier, grade
from gnl_conformance._case import chosen
from gnl_conformance.mutants.registry import Mutant, all_mutants

AGAIN = "python -m gnl_conformance x.py:X --tier world --seeds"
MUTANTS = [mutant for mutant in all_mutants() if mutant.tier is Tier.WORLD]
SEEDS = [range(first, first + 40) for first in range(0, 200, 40)]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one.rule}-{one.name}")
def test_a_broken_one_fails_its_rule_by_its_message(mutant: Mutant) -> None:
    whys: list[str] = []
    for seeds in SEEDS:
        whys += messages(mutant, seeds)
        if told := [why for why in whys if mutant.fragment in why.split("\n")[0]]:
            break
    assert told, whys
    sentence, *_, seed, command = told[0].split("\n")
    assert sentence.startswith(f"{mutant.rule} (")
    number = int(seed.removeprefix("seed: "))
    assert command == f"run again: {AGAIN} {number}-{number}"


def messages(mutant: Mutant, seeds: range) -> list[str]:
    """What the cases of the mutant's rule say; a traceback is no such message."""
    harness = mutant.harness()
    harness.worlds = seeds
    again = f"{AGAIN} {seeds.start}-{seeds.stop - 1}"
    grades = [grade(harness, case, again=again) for case in chosen(["world"], [mutant.rule])]
    return [one.why for one in grades if one.outcome == "failed"]


def test_every_rule_of_the_world_tier_has_a_broken_store_or_worker() -> None:
    rules = {case.rule.id for case in chosen(["world"])}
    assert {mutant.rule for mutant in MUTANTS} == rules
