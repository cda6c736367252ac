"""The shared tables as PostgreSQL keeps them, and how statements are written for the driver."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import BigInteger, Column, ColumnElement, Text, any_, bindparam, cast, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.dialects.postgresql.asyncpg import dialect
from sqlalchemy.types import UserDefinedType

from gnl_store_sql import SqlDialect, Tables

WITHOUT_INDEXES: Final = ("gnl_held_expires",)
"""Shared indexes that cost more here than they save: leases end by a look at all held rows."""


class _Word(UserDefinedType[str]):
    """A type that SQLAlchemy has no name for."""

    cache_ok = True

    def __init__(self, name: str) -> None:
        self.name = name

    def get_col_spec(self, **_: object) -> str:
        return self.name


def postgres_tables(schema: str) -> Tables:
    """The tables; each job also keeps the transaction that added it."""
    added_by: Column[object] = Column(
        "xact", _Word("xid8"), nullable=False, server_default=text("pg_current_xact_id()")
    )
    return Tables(schema, jobs_extra=[added_by])


def visible(tables: Tables) -> ColumnElement[bool]:
    """That the transaction which added the job had committed by the parameter ``snapshot``."""
    snapshot = cast(cast(bindparam("snapshot"), Text()), _Word("pg_snapshot"))
    return func.pg_visible_in_snapshot(tables.jobs.c.xact, snapshot)


def postgres_dialect() -> SqlDialect:
    """How statements are compiled: lists travel as arrays."""
    engine = dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy gives it no types
    return SqlDialect(engine=engine, one_of=_one_of, pack=_pack)


def _one_of(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    of = BigInteger() if isinstance(column.type, BigInteger) else Text()
    return column == any_(bindparam(name, type_=ARRAY(of)))


def _pack(values: Collection[Any]) -> object:
    return list(values)
