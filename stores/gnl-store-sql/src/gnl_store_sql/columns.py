"""Columns of the tables, typed alike on every database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Identity,
    Integer,
    Text,
    literal_column,
)
from sqlalchemy.types import TypeEngine

# SQLite makes only a column declared INTEGER the row's own key.
NUMBER: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
# Byte for byte: SQLite's default collation does that, PostgreSQL's has to be named.
_TEXT: TypeEngine[str] = Text(collation="C").with_variant(Text(), "sqlite")


def identity(name: str) -> Column[int]:
    """A number that the database gives out; the table's key."""
    return Column(name, NUMBER, Identity(), primary_key=True)


def number(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    """A whole number: an instant, a duration, a count."""
    return Column(name, NUMBER, primary_key=key, nullable=null, autoincrement=False)


def text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    """Text, compared byte for byte."""
    return Column(name, _TEXT, primary_key=key, nullable=null)


def flag(name: str) -> Column[bool]:
    """Yes or no."""
    return Column(name, Boolean(create_constraint=False), nullable=False)


def constant(value: str | int) -> ColumnElement[Any]:
    """A constant that stands in the statement's text, where a planner sees it."""
    return literal_column(f"'{value}'" if isinstance(value, str) else str(value))
