"""Worlds: the same seed is the same history; the reference keeps every rule in all of them."""

import os
import subprocess
import sys
from collections import Counter

import pytest

from gnl_conformance import StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_conformance.mutants.attempt import ReclaimIsFree
from gnl_conformance.mutants.lease import SettleIgnoresToken
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_conformance.world.batch import play_batch
from gnl_conformance.world.play import Parts, Played, play
from gnl_conformance.world.sometimes import SOMETIMES, unseen
from gnl_core.memory import MemoryStore

REFERENCE = Parts(MemoryStore)

HISTORIES = """
import hashlib, logging
from gnl_conformance.world.play import Parts, play
from gnl_core.memory import MemoryStore
logging.getLogger("gnl").setLevel(100)
for seed in range(12):
    world = play(seed, Parts(MemoryStore))
    lines = [*world.history.calls, *world.effects, sorted(world.seen.items())]
    print(seed, hashlib.sha256("\\n".join(map(repr, lines)).encode()).hexdigest())
"""


def histories(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-W", "error", "-c", HISTORIES]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return ended.stdout


def test_a_seed_is_the_same_history_byte_for_byte_whatever_the_hashes() -> None:
    found = histories("0")
    assert len({line.split()[1] for line in found.splitlines()}) == 12
    assert histories("0") == found
    assert histories("4711") == found


def test_a_world_does_not_depend_on_the_one_before() -> None:
    alone = play(7, REFERENCE)
    play(6, REFERENCE)
    assert play(7, REFERENCE).history == alone.history


@pytest.fixture(scope="module")
def worlds() -> list[Played]:
    return [play(seed, REFERENCE) for seed in range(60)]


def test_the_reference_keeps_every_rule_in_every_world() -> None:
    grades = [grade(ReferenceConformance(), case) for case in chosen(["world"])]
    assert [one for one in grades if one.outcome != "passed"] == []


def test_a_batch_in_which_something_was_never_seen_says_so() -> None:
    seen = Counter(dict.fromkeys(SOMETIMES, 1))
    assert unseen(seen) == []
    seen["a lease was reclaimed"] = 0
    assert unseen(seen) == ["a lease was reclaimed"]


def test_few_worlds_do_not_claim_to_have_seen_everything() -> None:
    harness = ReferenceConformance()
    harness.worlds = range(3)
    (case,) = [one for one in chosen(["world"]) if "every_kind_of_trouble" in one.name]
    assert grade(harness, case).outcome == "not-applicable"


def test_an_error_nobody_expected_is_an_error_and_no_pass() -> None:
    class Falls(MemoryStore):
        async def sibling(self) -> MemoryStore:
            raise AssertionError("not used: the wire makes handles")

        async def listen(self, wake: object) -> None:
            raise ZeroDivisionError("a fault of the store")

    batch = play_batch(range(10), Parts(Falls))
    assert batch.surprise is not None
    assert "ZeroDivisionError('a fault of the store')" in batch.surprise


def test_a_call_without_a_reply_may_have_happened(worlds: list[Played]) -> None:
    silent = [call for world in worlds for call in world.history.calls if call.unknown]
    done = {(call.who, call.began) for world in worlds for call in world.truth.calls}
    happened = [call for call in silent if (call.who, call.began) in done]
    assert 0 < len(happened) < len(silent)


def test_clients_clocks_are_wrong_and_the_stores_is_not(worlds: list[Played]) -> None:
    assert {world.plan.skew for world in worlds} == {0.0, 0.7, 3_600.0}
    assert {world.plan.drift for world in worlds} == {0.0, 0.1}


def test_nothing_a_process_does_comes_after_its_end(worlds: list[Played]) -> None:
    for world in worlds:
        lives: dict[str, list[int]] = {}
        for call in world.history.calls:
            name, _, life = call.who.partition(".")
            lives.setdefault(name, []).append(int(life or 0))
        assert all(found == sorted(found) for found in lives.values())


def test_a_store_is_told_the_calls_of_worlds_and_compared() -> None:
    (case,) = chosen(["world"], ["lane.order"])
    assert grade(ReferenceConformance(), case).outcome == "passed"
    for table, rule in ((ReclaimIsFree, "attempt.bounded"), (SettleIgnoresToken, "lease.fenced")):
        harness = type("Broken", (ReferenceConformance,), {"table": table})()
        found = grade(harness, case, again="again")
        assert (found.outcome, found.why.split(" ")[0]) == ("failed", rule)
        assert found.seed is not None


def test_a_store_whose_clock_cannot_be_moved_is_told_nothing_and_passes_nothing() -> None:
    class Timeless(ReferenceConformance):
        age = StoreConformance.age

        def simulated(self, clock: object) -> None:
            return None

    outcomes = {grade(Timeless(), case).outcome for case in chosen(["world"])}
    assert outcomes == {"not-applicable"}
