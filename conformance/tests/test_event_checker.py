"""The checker of events on histories written by hand: the good one passes, each bad one is told."""

from collections.abc import Mapping
from typing import Any

import pytest

from gnl_conformance.checker import Property
from gnl_conformance.event_checker import EVENT_PROPERTIES
from gnl_conformance.history import Call, History

MS = 1_000_000


def call(op: str, at: int, asked: Mapping[str, Any], answered: Mapping[str, Any] | None) -> Call:
    """A call that began at `at` and was answered one millisecond later, if at all."""
    ended = None if answered is None else (at + 1) * MS
    return Call("a", op, asked, at * MS, ended, answered)


def append(at: int, *ids: str, created: bool | None = True) -> Call:
    answered = None if created is None else {"created": [created] * len(ids)}
    return call("append", at, {"events": [[None, name] for name in ids]}, answered)


def rolled_back(at: int, *ids: str) -> Call:
    return call("append", at, {"events": [[None, name] for name in ids]}, {"created": []})


def deliver(at: int, name: str, token: int, *, to: str = "r", attempt: int = 1, place: int = 0):
    """A grant of `name` from `at` for 100 ms, by the store's clock in microseconds."""
    grant = {
        "org": None,
        "id": name,
        "seq": f"event {place or name} for {to}",
        "token": token,
        "attempt": attempt,
        "budget": 9,
        "granted_at": at * 1_000,
        "expires_at": (at + 100) * 1_000,
        "reclaimed": attempt > 1,
    }
    return call("deliver", at, {"consumer": to}, {"grants": [grant]})


def settle(at: int, name: str, token: int, state: str | None = "acked", to: str = "r") -> Call:
    asked = {"holds": [[f"event {name} for {to}", token, "ack"]]}
    return call("settle", at, asked, {"answers": [[state, None]]})


def ending(*names: str, held: int = 0) -> Call:
    owed = {name: {"new": 0, "held": held, "parked": 0} for name in names}
    return call("consumers", 900, {}, {"owed": owed})


GOOD = [
    append(1, "x", "y"),
    append(3, "x", created=False),
    rolled_back(5, "z"),
    deliver(10, "x", 1),
    deliver(12, "x", 2, to="s"),
    settle(14, "x", 2, to="s"),
    deliver(20, "y", 3),
    settle(22, "y", 3),
    deliver(24, "y", 4, to="s"),
    settle(26, "y", 4, to="s"),
    deliver(200, "x", 5, attempt=2),
    settle(210, "x", 1, None),
    settle(220, "x", 5),
    ending("r", "s"),
]

BAD = {
    "every_event_reaches_every_consumer": [
        append(1, "x"), deliver(3, "x", 1), settle(5, "x", 1), ending("r", "s")
    ],
    "what_ended_does_not_come_again": [
        deliver(3, "x", 1), settle(5, "x", 1), deliver(300, "x", 2, attempt=2)
    ],
    "appends_are_whole": [append(1, "x", "y", created=None), deliver(3, "x", 1), ending("r")],
    "an_event_has_one_position": [deliver(3, "x", 1, place=1), deliver(5, "x", 2, place=2)],
    "an_id_is_one_event": [append(1, "x"), append(3, "x")],
    "no_delivery_has_two_live_leases": [deliver(3, "x", 1), deliver(50, "x", 2, attempt=2)],
    "tokens_of_deliveries_grow": [deliver(3, "x", 2), deliver(200, "x", 1, attempt=2)],
    "stale_tokens_change_no_delivery": [
        deliver(3, "x", 1), deliver(200, "x", 2, attempt=2), settle(210, "x", 1)
    ],
    "a_delivery_ends_once": [deliver(3, "x", 1), settle(5, "x", 1), settle(7, "x", 1)],
    "refusals_of_events_were_seen": [deliver(3, "x", 1), settle(5, "x", 1)],
    "reclaims_of_events_were_seen": [deliver(3, "x", 1), settle(5, "x", 1)],
    "attempts_at_events_are_counted": [deliver(3, "x", 1), deliver(200, "x", 2)],
    "all_events_end": [ending("r", held=2)],
    "no_other_errors_of_events_escape": [
        Call("a", "deliver", {"consumer": "r"}, 1, 2, None, "KeyError: 'x'")
    ],
}  # fmt: skip


@pytest.mark.parametrize("prop", EVENT_PROPERTIES, ids=lambda prop: prop.name)
def test_a_good_history_breaks_nothing(prop: Property) -> None:
    assert list(prop.holds(History(tuple(GOOD)))) == []


@pytest.mark.parametrize("prop", EVENT_PROPERTIES, ids=lambda prop: prop.name)
def test_a_bad_history_is_told_by_its_rule(prop: Property) -> None:
    found = list(prop.holds(History(tuple(BAD[prop.name]))))
    assert {one.rule for one in found} == {prop.rule}


def test_every_bad_history_is_of_a_property() -> None:
    assert set(BAD) == {prop.name for prop in EVENT_PROPERTIES}


def test_what_was_rolled_back_must_not_be_there() -> None:
    (prop,) = [one for one in EVENT_PROPERTIES if one.name == "appends_are_whole"]
    found = list(prop.holds(History((rolled_back(1, "x"), deliver(3, "x", 1), ending("r")))))
    assert "1 events of its own and was rolled back left 1" in found[0].sentence
