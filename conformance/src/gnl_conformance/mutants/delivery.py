"""Stores that hand events to the wrong ones, or say the wrong things about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.memory._store import _Data
from gnl_core.spi import (
    Ack,
    Delivered,
    DeliveryState,
    Duration,
    Edge,
    EventGrant,
    EventVerdict,
    Instant,
    Start,
)


class _Otherwise(EventTable):
    """A table whose deliveries ask for something else."""

    def topic_and_name(self, topic: str, name: str) -> tuple[str, str]:
        """Which consumer is meant."""
        return topic, name

    def start_of(self, topic: str, name: str, start: Start) -> Start:
        """Where it begins."""
        return start

    def deliver(
        self,
        topic: str,
        name: str,
        limit: int,
        ttl: Duration,
        *,
        max_attempts: int | None,
        start: Start,
        by_key: bool,
    ) -> Delivered:
        start = self.start_of(topic, name, start)
        topic, name = self.topic_and_name(topic, name)
        return super().deliver(
            topic, name, limit, ttl, max_attempts=max_attempts, start=start, by_key=by_key
        )


@breaks("delivery.each", "events handed out to 'b'")
class OneMarkerForAll(_Otherwise):
    """Keeps one marker for all consumers of a topic."""

    def topic_and_name(self, topic: str, name: str) -> tuple[str, str]:
        return topic, next((of for where, of in self._consumers if where == topic), name)


@breaks("delivery.shared", "events that three handles were handed in turn")
@breaks("delivery.shared", "events handed out by twelve first calls at once")
class EachHandleIsAConsumer(MemoryEvents):
    """Takes each process for a consumer of its own."""

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
        return await super().deliver(
            topic,
            f"{consumer} {id(self)}",
            limit,
            ttl,
            worker,
            max_attempts=max_attempts,
            start=start,
            by_key=by_key,
        )


class _Limited(Consumer):
    def deliver(
        self,
        limit: int,
        now: Instant,
        token: Callable[[], int],
        *,
        ttl: Duration,
        max_attempts: int | None,
        by_key: bool,
    ) -> list[EventGrant]:
        return super().deliver(
            self.limit_of(limit), now, token, ttl=ttl, max_attempts=max_attempts, by_key=by_key
        )

    def limit_of(self, limit: int) -> int:
        """How many events a delivery holds at the most."""
        return limit


@breaks("delivery.limit", "events of a delivery of up to 20")
class TenAtMost(_Limited):
    """Hands out ten events at most."""

    def limit_of(self, limit: int) -> int:
        return min(limit, 10)


@breaks("delivery.limit", "events of a delivery of up to 1")
class OneMore(_Limited):
    """Hands out one event more than it was asked for."""

    def limit_of(self, limit: int) -> int:
        return limit + 1


@breaks("delivery.start", "events from Edge.LATEST")
class AlwaysFromTheBeginning(_Otherwise):
    """Begins with the first event, wherever a consumer wants to begin."""

    def start_of(self, topic: str, name: str, start: Start) -> Start:
        return Edge.EARLIEST


@breaks("delivery.start", "events from 3")
class BeginsWithItsStart(_Otherwise):
    """Hands out the event at the position behind which a consumer wants to begin."""

    def start_of(self, topic: str, name: str, start: Start) -> Start:
        return start if isinstance(start, Edge) else start - 1


@breaks("delivery.start", "the first since the start")
class RegistersWithTheFirstAck(_Otherwise):
    """Forgets where a consumer began as long as it has not been handed anything."""

    def start_of(self, topic: str, name: str, start: Start) -> Start:
        known = self._consumers.get((topic, name))
        if known is not None and not known._deliveries:
            known.reach = max(known.reach, self._position_of(topic, start))
        return start


@breaks("delivery.acked", "handed out again after acks out of order")
class TheMarkerJumps(Consumer):
    """Takes all events up to an acked one for acked."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        if isinstance(verdict, Ack):
            for position in [p for p in self._deliveries if p < delivery.position]:
                del self._deliveries[position]
        return super().settle(delivery, verdict, now)


@breaks("delivery.acked", "handed out after all were acked")
class AcksAreLost(Consumer):
    """Takes the ack, and hands the event out again when its lease runs out."""

    def settle(self, delivery: Delivery, verdict: EventVerdict, now: Instant) -> DeliveryState:
        if isinstance(verdict, Ack):
            return DeliveryState.ACKED
        return super().settle(delivery, verdict, now)


class _OtherGrant(Consumer):
    def _grant(
        self,
        delivery: Delivery,
        now: Instant,
        token: int,
        ttl: Duration,
        max_attempts: int | None,
    ) -> EventGrant:
        return self.said(super()._grant(delivery, now, token, ttl, max_attempts))

    def said(self, grant: EventGrant) -> EventGrant:
        """What is said of a grant."""
        return grant


@breaks("delivery.grant", "emitted at")
class EmittedWhenItIsGranted(_OtherGrant):
    """Says that an event was emitted when it was handed out."""

    def said(self, grant: EventGrant) -> EventGrant:
        return replace(grant, emitted_at=grant.granted_at)


@breaks("delivery.grant", "the event as granted")
class HidesTheKey(_OtherGrant):
    """Does not say what an event is about."""

    def said(self, grant: EventGrant) -> EventGrant:
        return replace(grant, key=None)


@breaks("delivery.run", "different runs among")
class RunIsTheId(_OtherGrant):
    """Takes the id for a run's, so that two organizations and consumers share it."""

    def said(self, grant: EventGrant) -> EventGrant:
        return replace(grant, run_id=grant.id)


@breaks("delivery.run", "different runs among those of five attempts")
class RunPerAttempt(_OtherGrant):
    """Begins a new run with every attempt."""

    def said(self, grant: EventGrant) -> EventGrant:
        return replace(grant, run_id=f"{grant.run_id}-{grant.token}")


@breaks("delivery.run", "its old run id after a rewind")
class RunSurvivesARewind(_OtherGrant):
    """Goes on with the old run after a rewind."""

    def said(self, grant: EventGrant) -> EventGrant:
        return replace(grant, run_id=grant.run_id.rpartition("-")[0])


@breaks("delivery.due", "with new events left behind")
class NothingIsEverDue(Consumer):
    """Never says when more is due."""

    def next_due(self, now: Instant, *, by_key: bool) -> Duration | None:
        return None


@breaks("delivery.due", "is due in None")
class RetriesAreNotAnnounced(Consumer):
    """Leaves retries out when it says what is due next."""

    def next_due(self, now: Instant, *, by_key: bool) -> Duration | None:
        due = super().next_due(now, by_key=by_key)
        return 0 if due == 0 else None


@breaks("delivery.due", "with all held")
class HeldEventsAreDue(Consumer):
    """Says that more is due as long as something is owed."""

    def next_due(self, now: Instant, *, by_key: bool) -> Duration | None:
        return 0 if self._deliveries else super().next_due(now, by_key=by_key)


@breaks("delivery.due", "while one is held and one waits for it")
class WaitingForAKeyIsDue(Consumer):
    """Says that more is due, which waits for something else to end."""

    def next_due(self, now: Instant, *, by_key: bool) -> Duration | None:
        return super().next_due(now, by_key=False)


class _Counting(MemoryEvents):
    """Counts a statement for each event that a consumer has failed with."""

    statements = 0

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
        found = await self.consumers(topic)
        self.statements += 1 + sum(one.parked for one in found if one.name == consumer)
        return await super().deliver(
            topic,
            consumer,
            limit,
            ttl,
            worker,
            max_attempts=max_attempts,
            start=start,
            by_key=by_key,
        )


@breaks("delivery.poll", "with 400 failed events")
class AsksEventByEvent(MemoryStore):
    """Sends a statement for every event that waits for its retry."""

    def _open(self, data: _Data) -> None:
        super()._open(data)
        self._events = self._counting = _Counting(data.events, data.wake)

    @property
    def statements(self) -> int:
        """How many statements this handle has sent."""
        return self._counting.statements
