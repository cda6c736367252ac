"""What the pytest plugin does once a test module uses the kit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest

from gnl_conformance import report as reports
from gnl_conformance._case import Case, Tier, chosen
from gnl_conformance._grade import STANDS, Grade, Result, grade, stands
from gnl_conformance._harness import StoreConformance, check_declarations

_KEY = "gnl-grade"
_HARNESSES: pytest.StashKey[dict[str, type[StoreConformance]]] = pytest.StashKey()
_COLLECTED: dict[str, list[Grade]] = {}
_SEEN: dict[type[StoreConformance], list[Grade]] = {}


def generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case, for a subclass of `StoreConformance`."""
    harness = metafunc.cls
    if not (isinstance(harness, type) and issubclass(harness, StoreConformance)):
        return
    check_declarations(harness)
    tiers = [tier for tier in (metafunc.config.getoption("gnl_tier") or "").split(",") if tier]
    unknown = set(tiers) - {tier.value for tier in Tier}
    if unknown:
        raise pytest.UsageError(f"--gnl-tier: no such tier: {', '.join(sorted(unknown))}")
    used = metafunc.config.stash.setdefault(_HARNESSES, {})
    used[_name(harness)] = harness
    metafunc.parametrize("gnl_case", list(_params(harness, chosen(tiers))))


def _params(harness: type[StoreConformance], cases: Iterable[Case]) -> Iterator[object]:
    wanted = list(cases)
    for case in wanted:
        yield pytest.param(case, id=case.id)
    for rule in harness.deviations:
        if any(case.rule.id == rule for case in wanted):
            yield pytest.param(rule, id=f"{rule}-{STANDS}")


def grade_in_pytest(harness: StoreConformance, what: object, request: object) -> None:
    """Grade one case, and turn the grade into what pytest calls it."""
    asked = cast("pytest.FixtureRequest", request)
    if isinstance(what, str):
        _check_deviation(type(harness), what)
        return
    case = cast("Case", what)
    _configure(harness, asked.config)
    result = grade(harness, case, again=f"pytest '{asked.node.nodeid}'")
    _SEEN.setdefault(type(harness), []).append(result)
    asked.node.user_properties.append((_KEY, [_name(type(harness)), result.as_dict()]))
    _tell(result, required=_required(asked.config))


def _configure(harness: StoreConformance, config: pytest.Config) -> None:
    for option in ("seconds", "seed"):
        value = config.getoption(f"gnl_{option}")
        if value is not None:
            setattr(harness, option, value)


def _required(config: pytest.Config) -> bool:
    return bool(config.getoption("gnl_require") or os.environ.get("GNL_REQUIRE"))


def _tell(result: Grade, *, required: bool) -> None:
    __tracebackhide__ = True
    if result.outcome == Result.DEVIATES.value:
        pytest.xfail(result.why)
    if result.outcome == Result.NOT_APPLICABLE.value:
        pytest.skip(result.why)
    if result.outcome == Result.NOT_RUN.value and not required:
        pytest.skip(f"NOT RUN: {result.why}")
    if result.outcome != Result.PASSED.value:
        pytest.fail(result.why, pytrace=False)


def _check_deviation(harness: type[StoreConformance], rule: str) -> None:
    __tracebackhide__ = True
    seen = [one for one in _SEEN.get(harness, []) if one.rule == rule]
    if not seen:
        pytest.skip(f"no case of {rule} was run before")
    why = stands(harness, rule, seen)
    if why:
        pytest.fail(why, pytrace=False)


def collect(report: pytest.TestReport) -> None:
    """Keep the grades that a test left, also one that ran in another process."""
    for key, value in report.user_properties:
        if key == _KEY:
            name, found = cast("tuple[str, dict[str, object]]", value)
            _COLLECTED.setdefault(name, []).append(Grade(**found))  # type: ignore[arg-type] # JSON of a Grade


def _name(harness: type[StoreConformance]) -> str:
    return f"{harness.__module__}:{harness.__qualname__}"


def summarise(terminal: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell the verdict of each store in one line, and write the report."""
    found = [
        reports.weigh(harness, _COLLECTED.get(name, ()))
        for name, harness in config.stash.get(_HARNESSES, {}).items()
    ]
    for one in found:
        terminal.write_line(one.line)
    path = config.getoption("gnl_report")
    if path and found:
        reports.write(Path(path), found)
