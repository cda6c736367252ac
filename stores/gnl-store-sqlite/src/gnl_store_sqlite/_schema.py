"""The tables in SQLite: creating and upgrading them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, bindparam, func, select
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite

from gnl_store_sql import Schema, SqlDialect, Step, Tables

# One row: an instant, and the last stamp, token and sequence number given out. Jobs added since
# may be ahead in `now` and `seq`. `woken` grows whenever old jobs begin to wait again.
_CREATE_CLOCK: Final = (
    "CREATE TABLE gnl_clock (now INTEGER NOT NULL, stamp INTEGER NOT NULL, "
    "token INTEGER NOT NULL, seq INTEGER NOT NULL, woken INTEGER NOT NULL)"
)
_START_CLOCK: Final = "INSERT INTO gnl_clock VALUES (0, 0, 0, 0, 0)"

_PRESENT: Final = Step("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'gnl_meta'", ())

TABLES: Final = Tables()

_ENGINE: Final = SQLiteDialect_aiosqlite()

_UPGRADES: Final[Mapping[int, Sequence[str]]] = {
    # 2: failures are numbered within their job; lanes know where their ready jobs begin.
    1: (
        "ALTER TABLE gnl_lanes ADD COLUMN head INTEGER DEFAULT 0 NOT NULL",
        "ALTER TABLE gnl_failures RENAME TO gnl_failures_1",
        "DROP INDEX gnl_failures_seq",
        "CREATE TABLE gnl_failures (seq INTEGER NOT NULL, n INTEGER NOT NULL, "
        "attempt INTEGER NOT NULL, error TEXT NOT NULL, failed_at INTEGER NOT NULL, "
        "PRIMARY KEY (seq, n)) WITHOUT ROWID",
        "INSERT INTO gnl_failures SELECT seq, "
        "row_number() OVER (PARTITION BY seq ORDER BY rowid), attempt, error, failed_at "
        "FROM gnl_failures_1",
        "DROP TABLE gnl_failures_1",
    ),
    # 3: events.
    2: TABLES.create(_ENGINE, only=TABLES.of_events),
}


def _one_of(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    each = func.json_each(bindparam(name)).table_valued("value")
    return column.in_(select(each.c.value))


DIALECT: Final = SqlDialect(
    engine=_ENGINE,
    one_of=_one_of,
    pack=lambda values: json.dumps(list(values), ensure_ascii=False),
)

SCHEMA: Final = Schema(
    TABLES,
    DIALECT,
    present=_PRESENT,
    create=[*TABLES.create(DIALECT.engine), _CREATE_CLOCK, _START_CLOCK],
    upgrades=_UPGRADES,
)
