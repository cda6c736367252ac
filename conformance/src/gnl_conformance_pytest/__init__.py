"""The kit's pytest plugin. It loads the kit only where a test module uses it.

It is a package of its own, so that pytest can load it in every environment that has the kit
without importing anything else, whatever suite is run there.
"""

from __future__ import annotations

import sys

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the kit's options."""
    group = parser.getgroup("gnl", "conformance of gnl stores")
    group.addoption("--gnl-tier", metavar="TIERS", help="tiers to run, e.g. cases,process")
    group.addoption("--gnl-rules", metavar="RULES", help="rules or families, e.g. lease,list.ends")
    group.addoption("--gnl-seeds", metavar="SEEDS", help="how many seeds, or which: 200, or 40-59")
    group.addoption("--gnl-seconds", type=float, help="how long the process tier runs")
    group.addoption(
        "--gnl-require",
        action="store_true",
        help="a tier or server that cannot run is a failure (so does GNL_REQUIRE being set)",
    )
    group.addoption("--gnl-report", metavar="FILE", help="write the verdicts as JSON")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each case of the kit."""
    if metafunc.cls is not None and "gnl_case" in metafunc.fixturenames:
        from gnl_conformance import _pytest  # noqa: PLC0415 - see above

        _pytest.generate_tests(metafunc)


def pytest_collection_finish(session: pytest.Session) -> None:
    """See which stores are going to be graded, now that tests were deselected."""
    if "gnl_conformance._pytest" in sys.modules:
        from gnl_conformance import _pytest  # noqa: PLC0415 - see above

        _pytest.selected(session)


@pytest.fixture
def gnl_grading(request: pytest.FixtureRequest) -> pytest.FixtureRequest:
    """The running test, on which its grade is left."""
    return request


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect grades, also those that come from another process."""
    if report.when == "call" and any(key == "gnl-grade" for key, _ in report.user_properties):
        from gnl_conformance import _pytest  # noqa: PLC0415 - see above

        _pytest.collect(report)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Tell the verdict of each store in one line, and write the report."""
    if "gnl_conformance._pytest" in sys.modules:
        from gnl_conformance import _pytest  # noqa: PLC0415 - see above

        _pytest.summarise(terminalreporter, config)
