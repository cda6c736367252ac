"""The schema's steps, on a database in memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import pytest
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite

from gnl_store_sql import VERSION, Schema, SqlDialect, Step, Steps, Tables

T = TypeVar("T")

ENGINE = SQLiteDialect_aiosqlite()
TABLES = Tables()
PRESENT = Step("SELECT 1 FROM sqlite_master WHERE name = 'gnl_meta'", ())


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def run(database: sqlite3.Connection, steps: Steps[T]) -> T:
    try:
        step = next(steps)
        while True:
            step = steps.send(database.execute(step.sql, step.values).fetchall())
    except StopIteration as end:
        answer: T = end.value
        return answer


def schema(upgrades: Mapping[int, Sequence[str]]) -> Schema:
    dialect = SqlDialect(
        engine=ENGINE,
        one_of=lambda column, name: column.in_([name]),
        pack=lambda values: json.dumps(list(values)),
    )
    return Schema(TABLES, dialect, present=PRESENT, create=TABLES.create(ENGINE), upgrades=upgrades)


def test_an_empty_database_gets_the_current_version(database: sqlite3.Connection) -> None:
    ours = schema({})
    assert run(database, ours.version()) is None
    assert run(database, ours.upgrade()) == VERSION
    assert run(database, ours.version()) == VERSION
    assert run(database, ours.upgrade()) == VERSION


def test_older_versions_go_up_step_by_step_in_order(database: sqlite3.Connection) -> None:
    steps = {
        number: [f"INSERT INTO told VALUES ({number})"] for number in range(VERSION - 2, VERSION)
    }
    ours = schema(steps)
    run(database, ours.upgrade())
    database.execute("UPDATE gnl_meta SET value = ?", (str(VERSION - 2),))
    database.execute("CREATE TABLE told (version)")
    assert run(database, ours.upgrade()) == VERSION
    assert database.execute("SELECT version FROM told").fetchall() == [(n,) for n in sorted(steps)]
    assert run(database, ours.version()) == VERSION


def test_a_newer_version_is_left_alone(database: sqlite3.Connection) -> None:
    ours = schema({})
    run(database, ours.upgrade())
    database.execute("UPDATE gnl_meta SET value = '99'")
    assert run(database, ours.upgrade()) == 99
    assert run(database, ours.version()) == 99
