"""The tables of events: topics, their logs, consumers, and what these were handed and owe.

A row of ``gnl_events`` never changes. A row of ``gnl_deliveries`` is there from an event's first
handing out to a consumer (or its passing over) until it is acked, so there is never one for each
event and consumer.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Index, MetaData, Table, UniqueConstraint, and_

from gnl_store_sql.columns import flag, identity, number, text

HELD: Final = "held"
BACK: Final = "back"
"""Parked, because it was given back or has to wait for its key."""
RETRY: Final = "retry"
"""Parked until it is due."""
QUARANTINED: Final = "quarantined"


def event_table(metadata: MetaData) -> Table:
    """Events as they were appended."""
    return Table(
        "gnl_events",
        metadata,
        identity("seq"),
        text("topic"),
        text("org"),
        text("id"),
        text("key", null=True),
        text("payload"),
        number("emitted_at"),
        UniqueConstraint("topic", "org", "id", name="gnl_events_id"),
        # A number that was pruned names a run for ever.
        sqlite_autoincrement=True,
    )


def log_table(metadata: MetaData) -> Table:
    """The logs: which event has which position. `org` and `key` repeat the event's."""
    table = Table(
        "gnl_log",
        metadata,
        text("topic", key=True),
        number("position", key=True),
        number("seq"),
        text("org"),
        text("key", null=True),
        sqlite_with_rowid=False,
    )
    Index("gnl_log_seq", table.c.seq, unique=True)
    Index("gnl_log_org", table.c.topic, table.c.org, table.c.position)
    return table


def topic_table(metadata: MetaData) -> Table:
    """The last position that was given in each topic."""
    return Table(
        "gnl_topics", metadata, text("topic", key=True), number("last"), sqlite_with_rowid=False
    )


def consumer_table(metadata: MetaData) -> Table:
    """Consumers; `retried_last` says what was handed out in turn before."""
    return Table(
        "gnl_consumers",
        metadata,
        identity("number"),
        text("topic"),
        text("name"),
        number("reach"),
        number("rewinds"),
        flag("retried_last"),
        UniqueConstraint("topic", "name", name="gnl_consumers_name"),
        # A hold names a consumer by its number, so that must never come again.
        sqlite_autoincrement=True,
    )


def delivery_table(metadata: MetaData) -> Table:
    """What consumers were handed and have not acked.

    `at` is when something happens to the row by itself: the lease of a held one ends, a retry
    falls due; else 0. `token` is 0 unless it is held. `blocked` says that one of the same
    organization and key, with a smaller position and not quarantined, was there when the row or
    that one last changed.
    """
    table = Table(
        "gnl_deliveries",
        metadata,
        number("consumer", key=True),
        number("position", key=True),
        number("seq"),
        text("org"),
        text("key", null=True),
        text("state"),
        flag("blocked"),
        number("at"),
        number("due_at"),
        number("attempts"),
        number("token"),
        number("budget", null=True),
        text("worker", null=True),
        flag("reclaimed"),
        text("error"),
        number("quarantined_at", null=True),
    )
    c = table.c
    # The one index for every look, so that none ever walks over rows in another state. The state
    # comes first, or a planner without statistics might take this index for single rows too.
    Index("gnl_deliveries_next", c.state, c.consumer, c.blocked, c.at, c.position)
    in_line = and_(c.key.is_not(None), c.state != QUARANTINED)
    Index(
        "gnl_deliveries_line",
        c.consumer,
        c.org,
        c.key,
        c.position,
        postgresql_where=in_line,
        sqlite_where=in_line,
    )
    return table
