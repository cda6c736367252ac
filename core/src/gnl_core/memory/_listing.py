"""A page of a snapshot listing. The horizon is the newest sequence number at the first page."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeAlias

from gnl_core.spi import EveryLane, JobPage, JobRecord, JobState, Scope, StoreRejected

_Place: TypeAlias = tuple[bool, str, int]
"""Where a job stands in a listing: lane without organization first, then by name."""


def page_of(
    records: Iterable[JobRecord],
    scope: Scope,
    position: str | None,
    limit: int,
    *,
    states: Collection[JobState],
    newest: int,
) -> JobPage:
    """As `JobStore.page`, of all `records`; `newest` is the highest sequence number so far."""
    horizon, after = (newest, None) if position is None else _read_position(position)
    in_scope = (
        (_place(record), record)
        for record in records
        if record.seq <= horizon and (isinstance(scope, EveryLane) or record.org_id == scope.org_id)
    )
    rest = sorted(row for row in in_scope if after is None or row[0] > after)
    items = [record for _, record in rest[:limit]]
    return JobPage(
        tuple(record for record in items if not states or record.state in states),
        _write_position(horizon, items[-1]) if len(rest) > limit else None,
    )


def _place(record: JobRecord) -> _Place:
    return record.org_id is not None, record.org_id or "", record.seq


def _write_position(horizon: int, last: JobRecord) -> str:
    named, name, seq = _place(last)
    return f"{horizon}:{seq}:{int(named)}{name}"


def _read_position(position: str) -> tuple[int, _Place]:
    try:
        horizon, seq, lane = position.split(":", 2)
        return int(horizon), (lane[0] == "1", lane[1:], int(seq))
    except (ValueError, IndexError):
        raise StoreRejected(f"{position!r} is not a position of this store") from None
