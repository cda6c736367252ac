"""What shows that replies were lost after the effect, on histories written by hand."""

from collections.abc import Callable

import pytest

from gnl_conformance.checker import Found
from gnl_conformance.history import Call, History
from gnl_conformance.process.lost import (
    LOST,
    a_lost_add_was_seen,
    a_lost_claim_was_seen,
    a_lost_settlement_was_seen,
    all_were_seen,
)


def call(op: str, at: int, asked: dict, answered: dict | None = None, who: str = "a") -> Call:
    """A call that was answered, or cut off, one tick later."""
    error = None if answered else "StoreUnavailable: the connection was lost"
    return Call(who, op, asked, at, at + 1, answered, error)


def add(at: int, created: bool | None, who: str = "a") -> Call:
    answered = None if created is None else {"created": [created]}
    return call("add", at, {"jobs": [[None, "j1"]]}, answered, who)


def claim(at: int, attempt: int, token: int = 1, seq: int = 1) -> Call:
    grant = {
        "org": None,
        "id": "j1",
        "seq": seq,
        "token": token,
        "attempt": attempt,
        "budget": 6,
        "granted_at": at,
        "expires_at": at + 10,
        "reclaimed": attempt > 1,
    }
    return call("claim", at, {"limit": 1}, {"grants": [grant]})


def lost_claim(at: int) -> Call:
    return call("claim", at, {"limit": 1})


def settle(at: int, state: str | bool | None, token: int = 1) -> Call:
    """`state` False: no answer."""
    answered = None if state is False else {"answers": [[state, None]]}
    return call("settle", at, {"holds": [[1, token, "done"]]}, answered)


ADDED = [add(0, None), add(5, False)]
SETTLED = [claim(10, 1), settle(12, False), settle(14, None)]
CLAIMED = [lost_claim(0), claim(20, 2, seq=2)]

CASES: list[tuple[Callable[[History], Found], list[Call], bool]] = [
    (a_lost_add_was_seen, ADDED, True),
    (a_lost_add_was_seen, [add(0, None), add(5, True)], False),
    (a_lost_add_was_seen, [add(0, None), add(2, False, "b"), add(5, False)], False),
    (a_lost_add_was_seen, [add(0, None)], False),
    (a_lost_add_was_seen, [add(0, True)], True),
    (a_lost_settlement_was_seen, SETTLED, True),
    (a_lost_settlement_was_seen, [claim(10, 1), settle(12, False), settle(14, "done")], False),
    (
        a_lost_settlement_was_seen,
        [claim(10, 1), claim(22, 2, 2), settle(24, False), settle(26, None)],
        False,
    ),
    (a_lost_settlement_was_seen, [claim(10, 1), settle(12, "done")], True),
    (a_lost_claim_was_seen, CLAIMED, True),
    (a_lost_claim_was_seen, [lost_claim(0), claim(20, 1), claim(40, 2, 2)], False),
    (a_lost_claim_was_seen, [claim(20, 1)], True),
]


@pytest.mark.parametrize(("seen", "calls", "shown"), CASES)
def test_what_shows_a_lost_reply(
    seen: Callable[[History], Found], calls: list[Call], shown: bool
) -> None:
    found = [str(violation) for violation in seen(History(tuple(calls)))]
    assert (found == []) is shown
    assert all("proves nothing about lost replies" in one for one in found)


def test_a_run_proves_something_once_all_were_seen() -> None:
    assert all_were_seen(History((*ADDED, *SETTLED, *CLAIMED)))
    assert not all_were_seen(History((add(0, None), *SETTLED, *CLAIMED)))


def test_every_sign_was_tested_both_ways() -> None:
    for one in LOST:
        assert {shown for seen, _, shown in CASES if seen is one.holds} == {True, False}
