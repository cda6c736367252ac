"""The command: grade a store without pytest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gnl_conformance import report as reports
from gnl_conformance._choice import (
    REQUIRE_HELP,
    RULES_HELP,
    SECONDS_HELP,
    SEEDS_HELP,
    TIER_HELP,
    Choice,
    more_to_repeat,
    read_choice,
    required,
)
from gnl_conformance._grade import Grade, Result, grade
from gnl_conformance._harness import StoreConformance
from gnl_conformance._load import load_harness

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
        choice = read_choice(asked.tier, asked.rules, asked.seeds, asked.seconds)
        harness = load_harness(asked.harness)
    except ValueError as error:
        print(f"gnl-conformance: {error}", file=sys.stderr)
        return 2
    grades = _grade_all(harness, choice, asked)
    found = reports.weigh(harness, grades, required=required(asked_for=asked.require))
    print(found.line)
    if asked.json:
        reports.write(asked.json, [found])
    return 1 if found.verdict == reports.FAIL else 0


def _parser() -> argparse.ArgumentParser:
    # No abbreviations: `--seed 7` would be read as `--seeds 7`, which is something else.
    parser = argparse.ArgumentParser(
        prog="gnl-conformance", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("harness", help="path/to/file.py:Class, a subclass of StoreConformance")
    parser.add_argument("--tier", metavar="TIERS", help=TIER_HELP)
    parser.add_argument("--rules", metavar="RULES", help=RULES_HELP)
    parser.add_argument("--seeds", metavar="SEEDS", help=SEEDS_HELP)
    parser.add_argument("--seconds", type=float, help=SECONDS_HELP)
    parser.add_argument("--require", action="store_true", help=REQUIRE_HELP)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report")
    parser.add_argument("--quiet", action="store_true", help="show only what did not pass")
    return parser


def _grade_all(
    harness: type[StoreConformance], choice: Choice, asked: argparse.Namespace
) -> list[Grade]:
    again = f"python -m gnl_conformance {asked.harness}"
    grades = []
    for case in choice.cases_for(harness):
        store = harness()
        choice.configure(store)
        this = f" --tier {case.tier.value} --rules {case.rule.id}"
        found = grade(store, case, again=again + this + more_to_repeat(store, case, "--"))
        grades.append(found)
        _show(found, quiet=asked.quiet)
    return grades


def _show(found: Grade, *, quiet: bool) -> None:
    sign = _SIGNS.get(found.outcome, "BROKEN" if found.outcome == Result.FAILED.value else "ERROR")
    if quiet and sign in ("ok", "n/a"):
        return
    print(f"{sign:8} {found.seconds:7.2f} s  {found.rule}-{found.case}", flush=True)
    if found.why:
        print("         " + found.why.replace("\n", "\n         "))
