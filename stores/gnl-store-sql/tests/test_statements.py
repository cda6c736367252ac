from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from sqlalchemy import ColumnElement, bindparam, func, insert, select
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.engine import Dialect

from gnl_store_sql import SqlDialect, Step, Tables

TABLES = Tables()


def dialect(engine: Dialect) -> SqlDialect:
    def one_of(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
        return column == func.any(bindparam(name))

    def pack(values: Collection[Any]) -> object:
        return list(values)

    return SqlDialect(engine=engine, one_of=one_of, pack=pack)


SQLITE = dialect(SQLiteDialect_aiosqlite())
POSTGRES = dialect(PGDialect_asyncpg())
TWICE = (
    select(TABLES.jobs.c.seq)
    .where(TABLES.jobs.c.org == bindparam("name"), TABLES.jobs.c.id == bindparam("name"))
    .where(TABLES.jobs.c.seq > bindparam("after"))
    .limit(7)
)


def test_values_stand_where_the_driver_wants_them() -> None:
    step = SQLITE.compile(TWICE)(after=1, name="n")
    assert step.sql.count("?") == len(step.values)
    assert step.values[:3] == ("n", "n", 1)
    assert 7 in step.values


def test_a_numbered_parameter_is_sent_once() -> None:
    step = POSTGRES.compile(TWICE)(after=1, name="n")
    assert step.values == ("n", 1, 7)
    assert step.sql.count("$1") == 2


def test_a_parameter_that_is_not_given_is_an_error() -> None:
    with pytest.raises(KeyError, match="after"):
        SQLITE.compile(TWICE)(name="n")


def test_many_rows_are_put_in_the_order_of_the_placeholders() -> None:
    meta = TABLES.meta
    statement = SQLITE.compile(
        insert(meta).values(name=bindparam("name"), value=bindparam("value"))
    )
    assert statement.names == ("name", "value")
    same = [("a", "1"), ("b", "2")]
    assert statement.many(("name", "value"), same) == Step(statement.sql, same, many=True)
    turned = statement.many(("value", "name"), [("1", "a"), ("2", "b")])
    assert turned == Step(statement.sql, same, many=True)


@pytest.mark.parametrize("chosen", [SQLITE, POSTGRES])
def test_tables_come_in_a_schema_and_without_some_indexes(chosen: SqlDialect) -> None:
    plain = Tables().create(chosen.engine)
    placed = Tables("work").create(chosen.engine, without=["gnl_held_expires"])
    assert any("gnl_held_expires" in sql for sql in plain)
    assert not any("gnl_held_expires" in sql for sql in placed)
    assert all("work." in sql for sql in placed)


def test_every_text_on_postgresql_is_compared_byte_for_byte() -> None:
    created = "".join(Tables().create(POSTGRES.engine))
    assert created.count("TEXT") == created.count('TEXT COLLATE "C"') > 10
