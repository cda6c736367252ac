"""Extending and settling deliveries: holds to columns, and answers in call order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import (
    Ack,
    DeliveryState,
    EventHold,
    EventOutcome,
    EventSettlement,
    EventVerdict,
    Extension,
    HoldState,
    Quarantine,
    Release,
    Retry,
)
from gnl_store_sql import Row

SETTLE: Final = (
    "select * from {schema}.gnl_settle_deliveries($1::bigint[], $2::bigint[], $3::bigint[], "
    "$4::text, $5::text[], $6::bigint[], $7::bigint[])"
)
EXTEND: Final = (
    "select * from {schema}.gnl_extend_deliveries($1::bigint[], $2::bigint[], $3::bigint[], "
    "$4::bigint)"
)

_SETTLED: Final = {
    "a": EventSettlement(DeliveryState.ACKED),
    "q": EventSettlement(DeliveryState.QUARANTINED),
    "r": EventSettlement(DeliveryState.PARKED),
    "b": EventSettlement(DeliveryState.PARKED),
}


class Ends(NamedTuple):
    """Outcomes as gnl_settle_deliveries takes them, in the order in which calls lock rows."""

    consumers: list[int]
    positions: list[int]
    tokens: list[int]
    kinds: str
    texts: list[str | None]
    delays: list[int]
    places: list[int]


def ends_of(outcomes: Sequence[EventOutcome]) -> Ends:
    """The columns of `outcomes`; of those for one hold the first counts."""
    first: dict[EventHold, int] = {}
    for place, outcome in enumerate(outcomes):
        first.setdefault(outcome.hold, place)
    holds = sorted(first, key=_rank)
    verdicts = [_verdict(outcomes[first[hold]].verdict) for hold in holds]
    return Ends(
        *columns_of(holds),
        "".join([kind for kind, _, _ in verdicts]),
        [text for _, text, _ in verdicts],
        [delay for _, _, delay in verdicts],
        [first[hold] for hold in holds],
    )


def distinct(holds: Sequence[EventHold]) -> list[EventHold]:
    """Each of `holds` once, in the order in which calls lock rows."""
    return sorted(set(holds), key=_rank)


def columns_of(holds: Sequence[EventHold]) -> tuple[list[int], list[int], list[int]]:
    """Consumers, positions and tokens."""
    return (
        [hold.consumer for hold in holds],
        [hold.position for hold in holds],
        [hold.token for hold in holds],
    )


def settlements(row: Row, ends: Ends, count: int) -> tuple[EventSettlement, ...]:
    """Answers in call order from the row of gnl_settle_deliveries."""
    answers = [EventSettlement(None)] * count
    kinds = dict(zip(ends.places, ends.kinds, strict=True))
    for place in row[0] or ():
        answers[place] = _SETTLED[kinds[place]]
    return tuple(answers)


def extensions(
    row: Row, asked: Sequence[EventHold], holds: Sequence[EventHold]
) -> tuple[Extension, ...]:
    """Answers in call order from the row of gnl_extend_deliveries for `asked`, each once."""
    places, expires_at = row
    kept = {asked[place - 1] for place in places or ()}
    yes, no = Extension(HoldState.KEPT, expires_at), Extension(HoldState.LOST, None)
    return tuple([yes if hold in kept else no for hold in holds])


def _verdict(verdict: EventVerdict) -> tuple[str, str | None, int]:
    match verdict:
        case Ack():
            return "a", None, 0
        case Retry():
            return "r", verdict.error, verdict.delay
        case Quarantine():
            return "q", verdict.error, 0
        case Release():
            return "b", None, verdict.delay


def _rank(hold: EventHold) -> tuple[int, int, int]:
    return hold.consumer, hold.position, hold.token
