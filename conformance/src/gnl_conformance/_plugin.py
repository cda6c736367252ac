"""The pytest side of the kit. Touches nothing but subclasses of `StoreConformance`."""

from __future__ import annotations

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
_GRADES: pytest.StashKey[dict[str, list[Grade]]] = pytest.StashKey()
_SEEN: dict[type[StoreConformance], list[Grade]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gnl", "conformance of gnl stores")
    group.addoption("--gnl-report", metavar="FILE", help="write the verdicts as JSON")
    group.addoption("--gnl-tier", metavar="TIERS", help="run these tiers only, e.g. cases,process")
    group.addoption("--gnl-seconds", type=float, help="how long the process tier runs")
    group.addoption("--gnl-seed", type=int, help="seed of the process tier")
    group.addoption(
        "--gnl-require", action="store_true", help="a store that cannot be reached is a failure"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_HARNESSES] = {}
    config.stash[_GRADES] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    harness = metafunc.cls
    if "gnl_case" not in metafunc.fixturenames or not _is_harness(harness):
        return
    check_declarations(harness)
    tiers = [tier for tier in (metafunc.config.getoption("gnl_tier") or "").split(",") if tier]
    unknown = set(tiers) - {tier.value for tier in Tier}
    if unknown:
        raise pytest.UsageError(f"--gnl-tier: no such tier: {', '.join(sorted(unknown))}")
    metafunc.config.stash[_HARNESSES][_name(harness)] = harness
    metafunc.parametrize("gnl_case", list(_params(harness, chosen(tiers))))


def _is_harness(cls: object) -> bool:
    return isinstance(cls, type) and issubclass(cls, StoreConformance)


def _params(harness: type[StoreConformance], cases: Iterable[Case]) -> Iterator[object]:
    wanted = list(cases)
    for case in wanted:
        yield pytest.param(case, id=case.id)
    for rule in harness.deviations:
        if any(case.rule.id == rule for case in wanted):
            yield pytest.param(rule, id=f"{rule}-{STANDS}")


@pytest.fixture
def gnl_grading(request: pytest.FixtureRequest) -> pytest.FixtureRequest:
    return request


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
    _tell(result, required=bool(asked.config.getoption("gnl_require")))


def _configure(harness: StoreConformance, config: pytest.Config) -> None:
    for option in ("seconds", "seed"):
        value = config.getoption(f"gnl_{option}")
        if value is not None:
            setattr(harness, option, value)


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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call":
        return
    for key, value in report.user_properties:
        if key == _KEY:
            name, found = cast("tuple[str, dict[str, object]]", value)
            _COLLECTED.setdefault(name, []).append(Grade(**found))  # type: ignore[arg-type] # JSON of a Grade


_COLLECTED: dict[str, list[Grade]] = {}


def _name(harness: type[StoreConformance]) -> str:
    return f"{harness.__module__}:{harness.__qualname__}"


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    found = [
        reports.weigh(harness, _COLLECTED.get(name, ()))
        for name, harness in config.stash[_HARNESSES].items()
    ]
    for one in found:
        terminalreporter.write_line(one.line)
    path = config.getoption("gnl_report")
    if path and found:
        reports.write(Path(path), found)
