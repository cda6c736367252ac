"""Delivering: one call of gnl_deliver, and rows to grants."""

from __future__ import annotations

from typing import Final

from gnl_core.spi import LAST_POSITION, Delivered, Duration, Edge, EventGrant, Start
from gnl_store_sql import Rows, event_run_id, org_name

DELIVER: Final = (
    "select * from {schema}.gnl_deliver($1::text, $2::text, $3::integer, $4::bigint, $5::text, "
    "$6::bigint, $7::bigint, $8::boolean)"
)


def reach_of(start: Start) -> int | None:
    """A start as gnl_deliver takes it; None is behind all there is."""
    if isinstance(start, Edge):
        return 0 if start is Edge.EARLIEST else None
    return min(start, LAST_POSITION)


def delivered(rows: Rows, topic: str, ttl: Duration, max_attempts: int | None) -> Delivered:
    """The answer from the rows of gnl_deliver, the last of which is no grant."""
    due_in, *_, number, now, rewinds, _ = rows[-1]
    grants = [
        EventGrant(
            consumer=number,
            position=position,
            token=token,
            id=id_,
            org_id=org_name(org),
            topic=topic,
            key=key,
            payload=payload,
            run_id=event_run_id(seq, number, rewinds),
            attempt=attempt,
            max_attempts=max_attempts,
            emitted_at=emitted_at,
            due_at=due_at,
            granted_at=now,
            expires_at=now + ttl,
            reclaimed=again,
        )
        for (
            token,
            position,
            seq,
            id_,
            org,
            key,
            payload,
            attempt,
            emitted_at,
            due_at,
            again,
        ) in rows[:-1]
    ]
    return Delivered(tuple(grants), due_in)
