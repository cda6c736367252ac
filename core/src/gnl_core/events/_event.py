"""One event to emit: what users write, checked and turned into what stores append."""

from __future__ import annotations

from dataclasses import KW_ONLY

from gnl_core._value import value
from gnl_core.codec import encode
from gnl_core.ids import check_name
from gnl_core.spi import NewEvent


@value
class Event:
    """An event for `emit_many`; its fields mean what the arguments of `emit` mean."""

    topic: str
    payload: object = None
    _: KW_ONLY
    id: str | None = None
    org_id: str | None = None
    key: str | None = None


def to_new_event(event: Event, id: str) -> NewEvent:
    """`event` as stores append it, under `id` (checked already). Raises `InvalidInput`."""
    return NewEvent(
        id,
        None if event.org_id is None else check_name(event.org_id, "org_id"),
        check_name(event.topic, "topic"),
        encode(event.payload),
        None if event.key is None else check_name(event.key, "key"),
    )
