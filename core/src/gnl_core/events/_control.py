"""Looking after topics, consumers and the events that failed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from gnl_core._cursor import read_cursor, write_cursor
from gnl_core._durations import Seconds, to_datetime, to_duration
from gnl_core._pages import Page, check_limit
from gnl_core.codec import Decoded, decode
from gnl_core.events._start import StartAt, to_start
from gnl_core.events._store import events_of
from gnl_core.ids import check_name
from gnl_core.spi import ConsumerRecord, DeadEvent, DeliveryState, Store, TopicRecord

PRUNE_BATCH: Final = 10_000


@dataclass(frozen=True, slots=True)
class DeadEventInfo:
    """A quarantined event; times are the store's, in UTC. `error` is the last failure's text."""

    id: str
    org_id: str | None
    key: str | None
    position: int
    attempts: int
    error: str
    emitted_at: datetime
    quarantined_at: datetime
    payload_text: str = field(repr=False)

    # Decoded on demand: one damaged row must not spoil a listing.

    @property
    def payload(self) -> Decoded:
        """What was emitted. Raises `UndecodableText` if the stored text is damaged."""
        return decode(self.payload_text)


class ReleaseAnswer(StrEnum):
    """What `retry_dead_event` found and did. True in a condition if the event was handed back."""

    RELEASED = "released"
    """It was quarantined; it is due now, with a fresh budget."""
    NOT_DEAD = "not-dead"
    """It is new, held, parked or acked; nothing was changed."""
    UNKNOWN = "unknown"
    """There is no such consumer, or no such event in its topic and organization."""

    def __bool__(self) -> bool:
        return self is ReleaseAnswer.RELEASED


async def list_dead_events(
    work: Store, topic: str, consumer: str, *, cursor: str | None = None, limit: int = 50
) -> Page[DeadEventInfo]:
    """A page of the events quarantined for one consumer, in log order, at the cost of the page.

    Raises `InvalidCursor` for a damaged cursor or one of another listing, `InvalidInput` for
    other arguments that cannot be.
    """
    topic, consumer = check_name(topic, "topic"), check_name(consumer, "consumer")
    listing = ("list_dead_events", topic, consumer)
    position = None if cursor is None else int(read_cursor(listing, cursor))
    page = await events_of(work).dead(topic, consumer, position, check_limit(limit))
    following = None if page.position is None else write_cursor(listing, str(page.position))
    return Page(tuple(map(_to_info, page.items)), following)


async def retry_dead_event(
    work: Store, topic: str, consumer: str, id: str, *, org_id: str | None = None
) -> ReleaseAnswer:
    """Hand one quarantined event back: due now, with a fresh budget, for this consumer alone."""
    found = await events_of(work).release(
        check_name(topic, "topic"),
        check_name(consumer, "consumer"),
        None if org_id is None else check_name(org_id, "org_id"),
        check_name(id, "id"),
    )
    if found is None:
        return ReleaseAnswer.UNKNOWN
    quarantined = found is DeliveryState.QUARANTINED
    return ReleaseAnswer.RELEASED if quarantined else ReleaseAnswer.NOT_DEAD


async def list_consumers(work: Store, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
    """The consumers of one topic, or of all, by topic and name, with their lag."""
    of = None if topic is None else check_name(topic, "topic")
    return await events_of(work).consumers(of)


async def list_topics(work: Store) -> tuple[TopicRecord, ...]:
    """Every topic that has events or consumers, by name."""
    return await events_of(work).topics()


async def rewind_consumer(work: Store, topic: str, consumer: str, to: StartAt) -> bool:
    """Have a consumer see everything behind `to` again; false if there is no such consumer.

    Handlers that hold such an event lose their lease. With ``"latest"`` or a position ahead of
    where it is, it skips instead.
    """
    start = to_start(to)
    return await events_of(work).rewind(
        check_name(topic, "topic"), check_name(consumer, "consumer"), start
    )


async def remove_consumer(work: Store, topic: str, consumer: str) -> bool:
    """Forget a consumer, so that no event is kept for it; false if there is none."""
    return await events_of(work).remove(
        check_name(topic, "topic"), check_name(consumer, "consumer")
    )


async def prune_events(
    work: Store, topic: str | None = None, *, older_than: Seconds | None = None
) -> int:
    """Delete events that no known consumer still owes, and return how many.

    Quarantined events are owed. With `older_than`, only events emitted at least so long ago go;
    without it, topics that have no consumer are left alone. Deletes in batches of 10,000, each
    of which is one decision.
    """
    of = None if topic is None else check_name(topic, "topic")
    age = None if older_than is None else to_duration(older_than, "older_than")
    total = 0
    while True:
        deleted = await events_of(work).prune(of, older_than=age, limit=PRUNE_BATCH)
        total += deleted
        if deleted < PRUNE_BATCH:
            return total


def _to_info(event: DeadEvent) -> DeadEventInfo:
    return DeadEventInfo(
        id=event.id,
        org_id=event.org_id,
        key=event.key,
        position=event.position,
        attempts=event.attempts,
        error=event.error,
        emitted_at=to_datetime(event.emitted_at),
        quarantined_at=to_datetime(event.quarantined_at),
        payload_text=event.payload,
    )
