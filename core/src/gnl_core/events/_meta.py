"""What an event's handler is given beside the payload."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gnl_core._durations import to_datetime
from gnl_core.runtime import Signal
from gnl_core.spi import EventGrant


@dataclass(frozen=True, slots=True)
class EventMeta:
    """One attempt at an event, as its handler sees it. `signal` counts for neither == nor repr.

    `position` is the event's place in the log of its topic. `run_id` names the run: the same for
    all attempts of this consumer at this event until it is rewound, never that of another.
    `max_attempts` is None without limit.
    """

    id: str
    topic: str
    consumer: str
    attempt: int
    max_attempts: int | None
    position: int
    emitted_at: datetime
    org_id: str | None
    key: str | None
    run_id: str
    signal: Signal = field(compare=False, repr=False, default_factory=Signal)
    """Says when and why this attempt may not go on."""


def to_meta(grant: EventGrant, consumer: str, signal: Signal) -> EventMeta:
    """What the handler of `grant` sees."""
    return EventMeta(
        id=grant.id,
        topic=grant.topic,
        consumer=consumer,
        attempt=grant.attempt,
        max_attempts=grant.max_attempts,
        position=grant.position,
        emitted_at=to_datetime(grant.emitted_at),
        org_id=grant.org_id,
        key=grant.key,
        run_id=grant.run_id,
        signal=signal,
    )
