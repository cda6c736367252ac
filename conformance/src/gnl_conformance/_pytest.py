"""What the pytest plugin does once a test module uses the kit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import cast

import pytest

from gnl_conformance import report as reports
from gnl_conformance._case import Case
from gnl_conformance._choice import Choice, more_to_repeat, read_choice, required
from gnl_conformance._grade import STANDS, Grade, Result, grade, stands
from gnl_conformance._harness import StoreConformance, check_declarations

_KEY = "gnl-grade"
_HARNESSES: pytest.StashKey[dict[str, type[StoreConformance]]] = pytest.StashKey()
_SELECTED: pytest.StashKey[set[str]] = pytest.StashKey()
_COLLECTED: dict[str, list[Grade]] = {}
_SEEN: dict[type[StoreConformance], list[Grade]] = {}


def generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case, for a subclass of `StoreConformance`."""
    harness = metafunc.cls
    if not (isinstance(harness, type) and issubclass(harness, StoreConformance)):
        return
    check_declarations(harness)
    used = metafunc.config.stash.setdefault(_HARNESSES, {})
    used[_name(harness)] = harness
    metafunc.parametrize(
        "gnl_case", list(_params(harness, _choice(metafunc.config).cases_for(harness)))
    )


def _choice(config: pytest.Config) -> Choice:
    options = ("gnl_tier", "gnl_rules", "gnl_seeds", "gnl_seconds")
    try:
        return read_choice(*[config.getoption(option) for option in options])
    except ValueError as error:
        raise pytest.UsageError(f"options of the conformance kit: {error}") from None


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
    _choice(asked.config).configure(harness)
    again = f"pytest '{asked.node.nodeid}'{more_to_repeat(harness, case, '--gnl-')}"
    result = grade(harness, case, again=again)
    _SEEN.setdefault(type(harness), []).append(result)
    asked.node.user_properties.append((_KEY, [_name(type(harness)), result.as_dict()]))
    _tell(result, required=_required(asked.config))


def _required(config: pytest.Config) -> bool:
    return required(asked_for=bool(config.getoption("gnl_require")))


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


def selected(session: pytest.Session) -> None:
    """Remember the harnesses of which pytest is going to run a test."""
    classes = [getattr(item, "cls", None) for item in session.items]
    names = {
        _name(one) for one in classes if isinstance(one, type) and issubclass(one, StoreConformance)
    }
    session.config.stash[_SELECTED] = names


def summarise(terminal: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell the verdict of each store in one line, and write the report."""
    if config.getoption("collectonly"):
        return
    harnesses = config.stash.get(_HARNESSES, {})
    asked_for = config.stash.get(_SELECTED, {*harnesses})
    found = [
        reports.weigh(harness, _COLLECTED.get(name, ()), required=_required(config))
        if name in asked_for
        else reports.deselected(harness)
        for name, harness in harnesses.items()
    ]
    for one in found:
        terminal.write_line(one.line)
    path = config.getoption("gnl_report")
    if path and found:
        reports.write(Path(path), found)
