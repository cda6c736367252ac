"""The command: grade a store without pytest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gnl_conformance import report as reports
from gnl_conformance._case import Tier, chosen
from gnl_conformance._grade import Grade, Result, grade
from gnl_conformance._harness import StoreConformance
from gnl_conformance._load import load_harness
from gnl_conformance._rules import RULES

_SIGNS = {
    Result.PASSED.value: "ok",
    Result.NOT_APPLICABLE.value: "n/a",
    Result.NOT_RUN.value: "NOT RUN",
    Result.DEVIATES.value: "deviates",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Grade a store; the exit code is 0 for CONFORMS and PARTIAL, 1 for FAIL, 2 for misuse."""
    asked = _parser().parse_args(arguments)
    try:
        harness = load_harness(asked.harness)
        grades = _grade_all(harness, asked)
    except ValueError as error:
        print(f"gnl-conformance: {error}", file=sys.stderr)
        return 2
    found = reports.weigh(harness, grades)
    print(found.line)
    if asked.json:
        reports.write(asked.json, [found])
    return 1 if found.verdict == reports.FAIL else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gnl-conformance", description=__doc__)
    parser.add_argument("harness", help="path/to/file.py:Class, a subclass of StoreConformance")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report")
    parser.add_argument("--tier", default="", help="tiers to run, e.g. cases,process")
    parser.add_argument("--rules", default="", help="rules or families, e.g. lease,list.ends")
    parser.add_argument("--seconds", type=float, help="how long the process tier runs")
    parser.add_argument("--seed", type=int, help="seed of the process tier")
    parser.add_argument("--quiet", action="store_true", help="show only what did not pass")
    return parser


def _names(text: str, known: set[str], what: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = sorted(set(names) - known)
    if unknown:
        raise ValueError(f"no such {what}: {', '.join(unknown)}")
    return names


def _grade_all(harness: type[StoreConformance], asked: argparse.Namespace) -> list[Grade]:
    tiers = _names(asked.tier, {tier.value for tier in Tier}, "tier")
    families = {rule.family for rule in RULES.values()}
    rules = _names(asked.rules, {*RULES, *families}, "rule or family")
    again = f"python -m gnl_conformance {asked.harness}"
    grades = []
    for case in chosen(tiers, rules):
        store = harness()
        _configure(store, asked)
        found = grade(store, case, again=f"{again} --rules {case.rule.id}")
        grades.append(found)
        _show(found, quiet=asked.quiet)
    return grades


def _configure(harness: StoreConformance, asked: argparse.Namespace) -> None:
    for option in ("seconds", "seed"):
        value = getattr(asked, option)
        if value is not None:
            setattr(harness, option, value)


def _show(found: Grade, *, quiet: bool) -> None:
    sign = _SIGNS.get(found.outcome, "BROKEN" if found.outcome == Result.FAILED.value else "ERROR")
    if quiet and sign in ("ok", "n/a"):
        return
    print(f"{sign:8} {found.seconds:7.2f} s  {found.rule}-{found.case}", flush=True)
    if found.why and sign != "n/a":
        print("         " + found.why.replace("\n", "\n         "))
