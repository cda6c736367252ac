"""Extending and settling holds: holds to columns, and answers in call order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import (
    Dead,
    Done,
    Extension,
    Hold,
    HoldState,
    JobState,
    Outcome,
    Release,
    Retry,
    Settlement,
    Verdict,
)
from gnl_store_sql import Row

SETTLE: Final = (
    "select * from {schema}.gnl_settle($1::bigint[], $2::bigint[], $3::text, $4::text[], "
    "$5::bigint[], $6::bigint[])"
)
EXTEND: Final = "select * from {schema}.gnl_extend($1::bigint[], $2::bigint[], $3::bigint)"

_LOST: Final = Extension(HoldState.LOST, None)
_REFUSED: Final = Settlement(None)
_SETTLED: Final = {
    "d": Settlement(JobState.DONE),
    "x": Settlement(JobState.DEAD),
    "c": Settlement(JobState.CANCELED),
    "r": Settlement(JobState.WAITING),
    "b": Settlement(JobState.WAITING),
}


class Ends(NamedTuple):
    """Outcomes as gnl_settle takes them. Each row is a place in the call; rows go by number."""

    seqs: list[int]
    tokens: list[int]
    kinds: str
    texts: list[str | None]
    delays: list[int] | None
    places: list[int]


def ends_of(outcomes: Sequence[Outcome]) -> Ends:
    """The columns of `outcomes`, in the order in which every call locks rows."""
    rows = [(outcome.hold, outcome.verdict) for outcome in outcomes]
    seqs = [hold.seq for hold, _ in rows]
    places = sorted(range(len(rows)), key=seqs.__getitem__)
    rows = [rows[place] for place in places]
    verdicts = [_verdict(verdict) for _, verdict in rows]
    delays = [delay for _, _, delay in verdicts]
    return Ends(
        [hold.seq for hold, _ in rows],
        [hold.token for hold, _ in rows],
        "".join([kind for kind, _, _ in verdicts]),
        [text for _, text, _ in verdicts],
        delays if any(delays) else None,
        places,
    )


def _verdict(verdict: Verdict) -> tuple[str, str | None, int]:
    match verdict:
        case Done():
            return "d", verdict.result, 0
        case Retry():
            return "r", verdict.error, verdict.delay
        case Dead():
            return "x", verdict.error, 0
        case Release():
            return "b", None, verdict.delay


def settlements(row: Row, ends: Ends) -> tuple[Settlement, ...]:
    """Answers in call order from the row of gnl_settle."""
    places, kinds, _ = row
    answers = [_REFUSED] * len(ends.places)
    if kinds is None:
        places, kinds = ends.places, ends.kinds
    for place, kind in zip(places or (), kinds, strict=True):
        answers[place] = _SETTLED[kind]
    return tuple(answers)


def extensions(row: Row, holds: Sequence[Hold]) -> tuple[Extension, ...]:
    """Answers in call order from the row of gnl_extend for `holds_of` these holds."""
    places, canceled, expires_at = row
    distinct = sorted(set(holds), key=_seq)
    answers: dict[Hold, Extension] = {}
    for place, stopped in zip(places or (), canceled or (), strict=True):
        state = HoldState.CANCELED if stopped else HoldState.KEPT
        answers[distinct[place - 1]] = Extension(state, expires_at)
    return tuple([answers.get(hold, _LOST) for hold in holds])


def holds_of(holds: Sequence[Hold]) -> tuple[list[int], list[int]]:
    """The columns of `holds`, each once, in the order in which every call locks rows."""
    distinct = sorted(set(holds), key=_seq)
    return [hold.seq for hold in distinct], [hold.token for hold in distinct]


def _seq(hold: Hold) -> tuple[int, int]:
    return hold.seq, hold.token
