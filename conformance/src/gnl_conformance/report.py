"""The verdict on a store, and the JSON report that carries it."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gnl_conformance._case import Case, all_cases, kept
from gnl_conformance._grade import Grade, Result, stands
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rule import named

SPI = 1
"""Version of the store interface that the cases speak."""

CONFORMS, PARTIAL, FAIL = "CONFORMS", "PARTIAL", "FAIL"
NOT_RUN = "NOT RUN"
"""Nobody asked for this store: no verdict on it."""

_BROKEN = {Result.FAILED.value, Result.ERROR.value}
_GRADED = {Result.PASSED.value, Result.DEVIATES.value, *_BROKEN}


@dataclass(frozen=True, slots=True)
class Report:
    """How one harness did."""

    harness: type[StoreConformance]
    grades: tuple[Grade, ...]
    verdict: str
    why: str
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[str]:
        """How many cases had each outcome."""
        return Counter(grade.outcome for grade in self.grades)

    @property
    def line(self) -> str:
        """The verdict in one line, with the parts of a store for which it holds."""
        counts = ", ".join(f"{n} {outcome}" for outcome, n in sorted(self.counts.items()))
        why = f": {self.why}" if self.why else ""
        holds = f" for {named(self.harness.parts)}" if self.verdict in (CONFORMS, PARTIAL) else ""
        counted = f" ({counts})" if counts else ""
        return f"gnl conformance of {self.harness.__name__}: {self.verdict}{holds}{why}{counted}"

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        capabilities = sorted(one.value for one in self.harness.capabilities)
        return {
            "kit": _installed("gnl-conformance"),
            "spi": SPI,
            "store": self.harness.__name__,
            "versions": {"gnl-core": _installed("gnl-core"), **self.versions},
            "python": platform.python_version(),
            "platform": platform.platform(),
            "verdict": self.verdict,
            "why": self.why,
            "parts": sorted(one.value for one in self.harness.parts),
            "capabilities": capabilities,
            "deviations": dict(self.harness.deviations),
            "cases": [grade.as_dict() for grade in self.grades],
            "seeds": sorted({one.seeds for one in self.grades if one.seeds}),
        }


def weigh(
    harness: type[StoreConformance],
    grades: Sequence[Grade],
    *,
    expected: Collection[Case] | None = None,
    required: bool = False,
) -> Report:
    """Weigh the grades of one harness against all cases about the parts that it declares.

    With `required`, a case that could not be run is a failure.
    """
    cases = kept(all_cases(), harness.parts) if expected is None else expected
    verdict, why = judge(harness, grades, cases, required=required)
    return Report(harness, tuple(grades), verdict, why)


def deselected(harness: type[StoreConformance]) -> Report:
    """What is said of a harness of which every test was deselected."""
    return Report(harness, (), NOT_RUN, "every test of it was deselected")


def judge(
    harness: type[StoreConformance],
    grades: Sequence[Grade],
    expected: Collection[Case],
    *,
    required: bool = False,
) -> tuple[str, str]:
    """The verdict and the reason for it."""
    broken = _rules_of(grades, _BROKEN)
    if broken:
        return FAIL, _one_error(grades) or f"broken: {', '.join(broken)}"
    not_run = _rules_of(grades, {Result.NOT_RUN.value})
    if required and not_run:
        return FAIL, f"required, but not run: {', '.join(not_run)}"
    if not any(grade.outcome in _GRADED for grade in grades):
        return FAIL, _nothing_graded(grades)
    untrue = [why for rule in harness.deviations if (why := _untrue(harness, rule, grades))]
    if untrue:
        return FAIL, "; ".join(untrue)
    gaps = _gaps(grades, expected)
    return (PARTIAL, "; ".join(gaps)) if gaps else (CONFORMS, "")


def _one_error(grades: Sequence[Grade]) -> str:
    """The error that every case ended with that was begun, if it was one and the same."""
    began = {(one.outcome, one.why) for one in grades if one.outcome in _GRADED}
    ((outcome, why),) = began if len(began) == 1 else {("", "")}
    return why if outcome == Result.ERROR.value and "\n" not in why else ""


def _nothing_graded(grades: Sequence[Grade]) -> str:
    """An empty run is no verdict on the store: the reasons say what a harness could give."""
    reasons = [why for why, _ in Counter(one.why for one in grades if one.why).most_common(3)]
    return ": ".join(["no case was graded", *(["; ".join(reasons)] if reasons else [])])


def _untrue(harness: type[StoreConformance], rule: str, grades: Sequence[Grade]) -> str | None:
    ran = [grade for grade in grades if grade.rule == rule and grade.outcome in _GRADED]
    cases = kept(all_cases(), harness.parts)
    complete = {case.name for case in cases if case.rule.id == rule} <= {
        grade.case for grade in grades if grade.rule == rule
    }
    return stands(harness, rule, ran) if ran and complete else None


def _gaps(grades: Sequence[Grade], expected: Collection[Case]) -> list[str]:
    gaps = []
    if deviating := _rules_of(grades, {Result.DEVIATES.value}):
        gaps.append(f"deviates from {', '.join(deviating)}")
    if not_run := _rules_of(grades, {Result.NOT_RUN.value}):
        gaps.append(f"not run: {', '.join(not_run)}")
    seen = {(grade.rule, grade.case) for grade in grades}
    missing = [case for case in expected if (case.rule.id, case.name) not in seen]
    if missing:
        tiers = Counter(case.tier.value for case in missing)
        gaps.append("left out: " + ", ".join(f"{n} of tier {t}" for t, n in sorted(tiers.items())))
    return gaps


def write(path: Path, reports: Sequence[Report]) -> None:
    """Write one report as an object, several as a list."""
    found = [one.as_dict() for one in reports]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found[0] if len(found) == 1 else found, indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def _rules_of(grades: Sequence[Grade], outcomes: Collection[str]) -> list[str]:
    return list(dict.fromkeys(grade.rule for grade in grades if grade.outcome in outcomes))


def _installed(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "not installed"
