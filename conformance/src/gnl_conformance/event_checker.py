"""Judges a history of events: what holds and tokens have in common is judged as for jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from gnl_conformance._violation import Violation
from gnl_conformance.checker import (
    Found,
    Property,
    a_hold_ends_once,
    after,
    an_id_is_one_job,
    attempts_are_counted,
    no_job_has_two_live_leases,
    no_other_errors_escape,
    reclaims_were_seen,
    refusals_were_seen,
    stale_tokens_change_nothing,
    tokens_grow,
    violation,
)
from gnl_conformance.history import Call, History, Key, Seq, keys_of

_ENDED: Final = ("acked", "quarantined")


def every_event_reaches_every_consumer(history: History) -> Found:
    """What was acknowledged was handed to each consumer, whoever was killed."""
    for name, reached in _reached(history).items():
        for append in history.adds:
            flags = (append.answered or {}).get("created")
            lost = [key for key in keys_of(append) if key not in reached]
            if flags and lost:
                sentence = f"appended and never handed to {name}: {lost[:5]}"
                yield violation("delivery.each", sentence, [append])


def what_ended_does_not_come_again(history: History) -> Found:
    """An event whose end was acknowledged is not handed to that consumer again."""
    for seq, writes in history.settled.items():
        for write in writes:
            again = [g for g in history.grants.get(seq, ()) if after(g.call, write.call)]
            if write.answer in _ENDED and again:
                sentence = f"{seq} was {write.answer} and was granted again"
                yield violation("delivery.acked", sentence, [write, *again])


def appends_are_whole(history: History) -> Found:
    """Of the events that only one call appended all are there, or none; none if rolled back."""
    calls = Counter(key for append in history.adds for key in keys_of(append))
    there = {key for reached in _reached(history).values() for key in reached}
    for append in history.adds:
        own = [key for key in keys_of(append) if calls[key] == 1]
        found = [key for key in own if key in there]
        undone = (append.answered or {}).get("created") == []
        if found and (undone or len(found) < len(own)):
            how = " and was rolled back" if undone else ""
            sentence = f"a call of {len(own)} events of its own{how} left {len(found)}"
            yield violation("log.atomic", sentence, [append])


def an_event_has_one_position(history: History) -> Found:
    """No id is handed to a consumer at two positions."""
    places: dict[tuple[str, Key], dict[Seq, Call]] = {}
    for seq, grants in history.grants.items():
        for grant in grants:
            name = str(grant.call.asked["consumer"])
            places.setdefault((name, grant.key), {})[seq] = grant.call
    for (name, key), found in places.items():
        if len(found) > 1:
            sentence = f"{key} came to {name} as {sorted(map(str, found))}"
            yield violation("log.once", sentence, list(found.values()))


def all_events_end(history: History) -> Found:
    """After a quiet phase no consumer owes an event, but for those set aside."""
    for name, owed in _owed(history).items():
        if any(owed.values()):
            yield violation("store.live", f"{name} did not end in the quiet phase: {owed}", [])


def _reached(history: History) -> dict[str, set[Key]]:
    """The events that each consumer was seen to be handed, of those that were there at the end."""
    found: dict[str, set[Key]] = {name: set() for name in _owed(history)}
    for grants in history.grants.values():
        for grant in grants:
            found.setdefault(str(grant.call.asked["consumer"]), set()).add(grant.key)
    return found


def _owed(history: History) -> dict[str, dict[str, int]]:
    ends = [c.answered for c in history.calls if c.op == "consumers" and c.answered is not None]
    return dict(ends[-1]["owed"]) if ends else {}


def _as(
    rule: str,
    name: str,
    holds: Callable[[History], Found],
    *,
    at_end: bool = False,
    witness: bool = False,
) -> Property:
    """A property of jobs, as one of events."""

    def judge(history: History) -> Found:
        for found in holds(history):
            yield Violation(rule, found.sentence, events=found.events)

    judge.__name__ = name
    return Property(rule, judge, at_end=at_end, witness=witness)


_seen = partial(_as, at_end=True, witness=True)

EVENT_PROPERTIES: Final = (
    Property("delivery.each", every_event_reaches_every_consumer, at_end=True),
    Property("delivery.acked", what_ended_does_not_come_again),
    Property("log.atomic", appends_are_whole, at_end=True),
    Property("log.once", an_event_has_one_position),
    _as("log.once", "an_id_is_one_event", an_id_is_one_job),
    _as("delivery.exclusive", "no_delivery_has_two_live_leases", no_job_has_two_live_leases),
    _as("delivery.token", "tokens_of_deliveries_grow", tokens_grow),
    _as("delivery.fenced", "stale_tokens_change_no_delivery", stale_tokens_change_nothing),
    _as("delivery.fenced", "a_delivery_ends_once", a_hold_ends_once),
    _seen("delivery.fenced", "refusals_of_events_were_seen", refusals_were_seen),
    _seen("delivery.reclaimed", "reclaims_of_events_were_seen", reclaims_were_seen),
    _as("delivery.attempt", "attempts_at_events_are_counted", attempts_are_counted),
    Property("store.live", all_events_end, at_end=True),
    _as("store.errors", "no_other_errors_of_events_escape", no_other_errors_escape),
)
