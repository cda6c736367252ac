"""Adoption as a stranger does it: a file, pytest, and the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HARNESS = """
from contextlib import asynccontextmanager
from gnl_conformance import Capability, NotRun, StoreConformance
from gnl_core.memory import open_memory

class TestMine(StoreConformance):
    capabilities = {Capability.WAKE_UPS}
    DEVIATIONS

    @asynccontextmanager
    async def connect(self, space):
        STORE
"""
MEMORY = 'yield await open_memory(f"memory://{space}")'


def write(folder: Path, store: str = MEMORY, deviations: str = "") -> Path:
    text = HARNESS.replace("STORE", store).replace("DEVIATIONS", deviations)
    file = folder / "test_mine.py"
    file.write_text(text)
    return file


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    # What these runs require is said by their arguments, not by those of the run around them.
    env = {name: value for name, value in os.environ.items() if name != "GNL_REQUIRE"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=env)


def test_a_dozen_lines_give_a_test_for_every_case(tmp_path: Path) -> None:
    write(tmp_path)
    done = run(tmp_path, "pytest", "-v", "-k", "lease.exclusive", "--gnl-report", "r.json")
    assert done.returncode == 0, done.stdout
    name = "test_mine.py::TestMine::test_rule[lease.exclusive-a_live_lease_is_not_granted_twice]"
    assert f"{name} PASSED" in done.stdout
    assert "gnl conformance of TestMine: PARTIAL for jobs: left out" in done.stdout
    report = json.loads((tmp_path / "r.json").read_text())
    assert {case["rule"] for case in report["cases"]} == {"lease.exclusive"}
    assert report["capabilities"] == ["wake-ups"]


def test_the_command_needs_no_pytest(tmp_path: Path) -> None:
    file = write(tmp_path)
    (tmp_path / "pytest.py").write_text("raise ImportError('not here')")
    command = [
        "gnl_conformance",
        f"{file}:TestMine",
        "--rules",
        "enqueue.known",
        "--json",
        "r.json",
    ]
    done = run(tmp_path, *command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok " in done.stdout
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "PARTIAL"


def test_the_command_refuses_what_does_not_exist(tmp_path: Path) -> None:
    file = write(tmp_path)
    for arguments in ([f"{file}:Nobody"], [f"{file}:TestMine", "--rules", "lease.nothing"]):
        done = run(tmp_path, "gnl_conformance", *arguments)
        assert done.returncode == 2
        assert "no" in done.stderr


def test_a_deviation_is_expected_to_fail_and_must(tmp_path: Path) -> None:
    write(tmp_path, deviations='deviations = {"lease.token": "https://example.org/1"}')
    done = run(tmp_path, "pytest", "-k", "lease.token")
    assert done.returncode == 1
    assert "declares a deviation from lease.token, but keeps it" in done.stdout
    assert "TestMine: FAIL" in done.stdout


def test_a_deviation_from_no_rule_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, deviations='deviations = {"lease.sticky": "https://example.org/1"}')
    done = run(tmp_path, "pytest")
    assert done.returncode != 0
    assert "'lease.sticky', which is no rule" in done.stdout


def test_a_store_that_cannot_be_reached_is_no_pass(tmp_path: Path) -> None:
    write(tmp_path, store='raise NotRun("no server here"); yield')
    skipped = run(tmp_path, "pytest", "-rs", "-k", "lease.token")
    assert skipped.returncode == 0
    assert "NOT RUN: no server here" in skipped.stdout
    assert "TestMine: FAIL: no case was graded" in skipped.stdout
    required = run(tmp_path, "pytest", "-k", "lease.token", "--gnl-require")
    assert required.returncode == 1


def test_a_store_that_was_only_deselected_is_not_judged(tmp_path: Path) -> None:
    with write(tmp_path).open("a") as file:
        file.write("\nclass TestOther(TestMine):\n    pass\n")
        file.write("\ndef test_of_mine():\n    pass\n")
    lines = {
        "TestMine": "gnl conformance of TestMine: NOT RUN: every test of it was deselected\n",
        "TestOther": "gnl conformance of TestOther: NOT RUN: every test of it was deselected\n",
    }
    one = run(tmp_path, "pytest", "-k", "TestOther and lease.token", "--gnl-report", "r.json")
    assert one.returncode == 0, one.stdout
    assert lines["TestMine"] in one.stdout
    assert "gnl conformance of TestOther: PARTIAL for jobs: left out" in one.stdout
    verdicts = [report["verdict"] for report in json.loads((tmp_path / "r.json").read_text())]
    assert sorted(verdicts) == ["NOT RUN", "PARTIAL"]
    none = run(tmp_path, "pytest", "-k", "test_of_mine", "--gnl-report", "r.json")
    assert none.returncode == 0, none.stdout
    assert all(line in none.stdout for line in lines.values())
    assert "CONFORMS" not in none.stdout + (tmp_path / "r.json").read_text()


def test_a_store_that_raises_is_an_error_with_its_traceback(tmp_path: Path) -> None:
    write(tmp_path, store="raise OSError('broken pipe'); yield")
    done = run(tmp_path, "pytest", "-k", "lease.token", "--gnl-report", "r.json")
    assert done.returncode == 1
    assert "broken pipe" in done.stdout
    cases = json.loads((tmp_path / "r.json").read_text())["cases"]
    assert {case["outcome"] for case in cases} == {"error", "not-applicable"}


def test_other_suites_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_nothing_of_the_kit_is_loaded():\n"
        "    assert 'gnl_conformance_pytest' in sys.modules\n"
        "    assert not {'gnl_conformance', 'gnl_core'} & set(sys.modules)\n"
    )
    done = run(tmp_path, "pytest", "-q")
    assert done.returncode == 0, done.stdout
    assert "gnl conformance" not in done.stdout


def test_the_core_does_not_load_the_kit(tmp_path: Path) -> None:
    code = "import sys, gnl_core; assert 'gnl_conformance' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("tier", ["cases", "process"])
def test_a_tier_can_be_chosen(tmp_path: Path, tier: str) -> None:
    write(tmp_path)
    done = run(tmp_path, "pytest", "--co", "-q", "--gnl-tier", tier)
    assert ("store.live-all_work_ends" in done.stdout) == (tier == "process")
    assert ("lease.clock-" in done.stdout) == (tier == "cases")
