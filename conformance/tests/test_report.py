"""Verdicts: nothing but a full pass conforms, and a skip is never a pass."""

import json
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from gnl_conformance import RULES, Case, Grade, StoreConformance, Tier, all_cases, grade
from gnl_conformance._case import chosen
from gnl_conformance.mutants.registry import all_mutants
from gnl_conformance.report import CONFORMS, FAIL, PARTIAL, judge, weigh, write


class Plain(StoreConformance):
    pass


class Deviating(StoreConformance):
    deviations: ClassVar[dict[str, str]] = {"lease.clock": "https://example.org/1"}


CASES = all_cases()


def registry_harness(name: str) -> type[StoreConformance]:
    return next(mutant.harness for mutant in all_mutants() if mutant.name == name)


def graded(case: Case, outcome: str = "passed") -> Grade:
    return Grade(case.rule.id, case.rule.promise, case.name, case.tier.value, outcome, "", 0.1)


def grades(**outcomes: str) -> list[Grade]:
    """All cases passed, but for those of a rule (dots as underlines)."""
    return [graded(case, outcomes.get(case.rule.id.replace(".", "_"), "passed")) for case in CASES]


def test_all_passed_conforms() -> None:
    assert judge(Plain, grades(), CASES) == (CONFORMS, "")


def test_what_does_not_apply_does_not_count() -> None:
    assert judge(Plain, grades(enqueue_transaction="not-applicable"), CASES)[0] == CONFORMS


@pytest.mark.parametrize("outcome", ["failed", "error"])
def test_one_break_fails(outcome: str) -> None:
    assert judge(Plain, grades(lease_clock=outcome), CASES) == (FAIL, "broken: lease.clock")


def test_nothing_graded_fails() -> None:
    nothing = [graded(case, "not-run") for case in CASES]
    assert judge(Plain, nothing, CASES) == (FAIL, "no case was graded")
    assert judge(Plain, [], CASES) == (FAIL, "no case was graded")


def test_nothing_graded_says_why() -> None:
    case = CASES[0]
    apart = [replace(graded(case, "not-applicable"), why=why) for why in ("a", "b", "a")]
    assert judge(Plain, apart, CASES) == (FAIL, "no case was graded: a; b")


def test_a_case_that_was_not_run_is_partial() -> None:
    assert judge(Plain, grades(lease_clock="not-run"), CASES) == (PARTIAL, "not run: lease.clock")


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_left_out_is_partial(tier: Tier) -> None:
    rest = [grade for grade in grades() if grade.tier != tier.value]
    verdict, why = judge(Plain, rest, CASES)
    assert verdict == PARTIAL
    assert why.startswith("left out: ")
    assert why.endswith(f" of tier {tier.value}")


@pytest.mark.parametrize("tier", Tier)
def test_a_tier_that_could_not_run_is_partial_or_a_failure_if_required(tier: Tier) -> None:
    found = [graded(case, "not-run" if case.tier is tier else "passed") for case in CASES]
    verdict, why = judge(Plain, found, CASES)
    assert (verdict, why[:9]) == (PARTIAL, "not run: ")
    verdict, why = judge(Plain, found, CASES, required=True)
    assert (verdict, why[:23]) == (FAIL, "required, but not run: ")


@pytest.mark.parametrize(
    ("harness", "tier"),
    [
        (registry_harness("ClaimTakesLiveLeases"), Tier.CASES),
        (registry_harness("TokenIsTheAttemptInAFile"), Tier.PROCESS),
    ],
    ids=lambda one: getattr(one, "value", None) or one.__name__,
)
def test_a_failure_names_promise_events_seed_and_command(  # of the model tier: test_model.py
    harness: type[StoreConformance], tier: Tier
) -> None:
    store = harness()
    store.seconds = 4.0
    again = "python -m gnl_conformance x.py:X"
    rules = ["lease.exclusive", "lease.fenced", "lease.token"]
    found = [grade(store, case, again=again) for case in chosen([tier.value], rules)]
    lines = next(one.why for one in found if one.outcome == "failed").split("\n")
    rule = RULES[lines[0].partition(" ")[0]]
    assert lines[0].startswith(f"{rule.id} ({rule.promise}: {rule.says}) is broken: ")
    events = [line for line in lines if line.startswith("    ")]
    assert 2 <= len(events) <= 6
    assert lines[1 : 1 + len(events)] == events
    if tier is not Tier.CASES:
        assert "seed: 0" in lines
    assert lines[-1] == f"run again: {again}"


def test_a_declared_deviation_is_partial() -> None:
    verdict, why = judge(Deviating, grades(lease_clock="deviates"), CASES)
    assert (verdict, why) == (PARTIAL, "deviates from lease.clock")


def test_a_deviation_that_is_no_longer_true_fails() -> None:
    verdict, why = judge(Deviating, grades(), CASES)
    assert verdict == FAIL
    assert "take it away" in why


def test_the_report_names_everything_that_was_graded(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "r.json"
    write(file, [weigh(Plain, grades(store_kept="failed"))])
    found = json.loads(file.read_text())
    assert (found["store"], found["verdict"], found["spi"]) == ("Plain", FAIL, 1)
    assert {"kit", "versions", "python", "platform", "capabilities", "seeds"} <= set(found)
    assert len(found["cases"]) == len(CASES)
    assert set(found["cases"][0]) == {
        "rule", "promise", "case", "tier", "outcome", "why", "seconds", "seeds", "seed"
    }  # fmt: skip


def test_the_line_counts_outcomes() -> None:
    failing = sum(case.rule.id == "lease.clock" for case in CASES)
    line = weigh(Plain, grades(lease_clock="failed")).line
    start = f"gnl conformance of Plain: FAIL: broken: lease.clock ({failing} failed, "
    assert line.startswith(start)
