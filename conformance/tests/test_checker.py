"""The checker on histories written by hand: good ones pass, each bad one is told by its rule."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gnl_conformance.checker import PROPERTIES, Property, check
from gnl_conformance.history import Call, History, Writer, read

MS = 1_000_000


def call(
    op: str, at: int, asked: dict, answered: dict | None = None, who: str = "a", **more
) -> Call:
    """A call that began at `at` and was answered one millisecond later, if at all."""
    ended = None if answered is None else (at + 1) * MS
    return Call(who, op, asked, at * MS, ended, answered, **more)


def add(at: int, *ids: str, created: bool | None = True) -> Call:
    answered = None if created is None else {"created": [created] * len(ids)}
    return call("add", at, {"jobs": [[None, name] for name in ids]}, answered)


def claim(
    at: int, seq: int, token: int, *, attempt: int = 1, since: int = 0, until: int = 100, **m
):
    grant = {
        "org": None,
        "id": f"j{seq}",
        "seq": seq,
        "token": token,
        "attempt": attempt,
        "budget": 3,
        "granted_at": since,
        "expires_at": until,
        "reclaimed": attempt > 1,
    }
    return call("claim", at, {"limit": 1}, {"grants": [grant]}, **m)


def settle(
    at: int, seq: int, token: int, state: str | None = "done", verdict: str = "done"
) -> Call:
    return call("settle", at, {"holds": [[seq, token, verdict]]}, {"answers": [[state, None]]})


def unanswered_settle(at: int, seq: int, token: int, verdict: str = "done") -> Call:
    return call("settle", at, {"holds": [[seq, token, verdict]]})


def extend(at: int, seq: int, token: int, state: str = "kept", until: int | None = 150) -> Call:
    asked = {"holds": [[seq, token, "extension"]]}
    return call("extend", at, asked, {"answers": [[state, until]]})


def cancel(at: int, name: str, found: str) -> Call:
    return call("cancel", at, {"org": None, "id": name}, {"found": found})


def revive(at: int, name: str, found: str) -> Call:
    return call("revive", at, {"org": None, "id": name}, {"found": found})


def prune(at: int, count: int) -> Call:
    return call("prune", at, {"states": ["done"]}, {"count": count})


def page(at: int, *ids: str, more: bool = False) -> Call:
    items = [[None, name] for name in ids]
    return call("page", at, {"listing": "l"}, {"items": items, "more": more})


def final(*jobs: tuple[str, int, str]) -> Call:
    shown = [{"org": None, "id": n, "seq": seq, "state": state} for n, seq, state in jobs]
    return call("final", 900, {}, {"jobs": shown})


RECLAIMED = [
    add(1, "j1"),
    claim(3, 1, 5),
    claim(9, 1, 6, attempt=2, since=100, until=200, who="b"),
    settle(11, 1, 5, None),
    settle(13, 1, 6),
    final(("j1", 1, "done")),
]

GOOD = {
    "a job that is reclaimed, and a late result refused": RECLAIMED,
    "an extension that moves the end": [
        claim(3, 1, 5),
        extend(5, 1, 5, until=150),
        claim(9, 1, 6, attempt=2, since=150, until=250),
    ],
    "a claim that reads the clock first and grants last": [
        replace(claim(3, 1, 6, since=10, until=110, who="b"), ended=12 * MS),
        claim(5, 1, 5, since=20, until=120),
        settle(7, 1, 5, "waiting", "release"),
    ],
    "a settlement without an answer may have ended the lease": [
        claim(3, 1, 5),
        unanswered_settle(5, 1, 5),
        claim(9, 1, 6, attempt=2, since=50, until=150),
    ],
    "a release without an answer may have given the attempt back": [
        claim(3, 1, 5),
        unanswered_settle(5, 1, 5, "release"),
        claim(9, 1, 6, attempt=1, since=50, until=150),
    ],
    "a claim without an answer may have taken an attempt": [
        claim(3, 1, 5),
        claim(9, 1, 8, attempt=3, since=200, until=300),
    ],
    "an add without an answer may be there": [
        add(1, "a", "b", created=None),
        final(("a", 1, "done"), ("b", 2, "done")),
    ],
    "an add without an answer may be missing": [add(1, "a", "b", created=None), final()],
    "an add that overlaps the first page may be listed or not": [
        add(1, "a"),
        Call("p", "add", {"jobs": [[None, "b"]]}, 2 * MS, 9 * MS, {"created": [True]}),
        page(5, "a", "b"),
        final(("a", 1, "done"), ("b", 2, "done")),
    ],
    "a cancel of a running job": [
        claim(3, 1, 5),
        cancel(5, "j1", "running"),
        settle(7, 1, 5, "canceled"),
        final(("j1", 1, "canceled")),
    ],
    "a dead job that is revived begins anew": [
        claim(3, 1, 5, attempt=3),
        settle(5, 1, 5, "dead", "dead"),
        revive(7, "j1", "dead"),
        claim(9, 1, 6, attempt=1, since=50, until=150),
        settle(11, 1, 6),
        final(("j1", 1, "done")),
    ],
    "a job that ended and was pruned, and its id used again": [
        add(1, "j1"),
        claim(3, 1, 5),
        settle(5, 1, 5),
        prune(7, 1),
        add(9, "j1"),
        prune(11, 1),
        page(13),
        final(),
    ],
    "a job that was listed, pruned, and added again": [
        add(1, "j1", created=None),
        claim(3, 1, 5),
        settle(5, 1, 5),
        page(7, "j1"),
        prune(9, 1),
        add(11, "j1"),
        final(("j1", 2, "done")),
    ],
    "a canceled job that was pruned, and its id used again": [
        add(1, "j1"),
        cancel(3, "j1", "waiting"),
        prune(5, 1),
        add(7, "j1"),
        claim(9, 1, 5),
        final(("j1", 2, "done")),
    ],
    "an answer that never came": [call("claim", 1, {"limit": 1}, error="StoreUnavailable: gone")],
}

BAD = {
    "nothing_is_lost": [add(1, "a"), final()],
    "what_ended_stays_ended": [
        claim(3, 1, 5),
        settle(5, 1, 5),
        claim(9, 1, 6, attempt=2, since=50, until=150),
    ],
    "no_job_has_two_live_leases": [claim(3, 1, 5), claim(9, 1, 6, attempt=2, since=99, until=199)],
    "tokens_grow": [claim(3, 1, 5), claim(9, 1, 5, attempt=2, since=100, until=200)],
    "stale_tokens_change_nothing": [*RECLAIMED[:3], settle(11, 1, 5)],
    "a_hold_ends_once": [claim(3, 1, 5), settle(5, 1, 5), settle(7, 1, 5)],
    "refusals_were_seen": [claim(3, 1, 5), settle(5, 1, 5)],
    "reclaims_were_seen": [claim(3, 1, 5), settle(5, 1, 5)],
    "attempts_are_counted": [claim(3, 1, 5), claim(9, 1, 6, attempt=1, since=100, until=200)],
    "a_cancel_is_final": [cancel(1, "j1", "waiting"), claim(3, 1, 5)],
    "adds_are_whole": [add(1, "a", "b", created=None), final(("a", 1, "done"))],
    "an_id_is_one_job": [add(1, "a"), add(3, "a"), final(("a", 1, "done"))],
    "listings_are_snapshots": [add(1, "a"), page(3, "a", more=True), add(5, "b"), page(7, "b")],
    "all_work_ends": [final(("a", 1, "running"))],
    "no_other_errors_escape": [call("add", 1, {"jobs": []}, error="OperationalError: locked")],
}

MORE_BAD = [
    (
        "tokens_grow",
        [
            claim(3, 1, 6),
            settle(5, 1, 6, "waiting", "release"),
            claim(9, 1, 5, since=100, until=200),
        ],
    ),
    ("nothing_is_lost", [add(1, "j1"), claim(3, 1, 5), prune(7, 1), final()]),
    ("nothing_is_lost", [add(1, "j1"), claim(3, 1, 5), settle(5, 1, 5), prune(7, 0), final()]),
    (
        "what_ended_stays_ended",
        [claim(3, 1, 5), settle(5, 1, 5), revive(7, "j1", "done"), claim(9, 1, 6, since=50)],
    ),
    (
        "attempts_are_counted",
        [revive(1, "j1", "dead"), claim(3, 1, 5), claim(9, 1, 6, since=100, until=200)],
    ),
    ("what_ended_stays_ended", [settle(5, 1, 5), final(("j1", 1, "waiting"))]),
    ("stale_tokens_change_nothing", [*RECLAIMED[:3], extend(11, 1, 5)]),
    ("no_job_has_two_live_leases", [claim(3, 1, 5), extend(5, 1, 5), claim(9, 1, 6, since=120)]),
    ("attempts_are_counted", [claim(3, 1, 5, attempt=4)]),
    ("a_cancel_is_final", [cancel(1, "j1", "running"), final(("j1", 1, "done"))]),
    ("an_id_is_one_job", [final(("a", 1, "done"), ("a", 2, "done"))]),
    ("listings_are_snapshots", [add(1, "a"), page(3)]),
    ("listings_are_snapshots", [add(1, "a"), page(3, "a", "a")]),
]

WITNESSES = {"reclaims_were_seen", "refusals_were_seen"}


def named(name: str) -> Property:
    return next(one for one in PROPERTIES if one.name == name)


@pytest.mark.parametrize("title", GOOD)
def test_a_good_history_is_accepted(title: str) -> None:
    history = History(tuple(GOOD[title]))
    found = [str(v) for one in PROPERTIES if one.name not in WITNESSES for v in one.holds(history)]
    assert found == []


def test_a_history_with_a_reclaim_and_a_refusal_is_accepted_by_every_property() -> None:
    assert check(History(tuple(RECLAIMED))) == []


def test_every_property_has_a_bad_history() -> None:
    assert {one.name for one in PROPERTIES} == set(BAD)


@pytest.mark.parametrize(("name", "calls"), [*BAD.items(), *MORE_BAD])
def test_a_bad_history_is_told_by_its_rule(name: str, calls: list[Call]) -> None:
    found = list(named(name).holds(History(tuple(calls))))
    assert [one.rule for one in found] == [named(name).rule]


def test_a_violation_names_rule_promise_events_seed_and_how_to_run_again() -> None:
    (found,) = named("a_hold_ends_once").holds(History(tuple(BAD["a_hold_ends_once"])))
    text = str(found.placed(seed=7, again="python -m gnl_conformance x.py:X"))
    assert text.startswith("lease.fenced (C3: ")
    assert "token 5 of job 1 settled it 2 times" in text
    assert text.count("done of job 1 token 5 -> done") == 2
    assert "seed: 7" in text
    assert text.endswith("run again: python -m gnl_conformance x.py:X")


def test_a_file_cut_off_by_a_kill_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    writer = Writer(file, "a.1")
    writer.ended(writer.began("add", {"jobs": [[None, "x"]]}), {"created": [True]})
    writer.began("claim", {"limit": 1})
    file.write_bytes(file.read_bytes() + b'{"at": 5, "n": 3, "wh')
    first, second = read([file]).calls
    assert (first.op, first.answered, first.unknown) == ("add", {"created": [True]}, False)
    assert (second.op, second.ended, second.unknown) == ("claim", None, True)
    assert json.loads(file.read_bytes().split(b"\n")[0])["who"] == "a.1"
