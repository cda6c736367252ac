"""What only worlds can show: hand-written histories, good ones accepted, bad ones told."""

import pytest

from gnl_conformance.history import Call, History
from gnl_conformance.world.properties import CALM_FROM, ENDED, PROPERTIES, WHOLE, Property
from gnl_conformance.world.wire import EPOCH

US = 1_000


def claim(
    at: int,
    seq: int,
    token: int,
    *,
    since: int | None = None,
    reclaimed: bool = False,
    attempt: int = 1,
) -> Call:
    granted = EPOCH + (at if since is None else since)
    grant = {
        "org": None,
        "id": f"j{seq}",
        "seq": seq,
        "token": token,
        "attempt": attempt,
        "budget": 3,
        "granted_at": granted,
        "expires_at": granted + 100,
        "reclaimed": reclaimed,
    }
    return Call("w", "claim", {"limit": 1}, at * US, (at + 1) * US, {"grants": [grant]})


def run(at: int, until: int | None, token: int, why: str | None = None, who: str = "w") -> Call:
    answered = None if until is None else {"why": why}
    ended = None if until is None else until * US
    return Call(who, "run", {"seq": 1, "token": token}, at * US, ended, answered)


def extend(at: int, token: int, answer: str, who: str = "w") -> Call:
    asked = {"holds": [[1, token, "extension"]]}
    return Call(who, "extend", asked, at * US, (at + 1) * US, {"answers": [[answer, None]]})


def settle(at: int, token: int, verdict: str = "done", state: str | None = None) -> Call:
    asked = {"holds": [[1, token, verdict]]}
    return Call("w", "settle", asked, at * US, (at + 1) * US, {"answers": [[state, None]]})


def revive(at: int) -> Call:
    asked = {"org": None, "id": "j1"}
    return Call("p", "revive", asked, at * US, (at + 1) * US, {"found": "dead"})


NOTES = (CALM_FROM + "2", WHOLE, ENDED + "steady")

GOOD = {
    "a handler that ends before the bad news": [run(1, 4, 5), extend(3, 5, "lost")],
    "a settlement that was on its way before": [run(1, 4, 5), settle(4, 5), extend(4, 5, "lost")],
    "a handler that ends in the microsecond of the bad news": [
        extend(3, 5, "lost"),
        Call("w", "run", {"seq": 1, "token": 5}, 1 * US, 4 * US + 1, {"why": "timeout"}),
        settle(4, 5),
    ],
    "a handler that was told and stops": [extend(3, 5, "lost"), run(1, 9, 5, "lease-lost")],
    "a handler that was cut off": [extend(3, 5, "lost"), run(1, None, 5)],
    "a canceled job that is given back": [
        extend(3, 5, "canceled"),
        run(1, 9, 5, "canceled"),
        settle(10, 5),
    ],
    "a job run again under another token": [run(1, 4, 5), run(6, 9, 6)],
    "a lease that is kept": [extend(3, 5, "kept"), run(1, 9, 5)],
    "a grant stamped on its way": [claim(3, 1, 5)],
    "a lease that ran out when things still went wrong": [
        claim(1, 1, 5),
        claim(200, 1, 6, reclaimed=True, attempt=2),
    ],
    "an attempt that is given back": [
        claim(3, 1, 5),
        settle(5, 5, "release", "waiting"),
        claim(7, 1, 6),
    ],
    "an outcome that is sent until it is refused": [run(1, 4, 5, who="steady"), settle(6, 5)],
    "an outcome of a worker that was cut off": [run(1, 4, 5)],
    "a handler that was told and leaves nothing": [run(1, 4, 5, "lease-lost", who="steady")],
    "a job given back because its worker stops": [
        run(1, 4, 5, "shutdown"),
        settle(6, 5, "release", "waiting"),
    ],
    "a job that is revived": [claim(3, 1, 5, attempt=3), revive(5), claim(7, 1, 6)],
}

BAD = {
    "instants_are_the_stores": [claim(3, 1, 5, since=900)],
    "attempts_are_exact": [claim(3, 1, 5), settle(5, 5, "release"), claim(7, 1, 6)],
    "a_grant_runs_once": [run(1, 4, 5), run(6, 9, 5)],
    "a_handler_is_told": [extend(3, 5, "lost"), run(1, 9, 5)],
    "a_shutdown_costs_no_attempt": [run(1, 4, 5, "shutdown"), settle(6, 5, "retry", "waiting")],
    "outcomes_are_written": [run(1, 4, 5, who="steady")],
    "a_lost_lease_is_left_alone": [extend(3, 5, "lost"), run(1, 9, 5, "lease-lost"), settle(10, 5)],
    "a_lease_outlasts_its_handler": [claim(3, 1, 5), claim(200, 1, 6, reclaimed=True)],
}

UNANSWERED = Call("steady", "settle", {"holds": [[1, 5, "done"]]}, 5 * US)

MORE_BAD = [
    ("outcomes_are_written", [run(1, 4, 5, who="steady"), UNANSWERED]),
    (
        "attempts_are_exact",
        [claim(3, 1, 5), settle(5, 5, "release", "waiting"), claim(7, 1, 6, attempt=2)],
    ),
    ("attempts_are_exact", [claim(3, 1, 5), claim(7, 1, 6, attempt=3)]),
    ("a_handler_is_told", [extend(3, 5, "canceled"), run(1, 9, 5)]),
    ("a_handler_is_told", [extend(3, 5, "lost"), run(6, 9, 5)]),
    ("instants_are_the_stores", [claim(3, 1, 5, since=1)]),
]


def named(name: str) -> Property:
    return next(one for one in PROPERTIES if one.name == name)


@pytest.mark.parametrize("title", GOOD)
def test_a_good_history_is_accepted(title: str) -> None:
    history = History(tuple(GOOD[title]), NOTES)
    assert [str(found) for one in PROPERTIES for found in one.holds(history)] == []


@pytest.mark.parametrize(("name", "calls"), [*BAD.items(), *MORE_BAD])
def test_a_bad_history_is_told_by_its_rule(name: str, calls: list[Call]) -> None:
    found = list(named(name).holds(History(tuple(calls), NOTES)))
    assert [one.rule for one in found] == [named(name).rule]


def test_every_property_has_a_bad_history() -> None:
    assert {one.name for one in PROPERTIES} == set(BAD)


def test_where_a_grant_may_be_unknown_an_attempt_may_be_missing() -> None:
    history = History((claim(3, 1, 5), claim(7, 1, 6, attempt=3)))
    assert list(named("attempts_are_exact").holds(history)) == []


def test_in_a_storm_a_lease_may_run_out() -> None:
    history = History(tuple(BAD["a_lease_outlasts_its_handler"]))
    assert list(named("a_lease_outlasts_its_handler").holds(history)) == []
