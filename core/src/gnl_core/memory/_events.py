"""The rules of the event log in plain Python: the reference for every other store.

One lock makes each operation atomic, as in `_jobs`. Everything is committed when it is appended,
so every event has its position at once.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery, Event
from gnl_core.spi.event_values import (
    LAST_POSITION,
    Appended,
    ConsumerRecord,
    DeadEvent,
    DeadPage,
    Delivered,
    DeliveryState,
    Edge,
    EventHold,
    EventOutcome,
    EventSettlement,
    KnownEvent,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)
from gnl_core.spi.job_values import Duration, Extension, HoldState, Instant

_Name = tuple[str, str | None, str]


class EventTable:
    """All events and consumers of one memory store, shared by its handles."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now = now
        self._lock = threading.RLock()
        self._settled_at: Instant = 0  # one instant for all outcomes of a call
        self._seq = itertools.count(1)
        self._token = itertools.count(1)
        self._number = itertools.count(1)
        self._logs: dict[str, list[Event]] = {}
        self._last: dict[str, int] = {}
        self._by_id: dict[_Name, Event] = {}
        self._consumers: dict[tuple[str, str], Consumer] = {}

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        with self._lock:
            known = [self._by_id.get((e.topic, e.org_id, e.id)) for e in events]
            created = [new for new, old in zip(events, known, strict=True) if old is None]
            if max_depth is not None:
                refused = self._too_deep(created, max_depth)
                if refused is not None:
                    return refused
            now = self._now()
            for new in created:
                self._create(new, now)
            return Appended(tuple(_content(old) for old in known))

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
        with self._lock:
            consumer = self._consumers.get((topic, name)) or self._register(topic, name, start)
            now = self._now()
            grants = consumer.deliver(
                limit,
                now,
                lambda: next(self._token),
                ttl=ttl,
                max_attempts=max_attempts,
                by_key=by_key,
            )
            return Delivered(tuple(grants), consumer.next_due(now, by_key=by_key))

    def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        with self._lock:
            expires_at = self._now() + ttl
            return tuple(self._extend(hold, expires_at) for hold in holds)

    def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        with self._lock:
            self._settled_at = self._now()
            return tuple(EventSettlement(self._settle(one)) for one in outcomes)

    def dead(self, topic: str, name: str, position: int | None, limit: int) -> DeadPage:
        with self._lock:
            consumer = self._consumers.get((topic, name))
            dead = [] if consumer is None else consumer.quarantined()
            rest = [d for d in dead if d.position > (position or 0)]
            page = tuple(_dead_event(d) for d in rest[:limit])
            return DeadPage(page, page[-1].position if len(rest) > limit else None)

    def release(self, topic: str, name: str, org_id: str | None, id: str) -> DeliveryState | None:
        with self._lock:
            consumer = self._consumers.get((topic, name))
            event = self._by_id.get((topic, org_id, id))
            if consumer is None or event is None:
                return None
            found = consumer.state_of(event)
            if found is DeliveryState.QUARANTINED:
                consumer.release(event, self._now())
            return found

    def consumers(self, topic: str | None) -> tuple[ConsumerRecord, ...]:
        with self._lock:
            return tuple(
                consumer.record()
                for (of, _), consumer in sorted(self._consumers.items())
                if topic is None or of == topic
            )

    def topics(self) -> tuple[TopicRecord, ...]:
        with self._lock:
            names = {topic for topic, log in self._logs.items() if log}
            names |= {topic for topic, _ in self._consumers}
            return tuple(
                TopicRecord(name, len(self._logs.get(name, ())), self._last.get(name, 0))
                for name in sorted(names)
            )

    def rewind(self, topic: str, name: str, start: Start) -> bool:
        with self._lock:
            consumer = self._consumers.get((topic, name))
            if consumer is not None:
                consumer.rewind(self._position_of(topic, start))
            return consumer is not None

    def remove(self, topic: str, name: str) -> bool:
        with self._lock:
            return self._consumers.pop((topic, name), None) is not None

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        with self._lock:
            latest = None if older_than is None else self._now() - older_than
            doomed = [
                event
                for name, log in sorted(self._logs.items())
                if topic is None or name == topic
                for event in log
                if self._may_go(event, latest)
            ][:limit]
            for event in doomed:
                self._logs[event.new.topic].remove(event)
                del self._by_id[event.new.topic, event.new.org_id, event.new.id]
            return len(doomed)

    # The log

    def _create(self, new: NewEvent, now: Instant) -> None:
        position = self._last[new.topic] = self._last.get(new.topic, 0) + 1
        event = Event(next(self._seq), position, new, now)
        self._logs.setdefault(new.topic, []).append(event)
        self._by_id[new.topic, new.org_id, new.id] = event

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        for topic, org_id in dict.fromkeys((new.topic, new.org_id) for new in created):
            new = sum((one.topic, one.org_id) == (topic, org_id) for one in created)
            reaches = [c.reach for (of, _), c in self._consumers.items() if of == topic]
            floor = min(reaches, default=0)
            depth = sum(
                event.new.org_id == org_id and event.position > floor
                for event in self._logs.get(topic, ())
            )
            if depth + new > limit:
                return TopicRefused(topic, org_id, depth, new, limit)
        return None

    def _may_go(self, event: Event, latest: Instant | None) -> bool:
        topic = event.new.topic
        consumers = [c for (of, _), c in self._consumers.items() if of == topic]
        if latest is None and not consumers:
            return False
        passed = all(c.state_of(event) is DeliveryState.ACKED for c in consumers)
        return passed and (latest is None or event.emitted_at <= latest)

    # Consumers

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        log = self._logs.setdefault(topic, [])
        reach = self._position_of(topic, start)
        consumer = Consumer(next(self._number), topic, name, log, reach)
        self._consumers[topic, name] = consumer
        return consumer

    def _position_of(self, topic: str, start: Start) -> int:
        if start is Edge.EARLIEST:
            return 0
        if start is Edge.LATEST:
            return self._last.get(topic, 0)
        return min(start, LAST_POSITION)

    def _held(self, hold: EventHold) -> tuple[Consumer, Delivery] | None:
        for consumer in self._consumers.values():
            if consumer.number == hold.consumer:
                delivery = consumer.held(hold)
                return None if delivery is None else (consumer, delivery)
        return None

    def _extend(self, hold: EventHold, expires_at: Instant) -> Extension:
        held = self._held(hold)
        if held is None:
            return Extension(HoldState.LOST, None)
        held[1].expires_at = expires_at
        return Extension(HoldState.KEPT, expires_at)

    def _settle(self, outcome: EventOutcome) -> DeliveryState | None:
        held = self._held(outcome.hold)
        if held is None:
            return None
        consumer, delivery = held
        return consumer.settle(delivery, outcome.verdict, self._settled_at)


def _content(event: Event | None) -> KnownEvent | None:
    return None if event is None else KnownEvent(event.new.payload, event.new.key)


def _dead_event(delivery: Delivery) -> DeadEvent:
    event = delivery.event
    return DeadEvent(
        position=event.position,
        id=event.new.id,
        org_id=event.new.org_id,
        key=event.new.key,
        payload=event.new.payload,
        attempts=delivery.attempts,
        error=delivery.error,
        emitted_at=event.emitted_at,
        quarantined_at=delivery.quarantined_at,
    )
