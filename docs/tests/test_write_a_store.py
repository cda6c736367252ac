"""The page "Write a store" quotes the code as it is, and its steps are true."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gnl_conformance import StoreConformance, all_cases, grade
from gnl_conformance._load import load_harness
from gnl_core.spi import JobStore, Store
from gnl_store_files import FileStore

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "write-a-store.md").read_text(encoding="utf-8")
HARNESS = ROOT / "examples" / "store_on_files" / "tests" / "test_conformance.py"
STEP = re.compile(r"^\| (\d) \| (.*) \| ([a-z.,]+) \|$", re.MULTILINE)
TOOL = runpy.run_path(str(ROOT / "tools" / "write_snippets.py"))
written: Callable[[str], str] = TOOL["written"]


def methods(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


STEPS = [
    (re.findall(r"`(\w+)`", names), rules.split(",")) for _, names, rules in STEP.findall(PAGE)
]
CALLS = [name for names, _ in STEPS for name in names if name != "Store"]


def test_every_quote_is_what_the_files_have() -> None:
    assert written(PAGE) == PAGE, "run: python tools/write_snippets.py"


def test_no_code_of_the_files_is_on_the_page_without_saying_whence() -> None:
    assert len(re.findall(r"^```py$", PAGE, re.MULTILINE)) == len(TOOL["QUOTE"].findall(PAGE))


@pytest.mark.parametrize(
    ("where", "wrong"), [("core/src/gnl_core/spi/jobs.py", "JobStore.nothing"), ("tools", "f")]
)
def test_a_quote_of_what_is_not_there_is_refused(where: str, wrong: str) -> None:
    with pytest.raises((ValueError, OSError)):
        written(f"<!-- {where}: {wrong} -->\n```py\n```\n")


def test_a_quote_that_has_aged_is_seen() -> None:
    aged = PAGE.replace("class StoreUnavailable(StoreError)", "class StoreUnavailable(Exception)")
    assert aged != PAGE
    assert written(aged) == PAGE


def test_the_page_shows_the_whole_contract() -> None:
    shown = set(re.findall(r"JobStore\.(\w+)", " ".join(re.findall(r"<!-- .* -->", PAGE))))
    assert shown == methods(JobStore) == set(CALLS)
    assert methods(Store) <= set(re.findall(r"def (\w+)", PAGE))
    values = ROOT / "core" / "src" / "gnl_core" / "spi" / "job_values.py"
    defined = set(re.findall(r"^class (\w+)", values.read_text(encoding="utf-8"), re.MULTILINE))
    assert defined <= set(re.findall(r"^class (\w+)", PAGE, re.MULTILINE))


class Unfinished:
    """The jobs of a store on files, as far as they are written."""

    def __init__(self, jobs: JobStore, written: list[str]) -> None:
        self._jobs = jobs
        self._written = written

    def __getattr__(self, name: str) -> Any:
        if name in self._written:
            return getattr(self._jobs, name)
        return self._later

    async def _later(self, *_: object, **__: object) -> None:
        raise NotImplementedError


def harness_of(written: list[str]) -> type[StoreConformance]:
    """The example's harness, on a store with these calls only."""
    whole = load_harness(f"{HARNESS}:TestFiles")

    class UnfinishedStore(FileStore):
        @property
        def jobs(self) -> JobStore:
            return Unfinished(super().jobs, written)  # type: ignore[return-value]

    class Harness(whole):  # type: ignore[misc, valid-type]
        @asynccontextmanager
        async def connect(self, space: str) -> Any:
            inner: AbstractAsyncContextManager[FileStore] = super().connect(space)
            async with inner as store:
                store.__class__ = UnfinishedStore
                yield store

    return Harness


# After the last step all is written: then the example's own test shows it.
@pytest.mark.parametrize("step", range(1, len(STEPS)))
def test_these_rules_pass_after_these_steps(step: int) -> None:
    done = [name for names, _ in STEPS[:step] for name in names]
    rules = STEPS[step - 1][1]
    harness = harness_of(done)
    grades = [
        grade(harness(), case)
        for case in all_cases()
        if case.tier.value == "cases" and not {case.rule.id, case.rule.family}.isdisjoint(rules)
    ]
    assert grades
    assert {one.rule for one in grades} >= {rule for rule in rules if "." in rule}
    bad = [f"{g.rule}: {g.why}" for g in grades if g.outcome not in ("passed", "not-applicable")]
    assert bad == []


def test_a_rule_that_comes_too_early_fails() -> None:
    harness = harness_of(["add", "get", "depth"])
    (case, *_) = [case for case in all_cases() if case.rule.id == "lane.fair"]
    found = grade(harness(), case)
    assert (found.outcome, found.why.split(" in ")[0]) == ("error", "not written yet: `_later`")
