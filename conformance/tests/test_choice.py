"""The options of both doors, and that a run of nothing never conforms."""

import subprocess
import sys
from pathlib import Path

import pytest

from gnl_conformance import StoreConformance, Tier
from gnl_conformance._case import chosen
from gnl_conformance._choice import Choice, more_to_repeat, read_choice, read_seeds, seeds_text

HARNESS = """
from contextlib import asynccontextmanager
from gnl_conformance import Capability, NotRun, StoreConformance
from gnl_core.memory import open_memory

class TestMine(StoreConformance):
    capabilities = {Capability.WAKE_UPS}

    @asynccontextmanager
    async def connect(self, space):
        STORE
"""
MEMORY = 'yield await open_memory(f"memory://{space}")'
AWAY = 'raise NotRun("no server here"); yield'


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    return door(tmp_path, MEMORY)[0]


def door(folder: Path, store: str) -> tuple[list[str], list[str]]:
    """The command and pytest, for a harness of its own."""
    file = folder / "test_mine.py"
    file.write_text(HARNESS.replace("STORE", store))
    options = ["-p", "no:cacheprovider", "--gnl-"]
    return ["gnl_conformance", f"{file}:TestMine", "--"], ["pytest", str(file), *options]


def run(words: list[str], **options: str) -> tuple[int, str]:
    """`options` by their bare names: both doors have the same, with a prefix each."""
    *start, prefix = words
    given = [word for name, value in options.items() for word in (prefix + name, value) if word]
    ran = subprocess.run(
        [sys.executable, "-m", *start, *given],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": ""},
    )
    return ran.returncode, ran.stdout + ran.stderr


def test_seeds_are_a_count_or_a_range() -> None:
    assert read_seeds("200") == range(200)
    assert read_seeds("40-59") == range(40, 60)
    assert read_seeds(seeds_text(range(7, 8))) == range(7, 8)


@pytest.mark.parametrize("text", ["", "0", "-3", "9-2", "x", "1-", "1-2-3"])
def test_what_is_no_seeds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="say how many, as 200, or which, as 40-59"):
        read_seeds(text)


@pytest.mark.parametrize("door_number", [0, 1])
def test_a_run_of_nothing_never_conforms(tmp_path: Path, door_number: int) -> None:
    words = door(tmp_path, MEMORY)[door_number]
    # No case of the process tier applies to a memory store, and no case is of both.
    for options in ({"tier": "process"}, {"tier": "cases", "rules": "store.live"}):
        code, said = run(words, **options)
        assert "TestMine: FAIL: no case was graded" in said
        assert "CONFORMS" not in said
        assert code == 1 or door_number == 1


def test_what_does_not_apply_is_shown_with_its_reason(command: list[str]) -> None:
    code, said = run(command, tier="world")
    lines = said.splitlines()
    reasons = [lines[n + 1].strip() for n, line in enumerate(lines) if line.startswith("n/a ")]
    assert len(reasons) > 5
    assert all("give `simulated` if yours" in why or "give `age`" in why for why in reasons)
    assert "FAIL: no case was graded: worlds are played on stores that live in this" in lines[-1]
    assert code == 1


def test_a_deselected_run_never_conforms(tmp_path: Path) -> None:
    *start, _ = door(tmp_path, MEMORY)[1]
    code, said = run([*start, ""], **{"-k": "nothing at all"})
    assert code != 0
    assert "TestMine: FAIL: no case was graded" in said


@pytest.mark.parametrize("door_number", [0, 1])
def test_rules_and_tiers_can_be_chosen_and_the_rest_is_left_out(
    tmp_path: Path, door_number: int
) -> None:
    words = door(tmp_path, MEMORY)[door_number]
    code, said = run(words, tier="cases,model", rules="lease.token", seeds="3-4")
    assert code == 0, said
    assert "TestMine: PARTIAL" in said
    assert ": left out: " in said
    assert "of tier world" in said


@pytest.mark.parametrize("door_number", [0, 1])
@pytest.mark.parametrize(
    ("option", "value"), [("tier", "quick"), ("rules", "lease.sticky"), ("seeds", "many")]
)
def test_what_does_not_exist_is_refused_with_what_does(
    tmp_path: Path, door_number: int, option: str, value: str
) -> None:
    code, said = run(door(tmp_path, MEMORY)[door_number], **{option: value})
    assert code not in (0, 1)
    assert value in said
    assert "process" in said or "lease.token" in said or "40-59" in said


@pytest.mark.parametrize("door_number", [0, 1])
def test_what_cannot_run_is_a_failure_if_it_is_required(tmp_path: Path, door_number: int) -> None:
    words = door(tmp_path, AWAY)[door_number]
    assert "FAIL: no case was graded" in run(words, rules="lease.token")[1]
    code, said = run(words, rules="lease.token", require="")
    assert code == 1
    assert "TestMine: FAIL: required, but not run: lease.token" in said


def test_the_command_takes_no_shortened_option(command: list[str]) -> None:
    # `--seed 7` for `--seeds 7` would be seven seeds.
    code, said = run(command, seed="7")
    assert code == 2
    assert "--seed" in said


def test_what_repeats_a_case_names_seeds_and_seconds() -> None:
    harness = StoreConformance()
    Choice(seeds=range(4, 9), seconds=2.5).configure(harness)
    found = {tier: more_to_repeat(harness, chosen([tier.value])[0], "--") for tier in Tier}
    assert found[Tier.CASES] == ""
    assert found[Tier.MODEL] == " --seeds 4-8"
    assert found[Tier.PROCESS] == " --seeds 4-8 --seconds 2.5"


def test_nothing_chosen_is_everything() -> None:
    assert read_choice(None, None, None, None).cases == chosen()
