"""Compares two answers to one call, and names the rule that a difference breaks.

Which rule it is can be told from the call, from the first thing that differs, and from how the
job stands with the reference. All functions are pure; they raise `Difference`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Final, NamedTuple, NoReturn

from gnl_conformance.model.difference import Difference
from gnl_conformance.model.seen import Key
from gnl_core.spi import (
    Added,
    Dead,
    DepthRefused,
    Done,
    Extension,
    Grant,
    HoldState,
    JobRecord,
    JobState,
    OneLane,
    Release,
    Retry,
    Scope,
    Settlement,
    Verdict,
)

_OF_GRANT: Final = {
    "attempt": "attempt.bounded",
    "max_attempts": "attempt.budget",
    "reclaimed": "lease.reclaimed",
    "payload": "enqueue.payload",
    "due_at": "enqueue.delay",
    "enqueued_at": "store.clock",
    "granted_at": "store.clock",
    "expires_at": "lease.boundary",
}
_OF_RECORD: Final = {
    "payload": "enqueue.payload",
    "type": "enqueue.known",
    "result": "attempt.result",
    "failures": "attempt.history",
    "error": "attempt.history",
    "cancel_requested": "attempt.cancel",
    "max_attempts": "attempt.budget",
    "due_at": "attempt.retry",
    "expires_at": "lease.extend",
    "enqueued_at": "store.clock",
    "finished_at": "store.clock",
}
_BY_VERDICT: Final[Mapping[type[Verdict], str]] = {
    Done: "attempt.result",
    Retry: "attempt.retry",
    Dead: "attempt.dead",
    Release: "attempt.release",
}


class Asked(NamedTuple):
    """What a claim asked for."""

    types: tuple[str, ...]
    limit: int


def compare_add(
    ours: Added | DepthRefused,
    reference: Added | DepthRefused,
    refusals: Collection[DepthRefused],
) -> None:
    """The answers to an add; where the reference refuses, each of `refusals` is as right."""
    if ours == reference or ours in refusals:
        return
    if not (isinstance(ours, Added) and isinstance(reference, Added)):
        _differ("enqueue.depth", "an add", ours, reference)
    flags = [[known is None for known in answer.known] for answer in (ours, reference)]
    if flags[0] == flags[1]:
        _differ("enqueue.known", "an add", ours.known, reference.known)
    rule = "enqueue.order" if sorted(flags[0]) == sorted(flags[1]) else "enqueue.once"
    _differ(rule, "which jobs an add created", *flags)


def compare_grants(
    asked: Asked,
    ours: Sequence[Grant],
    reference: Sequence[Grant],
    standing: Mapping[Key, JobRecord | None],
) -> None:
    """The grants of a claim; `standing` is how each job granted stands with the reference."""
    ours_keys, keys = [_key(one) for one in ours], [_key(one) for one in reference]
    if ours_keys != keys:
        for grant in ours:
            if _key(grant) not in keys:
                _differ(_why_not(asked, grant, standing), "grants of a claim", ours_keys, keys)
        missing = [one for one in reference if _key(one) not in ours_keys]
        _differ(_why_missing(asked, ours, missing), "grants of a claim", ours_keys, keys)
    for grant, expected in zip(ours, reference, strict=True):
        name = _first_difference(grant, expected)
        if name is not None:
            what = f"`{name}` of the grant of {_key(grant)}"
            rule = _OF_GRANT.get(name, "lane.order")
            _differ(rule, what, getattr(grant, name), getattr(expected, name))


def _why_not(asked: Asked, grant: Grant, standing: Mapping[Key, JobRecord | None]) -> str:
    """The rule against a grant that the reference did not give."""
    job = standing.get(_key(grant))
    if grant.type not in asked.types:
        return "lane.types"
    if job is None:
        return "enqueue.atomic"
    if job.state is JobState.RUNNING:
        return "attempt.cancel" if job.cancel_requested else "lease.exclusive"
    if job.state is JobState.WAITING and (job.due_at or 0) > grant.granted_at > 0:
        return _delayed_by(job)
    by_state = {
        JobState.CANCELED: "attempt.cancel",
        JobState.DONE: "store.kept",
        JobState.DEAD: "attempt.bounded",
    }
    return by_state.get(job.state, "lane.order")


def _why_missing(asked: Asked, ours: Sequence[Grant], missing: Sequence[Grant]) -> str:
    """The rule that asks for the grants that the store did not give."""
    if not missing:
        return "lane.order"
    if missing[0].reclaimed:
        return "lease.reclaimed"
    return "lane.order" if len(ours) == asked.limit else "lane.limit"


def _delayed_by(job: JobRecord) -> str:
    if job.attempts == 0 and not job.failures:
        return "enqueue.delay"
    return "attempt.retry" if job.failures else "attempt.release"


def compare_due(ours: int | bool | None, reference: int | bool | None) -> None:
    """When the next job is due."""
    if ours != reference:
        _differ("store.due", "`next_due_in` of a claim", ours, reference)


def compare_extensions(ours: Sequence[Extension], reference: Sequence[Extension]) -> None:
    """The answers to extend, hold by hold."""
    _same_length("extend", ours, reference)
    for mine, expected in zip(ours, reference, strict=True):
        if mine == expected:
            continue
        rule = "lease.extend"
        if HoldState.LOST in (mine.state, expected.state):
            rule = "lease.held" if mine.state is HoldState.LOST else "lease.fenced"
        elif mine.state is not expected.state:
            rule = "attempt.cancel"
        if sorted(map(str, ours)) == sorted(map(str, reference)):
            rule = "lease.batch"
        _differ(rule, "answers to extend", ours, reference)


def compare_settlements(
    verdicts: Sequence[Verdict], ours: Sequence[Settlement], reference: Sequence[Settlement]
) -> None:
    """The answers to settle, outcome by outcome."""
    _same_length("settle", ours, reference)
    for verdict, mine, expected in zip(verdicts, ours, reference, strict=True):
        if mine == expected:
            continue
        if expected.state is None:
            rule = "lease.fenced"
        elif mine.state is None:
            rule = "lease.batch" if len(ours) > 1 else "lease.held"
        elif JobState.CANCELED in (mine.state, expected.state):
            rule = "attempt.cancel"
        else:
            rule = _BY_VERDICT[type(verdict)]
        states = [[one.state for one in answers] for answers in (ours, reference)]
        _differ(rule, "answers to settle", *states)


def compare_records(key: Key, ours: JobRecord | None, reference: JobRecord | None) -> None:
    """What is known of one job."""
    if ours is None or reference is None:
        if ours is not reference:
            rule = "store.kept" if ours is None else "store.prune"
            _differ(rule, f"job {key}", ours, reference)
        return
    name = _first_difference(ours, reference)
    if name is None:
        return
    rule = _OF_RECORD.get(name, "store.get")
    if name == "due_at" and not reference.attempts and not reference.failures:
        rule = "enqueue.delay"
    if name == "attempts":
        rule = "attempt.bounded" if reference.attempts > ours.attempts else "attempt.release"
    if name == "state":
        rule = _of_state(ours.state, reference.state)
    _differ(rule, f"`{name}` of job {key}", getattr(ours, name), getattr(reference, name))


def compare_listed(
    scope: Scope,
    states: Sequence[JobState],
    ours: Sequence[JobRecord],
    reference: Sequence[JobRecord],
) -> None:
    """The jobs of a page, or of a whole listing of some `states`."""
    keys, expected = [_key(one) for one in ours], [_key(one) for one in reference]
    if keys != expected:
        rule = _of_listing(scope, states, ours, expected)
        _differ(rule, f"jobs listed of {scope}", keys, expected)
    for mine, theirs in zip(ours, reference, strict=True):
        compare_records(_key(mine), mine, theirs)


def _of_listing(
    scope: Scope, states: Sequence[JobState], ours: Sequence[JobRecord], expected: Sequence[Key]
) -> str:
    """The rule against a listing of other jobs, or in another order."""
    if isinstance(scope, OneLane) and any(one.org_id != scope.org_id for one in ours):
        return "list.lane"
    if {*map(_key, ours)} == {*expected} and len(ours) == len(expected):
        return "list.all"
    return "list.states" if states else "list.snapshot"


def compare_found(what: str, ours: JobState | None, reference: JobState | None) -> None:
    """The state that a cancel or a revival found its job in."""
    if ours is not reference:
        _differ(_of_state(ours, reference), f"the state found by {what}", ours, reference)


def _of_state(ours: JobState | None, reference: JobState | None) -> str:
    """The rule against a job being in one state instead of another."""
    both = {ours, reference}
    if None in both:
        return "store.kept" if ours is None else "store.prune"
    if JobState.CANCELED in both:
        return "attempt.cancel"
    if JobState.DONE in both:
        return "store.kept"
    if ours is JobState.RUNNING:
        return "lease.reclaimed"
    return "attempt.bounded" if JobState.DEAD in both else "lease.exclusive"


def compare_plain(rule: str, what: str, ours: object, reference: object) -> None:
    """Anything that has no parts."""
    if ours != reference:
        _differ(rule, what, ours, reference)


def _same_length(what: str, ours: Sequence[object], reference: Sequence[object]) -> None:
    if len(ours) != len(reference):
        _differ("lease.batch", f"how many answers there are to {what}", len(ours), len(reference))


def _first_difference(ours: Grant | JobRecord, reference: Grant | JobRecord) -> str | None:
    """The first field that differs."""
    if ours == reference:
        return None
    differing = [
        one.name
        for one in fields(reference)
        if getattr(ours, one.name) != getattr(reference, one.name)
    ]
    return differing[0] if differing else None


def _key(one: Grant | JobRecord) -> Key:
    return one.org_id, one.id


def _differ(rule: str, what: str, ours: object, reference: object) -> NoReturn:
    raise Difference(
        rule, f"{what}: the store says {_brief(ours)}, the reference {_brief(reference)}"
    )


def _brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 400 else f"{text[:300]} ... {text[-90:]}"
