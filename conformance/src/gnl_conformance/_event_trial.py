"""The verbs that cases about events need: a mix-in of `Trial`."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance._event_recorder import RecordedEvents
from gnl_conformance._judging import Judging
from gnl_conformance._recorder import RecordedStore
from gnl_core.spi import (
    SECOND,
    Ack,
    Appended,
    ConsumerRecord,
    DeadEvent,
    DeliveryState,
    Duration,
    Edge,
    EventGrant,
    EventOutcome,
    EventStore,
    EventVerdict,
    NewEvent,
    Start,
)

TOPIC = "news"
CONSUMER = "reader"
_LONG: Duration = 3_600 * SECOND


def event(
    id: str,
    org: str | None = None,
    topic: str = TOPIC,
    payload: str = "null",
    *,
    key: str | None = None,
) -> NewEvent:
    """An event to append, with everything but its id left at a default."""
    return NewEvent(id, org, topic, payload, key)


def events(count: int, prefix: str = "e", topic: str = TOPIC) -> list[NewEvent]:
    """`count` events of one topic, with numbered ids: e1, e2 and so on."""
    return [event(f"{prefix}{n}", topic=topic) for n in range(1, count + 1)]


def event_ids(found: Sequence[EventGrant] | Sequence[DeadEvent]) -> list[str]:
    """The ids, in order."""
    return [one.id for one in found]


class EventTrial(Judging):
    """What a trial can do with events."""

    @property
    def events(self) -> RecordedEvents:
        """The event log of the store under trial."""
        return self.store.events

    async def emit(self, *new: NewEvent, max_depth: int | None = None) -> Appended:
        """Append events in one call that must not be refused."""
        answer = await self.events.append(new, max_depth=max_depth)
        self.check(isinstance(answer, Appended), f"an append was refused: {answer}")
        assert isinstance(answer, Appended)
        return answer

    async def deliver(
        self,
        limit: int = 1,
        consumer: str = CONSUMER,
        topic: str = TOPIC,
        *,
        ttl: Duration = _LONG,
        max_attempts: int | None = 5,
        start: Start = Edge.EARLIEST,
        by_key: bool = False,
        on: RecordedStore | None = None,
    ) -> tuple[EventGrant, ...]:
        """Have up to `limit` events handed out."""
        part: EventStore = (on or self.store).events
        delivered = await part.deliver(
            topic,
            consumer,
            limit,
            ttl,
            "w",
            max_attempts=max_attempts,
            start=start,
            by_key=by_key,
        )
        return delivered.grants

    async def deliver_one(
        self,
        consumer: str = CONSUMER,
        topic: str = TOPIC,
        *,
        ttl: Duration = _LONG,
        max_attempts: int | None = 5,
    ) -> EventGrant:
        """Have the one event handed out that must be there."""
        found = await self.deliver(1, consumer, topic, ttl=ttl, max_attempts=max_attempts)
        self.check(len(found) == 1, "a delivery held nothing although an event was to be had")
        return found[0]

    async def end(self, grant: EventGrant, verdict: EventVerdict) -> DeliveryState | None:
        """Settle one delivery; the state that it is in afterwards."""
        (settlement,) = await self.events.settle([EventOutcome(grant.hold, verdict)])
        return settlement.state

    async def ack(self, *grants: EventGrant) -> None:
        """Settle deliveries as handled."""
        await self.events.settle([EventOutcome(grant.hold, Ack()) for grant in grants])

    async def dead(self, consumer: str = CONSUMER, topic: str = TOPIC) -> list[DeadEvent]:
        """Every quarantined event of a consumer, if there are few."""
        return list((await self.events.dead(topic, consumer, None, 1_000)).items)

    async def release(
        self, id: str, consumer: str = CONSUMER, *, org: str | None = None, topic: str = TOPIC
    ) -> DeliveryState | None:
        """Hand a quarantined event back; the state it was found in."""
        return await self.events.release(topic, consumer, org, id)

    async def owed(self, consumer: str = CONSUMER, topic: str = TOPIC) -> tuple[int, int, int, int]:
        """How many events are new, held, parked and quarantined for a consumer."""
        found = await self.record_of(consumer, topic)
        return found.lag, found.held, found.parked, found.quarantined

    async def record_of(self, consumer: str = CONSUMER, topic: str = TOPIC) -> ConsumerRecord:
        """A consumer that must be there."""
        found = [one for one in await self.events.consumers(topic) if one.name == consumer]
        self.check(len(found) == 1, f"consumer {consumer!r} is listed {len(found)} times")
        return found[0]
