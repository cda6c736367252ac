"""Pages of a snapshot listing, at the cost of the page.

The first page fixes a horizon: the highest sequence number there is, and where a database
commits in another order than it numbers, its snapshot as text. Both travel in the position.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple, TypeGuard

from sqlalchemy import ColumnElement, bindparam, or_

from gnl_core.spi import EveryLane, JobPage, JobState, OneLane, Scope, StoreRejected
from gnl_store_sql.reads import select_records
from gnl_store_sql.records import RECORD_COLUMNS, job_record, org_text
from gnl_store_sql.statements import Row, SqlDialect, Steps
from gnl_store_sql.tables import Tables

_SEQ = RECORD_COLUMNS.index("seq")
_ORG = RECORD_COLUMNS.index("org")
_LAST_SEQ: Final = 2**63 - 1


class Horizon(NamedTuple):
    """What the listing may show: sequence numbers up to `bound`, seen by `snapshot`."""

    bound: int
    snapshot: str = ""


class Position(NamedTuple):
    """The horizon of a listing, and the last job given out."""

    horizon: Horizon
    org: str
    seq: int

    def text(self) -> str:
        """The position as a store hands it out."""
        bound, snapshot = self.horizon
        return json.dumps([bound, snapshot, self.org, self.seq], ensure_ascii=False)


def read_position(position: str) -> Position:
    """The position in the text; `StoreRejected` for any other text."""
    try:
        bound, snapshot, org, seq = json.loads(position)
    except (ValueError, TypeError, RecursionError):
        bound = snapshot = org = seq = None
    if (
        not _is_number(bound)
        or not _is_number(seq)
        or not isinstance(snapshot, str)
        or not isinstance(org, str)
    ):
        raise StoreRejected(f"{position!r} is not a position of this store")
    return Position(Horizon(bound, snapshot), org, seq)


def _is_number(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _LAST_SEQ


class Listing:
    """The listing, compiled for one dialect.

    `horizon` finds the horizon of a listing that begins. `visible`, where commits do not come
    in the order of numbers, is the condition that a row of ``tables.jobs`` is seen by the
    snapshot in the parameter ``snapshot``.
    """

    def __init__(
        self,
        tables: Tables,
        dialect: SqlDialect,
        horizon: Callable[[], Steps[Horizon]],
        visible: ColumnElement[bool] | None = None,
    ) -> None:
        self._horizon = horizon
        jobs = tables.jobs.c
        bound: ColumnElement[bool] = jobs.seq <= bindparam("bound")
        records = select_records(tables).limit(bindparam("count"))
        one = records.where(jobs.org == bindparam("org"), jobs.seq > bindparam("seq"), bound)
        later = records.where(jobs.org > bindparam("org"))
        if visible is not None:
            one = one.where(visible)
            # Rows beyond the bound are let through: they tell where to leave a lane.
            later = later.where(or_(jobs.seq > bindparam("bound"), visible))
        self._rest_of_lane = dialect.compile(one.order_by(jobs.seq))
        self._later_lanes = dialect.compile(later.order_by(jobs.org, jobs.seq))

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> Steps[JobPage]:
        """One page. To be run in one snapshot."""
        if position is not None:
            at = read_position(position)
        else:
            at = Position((yield from self._horizon()), "", 0)
        rows = yield from self._rows(scope, at, limit + 1)
        more, rows = len(rows) > limit, rows[:limit]
        records = [job_record(row) for row in rows]
        end = Position(at.horizon, rows[-1][_ORG], rows[-1][_SEQ]).text() if more else None
        return JobPage(tuple(r for r in records if not states or r.state in states), end)

    def _rows(self, scope: Scope, at: Position, count: int) -> Steps[list[Row]]:
        if isinstance(scope, OneLane):
            at = at._replace(org=org_text(scope.org_id))
        rows = list((yield self._rest_of_lane(**_values(at, count))))
        if isinstance(scope, EveryLane):
            # Not as one range of (lane, number): not every database can begin within a lane.
            left: Position | None = at
            while len(rows) < count and left is not None:
                more, left = yield from self._next_lanes(left, count - len(rows))
                rows += more
        return rows

    def _next_lanes(self, at: Position, count: int) -> Steps[tuple[list[Row], Position | None]]:
        """Jobs of the lanes after `at`, up to where a lane goes beyond the horizon.

        That lane is left: the position is there, or None when all lanes were read.
        """
        rows = list((yield self._later_lanes(**_values(at, count))))
        for number, row in enumerate(rows):
            if row[_SEQ] > at.horizon.bound:
                return rows[:number], at._replace(org=row[_ORG])
        return rows, None


def _values(at: Position, count: int) -> dict[str, Any]:
    bound, snapshot = at.horizon
    return {"org": at.org, "seq": at.seq, "bound": bound, "snapshot": snapshot, "count": count}
