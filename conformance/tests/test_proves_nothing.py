"""A run that proves nothing is not run, and says what is missing; it breaks no rule."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gnl_conformance import Capability, NotRun, Part, StoreConformance, Violation, grade
from gnl_conformance._case import Case, chosen, kept
from gnl_conformance.checker import PROPERTIES, Property
from gnl_conformance.event_checker import EVENT_PROPERTIES
from gnl_conformance.history import Call, History
from gnl_conformance.mutants.network import NetworkConformance, RemoteTable
from gnl_conformance.process.driver import Storm
from gnl_conformance.process.judging import judge_storm
from gnl_conformance.process.lost import LOST
from gnl_core.memory import MemoryStore

PROCESS = chosen(["process"])
CUT_OFF = [
    case
    for case in PROCESS
    if case.name.endswith(("_cut_is_one_job", "_cut_counts_once", "_was_lost_is_one_attempt"))
]


class PreparesWhenNeeded(RemoteTable):
    """Asks by a name that the server may not know yet, as EVALSHA does, and then in full."""

    known: set[tuple[str, str]]

    def call(self, name: str, *arguments: object) -> object:
        cold = (self._space, name) not in self.known
        self.known.add((self._space, name))
        if cold:
            super().call("now")  # answered "not known here", without an effect
        return super().call(name, *arguments)


class AsksMuchBefore(RemoteTable):
    """Has more to say before each call than the kit has cuts."""

    def call(self, name: str, *arguments: object) -> object:
        for _ in range(20):
            super().call("now")
        return super().call(name, *arguments)


def behind_the_proxy(table: type[RemoteTable]) -> StoreConformance:
    return type("Harness", (NetworkConformance,), {"remote": table})()


@pytest.mark.parametrize("case", CUT_OFF, ids=lambda case: case.name)
def test_a_store_that_prepares_at_first_need_is_cut_again_when_it_is_warm(case: Case) -> None:
    table = type("Cold", (PreparesWhenNeeded,), {"known": set()})
    found = grade(behind_the_proxy(table), case)
    assert (found.outcome, found.why) == ("passed", "")


def test_lost_replies_that_never_had_an_effect_are_not_run_and_say_what_to_do() -> None:
    (case,) = [one for one in CUT_OFF if one.name == "an_add_repeated_after_a_cut_is_one_job"]
    found = grade(behind_the_proxy(AsksMuchBefore), case)
    assert found.outcome == "not-run"
    assert "message without effect (a handshake, a preparation): prepare in `upgrade`" in found.why


class Still(NetworkConformance):
    """Has a clock that stands still."""

    capabilities = frozenset({Capability.MULTI_PROCESS})
    parts = frozenset(Part)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        yield MemoryStore(lambda: 1_700_000_000_000_000)


@pytest.mark.parametrize(
    "name",
    ["reclaims_were_seen", "reclaims_of_events_were_seen", "a_lost_add_was_seen_when_replies_are"],
)
def test_processes_are_not_run_on_a_clock_that_stands_still(name: str) -> None:
    (case,) = [one for one in kept(PROCESS, Still.parts) if one.name.removesuffix("_lost") == name]
    found = grade(Still(), case)
    assert found.outcome == "not-run"
    assert "clock stands still" in found.why
    assert "run the tiers cases, model and world on this harness" in found.why


UNANSWERED = [
    Call("a", op, asked, 0, 1, None, "StoreUnavailable: lost")
    for op, asked in (("add", {"jobs": []}), ("settle", {"holds": []}), ("claim", {}))
]
WITNESSES = [one for one in (*PROPERTIES, *EVENT_PROPERTIES, *LOST) if one.witness]


@pytest.mark.parametrize("prop", WITNESSES, ids=lambda prop: prop.name)
def test_what_a_short_run_did_not_see_is_not_run_and_what_a_long_one_did_not_is_a_break(
    prop: Property,
) -> None:
    harness, storm = Still(), Storm(History(UNANSWERED), 7)
    harness.seconds = 3.0
    with pytest.raises(NotRun, match=r"3 s prove nothing: run longer, at least 4 seconds"):
        judge_storm(harness, storm, prop)
    harness.seconds = 4.0
    with pytest.raises(Violation) as broken:
        judge_storm(harness, storm, prop)
    assert (broken.value.rule, broken.value.seed) == (prop.rule, 7)


def test_what_was_seen_to_be_broken_is_broken_in_a_short_run_too() -> None:
    escaped = Call("a", "add", {"jobs": []}, 0, 1, None, "OSError: gone")
    (prop,) = [one for one in PROPERTIES if one.name == "no_other_errors_escape"]
    harness = Still()
    harness.seconds = 0.5
    with pytest.raises(Violation, match="add raised OSError: gone"):
        judge_storm(harness, Storm(History([escaped]), 0), prop)
