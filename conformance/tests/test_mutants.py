"""The kit proves itself: every rule is broken by some store, and the kit says so."""

import pytest

from gnl_conformance import RULES, Tier, all_cases, grade
from gnl_conformance._case import chosen
from gnl_conformance.mutants.reference import FileConformance, ReferenceConformance
from gnl_conformance.mutants.registry import Mutant, all_mutants
from gnl_conformance.mutants.transaction import TransactionalConformance
from gnl_conformance.process import driver

CASES_TIER = [mutant for mutant in all_mutants() if mutant.tier is Tier.CASES]
PROCESS_TIER = [mutant for mutant in all_mutants() if mutant.tier is Tier.PROCESS]


def messages(mutant: Mutant, seed: int = 0) -> list[str]:
    """What the cases of the mutant's rule say; a traceback is no such message."""
    harness = mutant.harness()
    harness.seconds, harness.seeds = 4.0, range(seed, seed + 1)
    cases = chosen([mutant.tier.value], [mutant.rule])
    grades = [grade(harness, case) for case in cases]
    return [one.why.split("\n")[0] for one in grades if one.outcome == "failed"]


def name(mutant: Mutant) -> str:
    return f"{mutant.rule}-{mutant.name}-{mutant.fragment[:20]}".replace(" ", "_")


@pytest.mark.parametrize("mutant", CASES_TIER, ids=name)
def test_a_broken_store_fails_its_rule_by_its_message(mutant: Mutant) -> None:
    found = messages(mutant)
    assert any(mutant.fragment in message for message in found), found
    assert all(message.startswith(f"{mutant.rule} (") for message in found)


@pytest.mark.parametrize("mutant", PROCESS_TIER, ids=name)
def test_a_broken_store_fails_under_real_processes(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Some of them never come to rest: how long they are given is nothing that they could keep.
    monkeypatch.setattr(driver, "QUIET_LIMIT", 4.0)
    # Where a kill falls is for the scheduler to say: what one storm misses, another hits.
    found: list[str] = []
    for seed in range(4):
        found += messages(mutant, seed)
        if any(mutant.fragment in message for message in found):
            return
    pytest.fail(f"no storm out of four brought out {mutant.how!r}: {found}")


@pytest.mark.parametrize("harness", [ReferenceConformance, TransactionalConformance])
def test_the_reference_keeps_every_rule(harness: type[ReferenceConformance]) -> None:
    grades = [grade(harness(), case) for case in all_cases()]
    assert [one for one in grades if one.outcome not in ("passed", "not-applicable")] == []


def test_the_reference_keeps_every_rule_under_real_processes() -> None:
    harness = FileConformance()
    harness.seconds = 6.0
    grades = [grade(harness, case) for case in chosen(["process"])]
    assert [one for one in grades if one.outcome not in ("passed", "not-applicable")] == []
    assert len([one for one in grades if one.outcome == "passed"]) > 10


def test_every_rule_has_a_case_and_a_broken_store() -> None:
    assert {case.rule.id for case in all_cases()} == set(RULES)
    assert {mutant.rule for mutant in all_mutants()} == set(RULES)


def test_every_property_under_processes_has_a_broken_store() -> None:
    rules = {case.rule.id for case in chosen(["process"])}
    found = {mutant.rule for mutant in PROCESS_TIER}
    assert rules - {"store.schema"} <= found <= rules


def test_every_broken_store_says_how_it_is_broken() -> None:
    assert [mutant.name for mutant in all_mutants() if not mutant.how] == []
