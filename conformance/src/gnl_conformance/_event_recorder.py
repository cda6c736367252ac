"""Remembers the last calls on the events' part of a store."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance._answers import OF_EVENTS, answer_of
from gnl_conformance._notes import brief, new_events, note
from gnl_core.spi import (
    Appended,
    ConsumerRecord,
    DeadPage,
    Delivered,
    DeliveryState,
    Duration,
    EventHold,
    EventOutcome,
    EventSettlement,
    EventStore,
    Extension,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)


class RecordedEvents:
    """`EventStore` that writes down what was asked and answered."""

    def __init__(self, events: EventStore, notes: list[str]) -> None:
        self._events = events
        self._notes = notes

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        answer = await answer_of(
            OF_EVENTS,
            "append",
            self._events.append(events, max_depth=max_depth, connection=connection),
        )
        limit = "" if max_depth is None else f", {max_depth=}"
        bound = " in a transaction" if connection is not None else ""
        note(self._notes, f"append({new_events(events)}{limit}){bound}", answer)
        return answer

    async def deliver(
        self,
        topic: str,
        consumer: str,
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int | None,
        start: Start,
        by_key: bool = False,
    ) -> Delivered:
        answer = await answer_of(
            OF_EVENTS,
            "deliver",
            self._events.deliver(
                topic,
                consumer,
                limit,
                ttl,
                worker,
                max_attempts=max_attempts,
                start=start,
                by_key=by_key,
            ),
        )
        grants = [(g.id, f"token {g.token}", f"until {g.expires_at}") for g in answer.grants]
        call = f"deliver({topic!r}, {consumer!r}, {limit=}, {ttl=}, {max_attempts=}, {by_key=})"
        note(self._notes, call, (grants, f"next in {answer.next_due_in}"))
        return answer

    async def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        answer = await answer_of(OF_EVENTS, "extend", self._events.extend(holds, ttl))
        note(self._notes, f"extend({brief(holds)}, {ttl=})", answer)
        return answer

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        answer = await answer_of(OF_EVENTS, "settle", self._events.settle(outcomes))
        note(self._notes, f"settle({brief(outcomes)})", answer)
        return answer

    async def dead(self, topic: str, consumer: str, position: int | None, limit: int) -> DeadPage:
        answer = await answer_of(
            OF_EVENTS, "dead", self._events.dead(topic, consumer, position, limit)
        )
        note(self._notes, f"dead({topic!r}, {consumer!r}, {position=}, {limit=})", answer)
        return answer

    async def release(
        self, topic: str, consumer: str, org_id: str | None, id: str
    ) -> DeliveryState | None:
        answer = await answer_of(
            OF_EVENTS, "release", self._events.release(topic, consumer, org_id, id)
        )
        note(self._notes, f"release({topic!r}, {consumer!r}, {org_id!r}, {id!r})", answer)
        return answer

    async def consumers(self, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
        answer = await answer_of(OF_EVENTS, "consumers", self._events.consumers(topic))
        note(self._notes, f"consumers({topic!r})", answer)
        return answer

    async def topics(self) -> tuple[TopicRecord, ...]:
        answer = await answer_of(OF_EVENTS, "topics", self._events.topics())
        note(self._notes, "topics()", answer)
        return answer

    async def rewind(self, topic: str, consumer: str, start: Start) -> bool:
        answer = await answer_of(OF_EVENTS, "rewind", self._events.rewind(topic, consumer, start))
        note(self._notes, f"rewind({topic!r}, {consumer!r}, {start})", answer)
        return answer

    async def remove(self, topic: str, consumer: str) -> bool:
        answer = await answer_of(OF_EVENTS, "remove", self._events.remove(topic, consumer))
        note(self._notes, f"remove({topic!r}, {consumer!r})", answer)
        return answer

    async def prune(
        self, topic: str | None, *, older_than: Duration | None = None, limit: int = 10_000
    ) -> int:
        answer = await answer_of(
            OF_EVENTS,
            "prune",
            self._events.prune(topic, older_than=older_than, limit=limit),
        )
        note(self._notes, f"prune({topic!r}, {older_than=}, {limit=})", answer)
        return answer
