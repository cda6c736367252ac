"""Appending events: one call of gnl_append, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import Appended, KnownEvent, NewEvent, StoreRejected, TopicRefused
from gnl_store_sql import Rows, org_name, org_text

APPEND: Final = (
    "select * from {schema}.gnl_append($1::text[], $2::text[], $3::text[], $4::text[], "
    "$5::text[], $6::bigint, $7::boolean, $8::text, $9::text)"
)

APPEND_ONE: Final = (
    "select * from {schema}.gnl_append_one($1::text, $2::text, $3::text, $4::text, $5::text, "
    "$6::text)"
)


class EventBatch(NamedTuple):
    """The events of one call as gnl_append takes them."""

    topics: list[str]
    orgs: list[str]
    ids: list[str]
    keys: list[str | None]
    payloads: list[str]


def event_batch(events: Sequence[NewEvent]) -> EventBatch:
    """The columns of `events`."""
    return EventBatch(
        [event.topic for event in events],
        [org_text(event.org_id) for event in events],
        [event.id for event in events],
        [event.key for event in events],
        [event.payload for event in events],
    )


def values_of_event(event: NewEvent) -> tuple[object, ...]:
    """One event as gnl_append_one takes it."""
    return event.topic, org_text(event.org_id), event.id, event.key, event.payload


def appended(rows: Rows, count: int, max_depth: int | None) -> Appended | TopicRefused:
    """The answer for a call of `count` events."""
    known: list[KnownEvent | None] = [None] * count
    for what, place, a, b, depth, new in rows:
        if what == "deep":
            assert max_depth is not None, "only a limit refuses"
            return TopicRefused(a, org_name(b), depth, new, max_depth)
        if what == "away":
            raise StoreRejected(
                f"the connection is on another database ({a!r}) than this store: its consumers "
                "would never see these events"
            )
        known[place - 1] = KnownEvent(a, b)
    return Appended(tuple(known))
