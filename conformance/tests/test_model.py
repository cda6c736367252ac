"""The model tier: what it finds is short, named, repeatable, and on every kind of clock."""

import asyncio
import importlib.util
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import ClassVar

import pytest

from gnl_conformance import StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_conformance.model import search
from gnl_conformance.model.run import Stage, run_model
from gnl_conformance.model.script import HOUR, MOVED, RUNNING, STANDING, STILL, Script, Times
from gnl_conformance.model.search import find
from gnl_conformance.mutants.attempt import ReleaseCounts
from gnl_conformance.mutants.lane import GlobalFifo
from gnl_conformance.mutants.lease import NeverReclaims
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.spi import DepthRefused, NewJob

CASES = chosen(["model"])
START = 1_700_000_000_000_000


class OnTheMachinesClock(StoreConformance):
    """A clock that runs, and nobody can move."""

    table: ClassVar[type[JobTable]] = JobTable
    stores: ClassVar[dict[str, MemoryStore]] = {}
    ahead: ClassVar[dict[str, int]] = {}

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        def clock() -> int:
            return time.time_ns() // 1_000 + self.ahead.get(space, 0)

        if space not in self.stores:
            self.stores[space] = MemoryStore(clock, table=self.table)
        yield self.stores[space]


class OnAClockThatCanBeMoved(OnTheMachinesClock):
    """A clock that runs, and jumps ahead when it is told to."""

    async def age(self, space: str, seconds: float) -> None:
        self.ahead[space] = self.ahead.get(space, 0) + int(seconds * 1_000_000)


class Creeping(OnAClockThatCanBeMoved):
    """Between any two readings of its clock lie two milliseconds, as on a slow network."""

    readings: ClassVar[dict[str, int]] = {}
    forward: ClassVar[int] = 2_000
    every: ClassVar[int] = 1

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        def clock() -> int:
            self.readings[space] = read = self.readings.get(space, 0) + 1
            return read // self.every * self.forward + self.ahead.get(space, START)

        if space not in self.stores:
            self.stores[space] = MemoryStore(clock, table=self.table)
        yield self.stores[space]

    async def age(self, space: str, seconds: float) -> None:
        self.ahead[space] = self.ahead.get(space, START) + int(seconds * 1_000_000)


class Coarse(Creeping):
    """Its clock shows whole seconds, and turns to the next one at any call."""

    forward = 1_000_000
    every = 7


def with_table(
    harness: type[OnTheMachinesClock] | type[ReferenceConformance], table: type[JobTable]
) -> StoreConformance:
    return type(table.__name__, (harness,), {"table": table})()


@pytest.fixture(autouse=True)
def _unshrunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a script short takes the most time: only where that is looked at."""
    if "short" not in request.node.name:
        monkeypatch.setattr(search, "SHRINKS", 0)


def why(harness: StoreConformance) -> dict[str, str]:
    harness.seeds = range(10)
    grades = [grade(harness, case, again="repeat") for case in CASES]
    return {one.rule: one.why for one in grades if one.outcome == "failed"}


@pytest.mark.parametrize(
    "harness", [ReferenceConformance, OnTheMachinesClock, OnAClockThatCanBeMoved]
)
def test_a_right_store_passes_whatever_its_clock(harness: type[StoreConformance]) -> None:
    store = harness()
    store.seeds = range(10)
    assert {grade(store, case).outcome for case in CASES} == {"passed"}


@pytest.mark.parametrize("harness", [Creeping, Coarse])
@pytest.mark.parametrize("times", [MOVED, RUNNING])
def test_nothing_depends_on_how_long_a_script_takes(
    harness: type[Creeping], times: Times, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def these(_: Stage) -> Times:
        return times

    monkeypatch.setattr(Stage, "times", these)
    store = harness()
    store.seeds = range(40)
    assert asyncio.run(run_model(store)) is None


@pytest.mark.parametrize("times", [MOVED, RUNNING])
def test_no_run_at_is_a_sum_of_other_times_on_a_clock_that_runs(times: Times) -> None:
    others = {*times.ttls, *times.delays, *times.moves}
    assert {one % HOUR for one in others} == {0}
    assert 0 not in {one % HOUR for one in times.run_ats}


@pytest.mark.parametrize(
    "harness", [ReferenceConformance, OnTheMachinesClock, OnAClockThatCanBeMoved]
)
def test_a_wrong_order_is_found_whatever_the_clock(
    harness: type[OnTheMachinesClock] | type[ReferenceConformance],
) -> None:
    assert "lane.order" in why(with_table(harness, GlobalFifo))


@pytest.mark.parametrize("harness", [ReferenceConformance, OnAClockThatCanBeMoved])
def test_a_lease_that_never_ends_is_found_where_time_can_be_moved(
    harness: type[OnTheMachinesClock] | type[ReferenceConformance],
) -> None:
    assert why(with_table(harness, NeverReclaims))


def test_a_finding_is_short_and_says_all_that_is_needed() -> None:
    found = why(with_table(ReferenceConformance, GlobalFifo))
    lines = found["lane.order"].split("\n")
    assert lines[0].startswith("lane.order (Q6: the claim order is the reference's, job by job)")
    assert "the store says" in lines[0]
    assert "the reference" in lines[0]
    events = [line for line in lines if line.startswith("    ")]
    assert 2 <= len(events) <= 6
    assert events[0].strip().startswith("add(")
    assert events[-1].strip().startswith("claim(")
    assert lines[-2:] == ["seed: 0", "run again: repeat"]


def test_the_same_seeds_find_the_same() -> None:
    found = [asyncio.run(run_model(with_table(ReferenceConformance, ReleaseCounts))) for _ in "ab"]
    first, second = [(one.rule, one.sentence, one.events) for one in found if one is not None]
    assert first == second


def test_other_seeds_play_other_scripts() -> None:
    def scripts(seeds: range) -> list[Script]:
        played: list[Script] = []
        find(played.append, STILL, seeds)
        return played

    assert scripts(range(3)) == scripts(range(3))
    assert scripts(range(3)) != scripts(range(3, 6))
    assert len(scripts(range(6))) > len(scripts(range(3)))


@pytest.mark.parametrize("times", [STANDING, RUNNING])
def test_a_clock_that_cannot_be_moved_is_not(times: Times) -> None:
    assert times.moves == ()
    assert MOVED.moves
    assert STILL.moves


def test_a_rule_that_was_not_reached_is_not_passed() -> None:
    harness = with_table(ReferenceConformance, GlobalFifo)
    grades = [grade(harness, case) for case in CASES]
    outcomes = {one.outcome for one in grades}
    assert outcomes == {"failed", "not-run"}
    told = next(one.why for one in grades if one.outcome == "not-run")
    assert "ended at the first break, which is one of lane.order: run --rules lane.order" in told
    assert "(in pytest: --gnl-rules lane.order)" in told


class NamesTheLastTooDeep(JobTable):
    """Of several organizations over the limit it names the last, not the first."""

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        return super()._too_deep([*reversed(jobs)], created, limit)


class CountsKnownJobs(NamesTheLastTooDeep):
    """Its refusals count jobs that it has already, as if the call would add them."""

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        found = super()._too_deep(jobs, created, limit)
        asked = sum(found is not None and job.org_id == found.org_id for job in jobs)
        return found and replace(found, new=asked)


class NamesOneThatIsNotTooDeep(JobTable):
    """It names the first organization of the call, over the limit or not."""

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        if super()._too_deep(jobs, created, limit) is None:
            return None
        org = jobs[0].org_id
        new = sum(job.org_id == org for job in created)
        return DepthRefused(org, self._live.get(org, 0), new, limit)


def test_a_refusal_may_name_any_organization_that_is_over_the_limit() -> None:
    harness = with_table(ReferenceConformance, NamesTheLastTooDeep)
    harness.seeds = range(60)
    assert asyncio.run(run_model(harness)) is None


@pytest.mark.parametrize("table", [CountsKnownJobs, NamesOneThatIsNotTooDeep])
def test_a_refusal_has_to_be_right_about_the_one_it_names(table: type[JobTable]) -> None:
    harness = with_table(ReferenceConformance, table)
    harness.seeds = range(60)
    found = asyncio.run(run_model(harness))
    assert found is not None
    assert found.rule == "enqueue.depth"


def test_without_hypothesis_the_tier_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    harness = type("Lacking", (ReferenceConformance,), {})()
    found = grade(harness, CASES[0])
    assert found.outcome == "not-run"
    assert "pip install 'gnl-conformance[model]'" in found.why


def test_a_store_that_raises_what_it_must_not_breaks_a_rule() -> None:
    class Trips(JobTable):
        def depth(self, org_id: str | None) -> int:
            raise KeyError(org_id)

    assert "a call raised KeyError" in why(with_table(ReferenceConformance, Trips))["store.errors"]
