"""The tables of a SQL store, described once.

A row of ``gnl_jobs`` never changes. In which of ``gnl_ready``, ``gnl_delayed``, ``gnl_held``
and ``gnl_finished`` its ``seq`` stands besides is the job's state. Instants and durations are
microseconds. ``org`` is ``''`` for jobs without organization.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.types import TypeEngine

VERSION = 2
"""The version of the tables that this library reads and writes."""

# SQLite makes only a column declared INTEGER the row's own key.
_NUMBER: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")
# Byte for byte: SQLite's default collation does that, PostgreSQL's has to be named.
_TEXT: TypeEngine[str] = Text(collation="C").with_variant(Text(), "sqlite")


def _number(name: str, *, key: bool = False, null: bool = False) -> Column[int]:
    return Column(name, _NUMBER, primary_key=key, nullable=null, autoincrement=False)


def _text(name: str, *, key: bool = False, null: bool = False) -> Column[str]:
    return Column(name, _TEXT, primary_key=key, nullable=null)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean(create_constraint=False), nullable=False)


class Tables:
    """All tables, in `schema` if given. `jobs_extra` are a dialect's own columns of gnl_jobs.

    The same instance serves to create the tables and to build statements.
    """

    def __init__(self, schema: str | None = None, *, jobs_extra: Sequence[Column[object]] = ()):
        self.metadata = MetaData(schema=schema)
        self.jobs = self._jobs(jobs_extra)
        self.ready = self._ready()
        self.delayed = self._delayed()
        self.held = self._held()
        self.finished = self._finished()
        self.failures = self._failures()
        self.lanes = self._lanes()
        self.meta = self._table("gnl_meta", _text("name", key=True), _text("value"))

    def create(self, dialect: Dialect, *, without: Sequence[str] = ()) -> list[str]:
        """The statements that create all tables and indexes, except indexes named `without`."""
        statements: list[str] = []
        for table in self.metadata.sorted_tables:
            statements.append(str(CreateTable(table).compile(dialect=dialect)).strip())
            statements += [
                str(CreateIndex(index).compile(dialect=dialect)).strip()
                for index in sorted(table.indexes, key=lambda index: str(index.name))
                if index.name not in without
            ]
        return statements

    def _table(self, name: str, *parts: Column[int] | Column[str] | Column[bool]) -> Table:
        # Keyed by its primary key alone: no second tree beside it.
        return Table(name, self.metadata, *parts, sqlite_with_rowid=False)

    def _jobs(self, extra: Sequence[Column[object]]) -> Table:
        table = Table(
            "gnl_jobs",
            self.metadata,
            Column("seq", _NUMBER, Identity(), primary_key=True),
            _text("org"),
            _text("id"),
            _text("type"),
            _text("payload"),
            _number("max_attempts", null=True),
            _number("enqueued_at"),
            *extra,
            UniqueConstraint("org", "id", name="gnl_jobs_id"),
        )
        Index("gnl_jobs_listing", table.c.org, table.c.seq)
        return table

    def _ready(self) -> Table:
        """Jobs that wait and are due: those that a claim can grant."""
        return self._table(
            "gnl_ready",
            _text("org", key=True),
            _text("type", key=True),
            _number("seq", key=True),
            _number("attempts"),
            _number("due_at"),
            _flag("reclaimed"),
            _text("error", null=True),
        )

    def _delayed(self) -> Table:
        """Jobs that wait and were not due when they came here."""
        table = Table(
            "gnl_delayed",
            self.metadata,
            _number("seq", key=True),
            _text("org"),
            _text("type"),
            _number("due_at"),
            _number("attempts"),
            _flag("reclaimed"),
            _text("error", null=True),
        )
        Index("gnl_delayed_due", table.c.type, table.c.due_at, table.c.seq)
        Index("gnl_delayed_org", table.c.org)
        return table

    def _held(self) -> Table:
        """Jobs under a lease. `budget` is the number of attempts they were granted with."""
        table = Table(
            "gnl_held",
            self.metadata,
            _number("seq", key=True),
            _number("token"),
            _text("org"),
            _text("type"),
            _text("worker"),
            _number("attempts"),
            _number("budget"),
            _number("granted_at"),
            _number("due_at"),
            _number("expires_at"),
            _flag("canceled"),
            _text("error", null=True),
        )
        Index("gnl_held_expires", table.c.expires_at)
        return table

    def _finished(self) -> Table:
        table = Table(
            "gnl_finished",
            self.metadata,
            _number("seq", key=True),
            _text("org"),
            _text("state"),
            _text("result", null=True),
            _text("error", null=True),
            _number("attempts"),
            _number("finished_at"),
        )
        Index("gnl_finished_at", table.c.finished_at, table.c.seq)
        return table

    def _failures(self) -> Table:
        """Failed attempts; `n` counts those of one job, across its revivals."""
        return self._table(
            "gnl_failures",
            _number("seq", key=True),
            _number("n", key=True),
            _number("attempt"),
            _text("error"),
            _number("failed_at"),
        )

    def _lanes(self) -> Table:
        """Pairs of lane and type that have ready jobs, with their turn.

        No ready job of the pair has a `seq` below `head`: a claim may begin its scan there.
        """
        table = self._table(
            "gnl_lanes",
            _text("org", key=True),
            _text("type", key=True),
            _number("turn"),
            Column("head", _NUMBER, nullable=False, server_default=text("0")),
        )
        Index("gnl_lanes_turn", table.c.type, table.c.turn)
        return table
