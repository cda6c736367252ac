"""Claiming: where to begin the scan, and rows to grants."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from gnl_core.spi import Claimed, Grant
from gnl_store_sql import Row, Rows, org_name, run_id

CLAIM: Final = (
    "select * from {schema}.gnl_claim($1::text[], $2::integer, $3::bigint, $4::text, $5::bigint, "
    "$6::bigint, $7::bigint, $8::boolean)"
)
_SETTLING: Final = 0.05
"""Seconds after which the numbers that a short transaction took are committed."""
_SWEEP_SECONDS: Final = 1.0
_SHARE: Final = 10.0
_LONGEST_SECONDS: Final = 5.0
"""Looks from the very beginning take a tenth of the time, and are never further apart."""


@dataclass(slots=True)
class Floor:
    """Below `turn` and `due_at` there was nothing, when a claim looked at `at`."""

    turn: int = 0
    due_at: int = 0
    at: float = 0.0


@dataclass(slots=True)
class ScanStart:
    """Where the claims of this handle, for one set of types, begin their scans.

    Nothing but effort depends on this, so it may use the process's own clock. A floor comes into
    force one claim after it is old enough: what was committed late below it was seen by then.
    """

    floor: Floor = field(default_factory=Floor)
    newer: Floor = field(default_factory=Floor)
    next_sweep: float = 0.0
    next_full: float = 0.0

    def begin(self) -> tuple[float, int, int, bool]:
        """The time, the floors for turns and due times, and whether to look at all if short."""
        now = time.monotonic()
        if now >= self.next_sweep:
            return now, 0, 0, True
        return now, self.floor.turn, self.floor.due_at, now >= self.next_full

    def end(self, began: float, turn: int, due_at: int, *, swept: bool, full: bool) -> None:
        """Learn from a claim that began at `began`."""
        now = time.monotonic()
        pause = min(_SHARE * (now - began), _LONGEST_SECONDS)
        if swept:
            self.next_sweep = now + max(_SWEEP_SECONDS, pause)
        if full:
            self.next_full = now + pause
        if began - self.newer.at >= _SETTLING:
            self.floor = self.newer
            self.newer = Floor(turn, due_at, began)


def claimed(rows: Rows, ttl: int) -> Claimed:
    """The answer from the rows of gnl_claim, the first of which is no grant."""
    now: int = rows[0][10]
    next_due: int | None = rows[0][9]
    due_in = None if next_due is None else max(0, next_due - now)
    expires_at = now + ttl
    return Claimed(tuple([_grant(row, now, expires_at) for row in rows[1:]]), due_in)


def _grant(row: Row, now: int, expires_at: int) -> Grant:
    seq, token, id_, org, type_, payload, attempt, budget, enqueued_at, due_at, _, again = row
    return Grant(
        seq,
        token,
        id_,
        org_name(org),
        type_,
        payload,
        run_id(seq),
        attempt,
        budget,
        enqueued_at,
        due_at,
        now,
        expires_at,
        again,
    )
