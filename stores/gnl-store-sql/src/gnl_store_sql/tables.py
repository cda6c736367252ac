"""The tables of a SQL store, described once.

A row of ``gnl_jobs`` never changes. In which of ``gnl_ready``, ``gnl_delayed``, ``gnl_held``
and ``gnl_finished`` its ``seq`` stands besides is the job's state. Instants and durations are
microseconds. ``org`` is ``''`` for jobs without organization. For events see `event_tables`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Column, Index, MetaData, Table, UniqueConstraint
from sqlalchemy import text as literal
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from gnl_store_sql.columns import NUMBER, flag, identity, number, text
from gnl_store_sql.event_tables import (
    consumer_table,
    delivery_table,
    event_table,
    log_table,
    topic_table,
)

VERSION = 3
"""The version of the tables that this library reads and writes."""


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
        self.events = event_table(self.metadata)
        self.log = log_table(self.metadata)
        self.topics = topic_table(self.metadata)
        self.consumers = consumer_table(self.metadata)
        self.deliveries = delivery_table(self.metadata)
        self.meta = self._table("gnl_meta", text("name", key=True), text("value"))

    @property
    def of_events(self) -> tuple[Table, ...]:
        """Those that came with version 3."""
        return (self.events, self.log, self.topics, self.consumers, self.deliveries)

    def create(
        self,
        dialect: Dialect,
        *,
        without: Sequence[str] = (),
        only: Sequence[Table] | None = None,
    ) -> list[str]:
        """The statements that create the tables (all but for `only`) and their indexes.

        Indexes named `without` are left out.
        """
        statements: list[str] = []
        for table in self.metadata.sorted_tables if only is None else only:
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
            identity("seq"),
            text("org"),
            text("id"),
            text("type"),
            text("payload"),
            number("max_attempts", null=True),
            number("enqueued_at"),
            *extra,
            UniqueConstraint("org", "id", name="gnl_jobs_id"),
        )
        Index("gnl_jobs_listing", table.c.org, table.c.seq)
        return table

    def _ready(self) -> Table:
        """Jobs that wait and are due: those that a claim can grant."""
        return self._table(
            "gnl_ready",
            text("org", key=True),
            text("type", key=True),
            number("seq", key=True),
            number("attempts"),
            number("due_at"),
            flag("reclaimed"),
            text("error", null=True),
        )

    def _delayed(self) -> Table:
        """Jobs that wait and were not due when they came here."""
        table = Table(
            "gnl_delayed",
            self.metadata,
            number("seq", key=True),
            text("org"),
            text("type"),
            number("due_at"),
            number("attempts"),
            flag("reclaimed"),
            text("error", null=True),
        )
        Index("gnl_delayed_due", table.c.type, table.c.due_at, table.c.seq)
        Index("gnl_delayed_org", table.c.org)
        return table

    def _held(self) -> Table:
        """Jobs under a lease. `budget` is the number of attempts they were granted with."""
        table = Table(
            "gnl_held",
            self.metadata,
            number("seq", key=True),
            number("token"),
            text("org"),
            text("type"),
            text("worker"),
            number("attempts"),
            number("budget"),
            number("granted_at"),
            number("due_at"),
            number("expires_at"),
            flag("canceled"),
            text("error", null=True),
        )
        Index("gnl_held_expires", table.c.expires_at)
        return table

    def _finished(self) -> Table:
        table = Table(
            "gnl_finished",
            self.metadata,
            number("seq", key=True),
            text("org"),
            text("state"),
            text("result", null=True),
            text("error", null=True),
            number("attempts"),
            number("finished_at"),
        )
        Index("gnl_finished_at", table.c.finished_at, table.c.seq)
        return table

    def _failures(self) -> Table:
        """Failed attempts; `n` counts those of one job, across its revivals."""
        return self._table(
            "gnl_failures",
            number("seq", key=True),
            number("n", key=True),
            number("attempt"),
            text("error"),
            number("failed_at"),
        )

    def _lanes(self) -> Table:
        """Pairs of lane and type that have ready jobs, with their turn.

        No ready job of the pair has a `seq` below `head`: a claim may begin its scan there.
        """
        table = self._table(
            "gnl_lanes",
            text("org", key=True),
            text("type", key=True),
            number("turn"),
            Column("head", NUMBER, nullable=False, server_default=literal("0")),
        )
        Index("gnl_lanes_turn", table.c.type, table.c.turn)
        return table
