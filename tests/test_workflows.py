"""The workflows of the public host do what the noxfile can do, for every store there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gnl_conformance import Tier

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@cache
def sessions() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "nox", "--list", "--json", "-k", "not nothing"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    found: list[dict[str, Any]] = json.loads(listed.stdout)
    return found


def jobs(name: str) -> dict[str, Any]:
    text = (ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8")
    found: dict[str, Any] = yaml.safe_load(text)["jobs"]
    return found


def matrix(workflow: str, job: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = jobs(workflow)[job]["strategy"]["matrix"]
    return found


def commands(workflow: str) -> list[str]:
    """Every `nox` command, with each value of the matrix put in."""
    found = []
    for job in jobs(workflow).values():
        runs = [step["run"] for step in job["steps"] if step.get("run", "").startswith("nox ")]
        for name, values in job["strategy"]["matrix"].items():
            place = "${{ matrix.NAME }}".replace("NAME", name)
            runs = [r.replace(place, v) for r in runs for v in (values if place in r else [""])]
        found += runs
    return found


def tagged() -> set[str]:
    return {tag for one in sessions() for tag in one["tags"]}


@pytest.mark.parametrize("workflow", ["ci.yml", "nightly.yml"])
def test_every_store_is_graded(workflow: str) -> None:
    assert set(matrix(workflow, "conformance")["store"]) == tagged()


def test_every_distribution_of_a_store_has_a_harness_in_the_noxfile() -> None:
    folders = {path.name.removeprefix("gnl-store-") for path in (ROOT / "stores").iterdir()}
    assert tagged() == (folders - {"sql"}) | {"memory"}


@pytest.mark.parametrize("workflow", [path.name for path in WORKFLOWS])
def test_every_command_names_sessions_that_exist(workflow: str) -> None:
    names = {one["name"] for one in sessions()}
    found = [re.match(r"nox -(s|t) ([\w-]+)( -- .+)?$", command) for command in commands(workflow)]
    assert found
    assert all(found), commands(workflow)
    assert {one[2] for one in found if one and one[1] == "s"} <= names
    assert {one[2] for one in found if one and one[1] == "t"} <= tagged()


def test_every_check_of_the_default_run_is_a_job() -> None:
    default = {one["name"] for one in sessions()} & {"lint", "types", "docs", "wheels", "tests"}
    assert {command.split()[2] for command in commands("ci.yml") if " -s " in command} == default


def test_each_tier_is_a_session_of_some_store() -> None:
    graded = [one["session"] for one in sessions() if one["name"] == "conformance"]
    names = [re.fullmatch(r"conformance\((\w+)-(\w+)\)", name) for name in graded]
    assert {one[1] for one in names if one} == tagged()
    assert {one[2] for one in names if one} == {tier.value for tier in Tier}


def test_pythons_begin_with_the_oldest_that_is_supported() -> None:
    for path in [*ROOT.glob("*/pyproject.toml"), *ROOT.glob("stores/*/pyproject.toml")]:
        needs = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["requires-python"]
        for job in ("tests", "conformance"):
            assert needs == ">=" + matrix("ci.yml", job)["python"][0], path


def test_postgres_is_given_where_the_kit_looks_for_it() -> None:
    job = jobs("ci.yml")["conformance"]
    assert "postgres" in job["services"]
    assert job["env"]["GNL_TEST_POSTGRES_URL"].startswith("postgresql://")
