"""Verdicts: nothing but a full pass conforms, and a skip is never a pass."""

import json
from pathlib import Path
from typing import ClassVar

import pytest

from gnl_conformance import Case, Grade, StoreConformance, all_cases
from gnl_conformance.report import CONFORMS, FAIL, PARTIAL, judge, weigh, write


class Plain(StoreConformance):
    pass


class Deviating(StoreConformance):
    deviations: ClassVar[dict[str, str]] = {"lease.clock": "https://example.org/1"}


CASES = all_cases()


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


def test_a_case_that_was_not_run_is_partial() -> None:
    assert judge(Plain, grades(lease_clock="not-run"), CASES) == (PARTIAL, "not run: lease.clock")


def test_a_tier_left_out_is_partial() -> None:
    only = [grade for grade in grades() if grade.tier == "cases"]
    verdict, why = judge(Plain, only, CASES)
    assert verdict == PARTIAL
    assert "of tier process" in why


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
    line = weigh(Plain, grades(lease_clock="failed")).line
    assert line.startswith("gnl conformance of Plain: FAIL: broken: lease.clock (1 failed, ")
