"""Stores that append what they should not, or forget what they should keep."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Event
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.spi import (
    Appended,
    Delivered,
    Duration,
    KnownEvent,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)


@breaks("log.once", "answer when e1 is appended again")
class ForgetsIds(EventTable):
    """Appends an id as often as it comes."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        self._by_id.clear()
        return super().append(events, max_depth)


@breaks("log.once", "calls that say that they appended")
class LooksThenAppends(MemoryEvents):
    """Looks whether an id is there, and appends it some time later."""

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        found = self._table._by_id
        new = all((one.topic, one.org_id, one.id) not in found for one in events)
        await asyncio.sleep(0)
        if new:
            for one in events:
                found.pop((one.topic, one.org_id, one.id), None)
        return await super().append(events, max_depth=max_depth, connection=connection)


@breaks("log.known", "the events as they are kept")
class AppendReplaces(EventTable):
    """Takes the content that came last."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        answer = super().append(events, max_depth)
        for one in events:
            self._by_id[one.topic, one.org_id, one.id].new = one
        return answer


@breaks("log.known", "answers: expected")
class AnswersNewOnesFirst(EventTable):
    """Answers for the new events of a call, then for those it knew."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        answer = super().append(events, max_depth)
        if isinstance(answer, Appended):
            known = sorted(answer.known, key=lambda one: one is not None)
            return Appended(tuple(known))
        return answer


@breaks("log.order", "the order of handing out")
class AppendsBackwards(EventTable):
    """Gives the last event of a call the first position."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        answer = super().append(events[::-1], max_depth)
        return Appended(answer.known[::-1]) if isinstance(answer, Appended) else answer


class _OneByOne(EventTable):
    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        known: list[KnownEvent | None] = []
        for one in events:
            answer = super().append([one], max_depth)
            if isinstance(answer, TopicRefused):
                return answer
            known += answer.known
        return Appended(tuple(known))


@breaks("log.atomic", "the log after a refused call")
@breaks("log.depth", "answer to 41 events more")
class WritesWhatFits(_OneByOne):
    """Appends the events of a call until the topic is full."""


@breaks("log.atomic", "events in the log while 400 were appended")
@breaks("log.atomic", "a call of 200 that was canceled left")
class RowByRow(MemoryEvents):
    """Appends each event of a call for itself."""

    pause = 0.0

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        known: list[KnownEvent | None] = []
        for one in events:
            answer = await super().append([one], max_depth=max_depth, connection=connection)
            if isinstance(answer, TopicRefused):
                return answer
            known += answer.known
            await asyncio.sleep(self.pause)
        return Appended(tuple(known))


@breaks("log.bulk", "events in the log: expected 12000, got 10000")
class TakesTenThousand(EventTable):
    """Appends the first ten thousand events of a call, and says nothing of the rest."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        answer = super().append(events[:10_000], max_depth)
        if isinstance(answer, Appended):
            return Appended(answer.known + (None,) * (len(events) - len(answer.known)))
        return answer


@breaks("log.depth", "an append was refused")
class DepthOfTheWholeLog(EventTable):
    """Counts events that every consumer has been handed."""

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        consumers, self._consumers = self._consumers, {}
        try:
            return super()._too_deep(created, limit)
        finally:
            self._consumers = consumers


@breaks("log.depth", "with one consumer 6 behind")
class DepthOfTheFastest(EventTable):
    """Counts what the fastest consumer has not been handed."""

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        consumers = self._consumers
        reaches = sorted(consumers.items(), key=lambda item: item[1].reach)
        self._consumers = dict(reaches[-1:])
        try:
            return super()._too_deep(created, limit)
        finally:
            self._consumers = consumers


@breaks("log.depth", "an append was refused: TopicRefused(topic='news', org_id=None, depth=2")
class DepthOfEveryOrganization(EventTable):
    """Counts a topic's events, whoever's they are."""

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        for topic in dict.fromkeys(one.topic for one in created):
            new = sum(one.topic == topic for one in created)
            depth = len(self._logs.get(topic, ()))
            if depth + new > limit:
                return TopicRefused(topic, None, depth, new, limit)
        return None


class _OtherIds(EventTable):
    """Knows events by other names than their own."""

    def called(self, event: NewEvent) -> NewEvent:
        """The event with the names it is known by."""
        raise NotImplementedError

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        known: list[KnownEvent | None] = []
        for one in events:
            other = self.called(one)
            name = other.topic, other.org_id, other.id
            if name in self._by_id:
                old = self._by_id[name].new
                known.append(KnownEvent(old.payload, old.key))
                continue
            super().append([one], None)
            self._by_id[name] = self._logs[one.topic][-1]
            known.append(None)
        return Appended(tuple(known))


@breaks("log.names", "events of similar names")
class IgnoresCase(_OtherIds):
    """Takes `A` for `a`."""

    def called(self, event: NewEvent) -> NewEvent:
        return replace(event, id=event.id.lower())


@breaks("log.names", "events of topic 'a'")
class TrimsTopics(EventTable):
    """Takes `a` with a space for `a`, as a name of a topic."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        trimmed = [replace(one, topic=one.topic.rstrip() or one.topic) for one in events]
        return super().append(trimmed, max_depth)


@breaks("log.names", "events of similar keys")
class TrimsKeys(Consumer):
    """Takes `a` with a space for `a`, as a key."""

    def _waits_for_key(self, event: Event) -> bool:
        key = (event.new.key or "").strip()
        others = [d.event.new.key or "" for d in self._deliveries.values() if d.event is not event]
        return any(other.strip() == key for other in others)


@breaks("log.topics", "answers for one id in six places")
class IdsAcrossTopics(_OtherIds):
    """Takes an id for the same in every topic."""

    def called(self, event: NewEvent) -> NewEvent:
        return replace(event, topic="any")


@breaks("log.topics", "answers for one id in six places")
class IdsAcrossOrganizations(_OtherIds):
    """Takes an id for the same in every organization."""

    def called(self, event: NewEvent) -> NewEvent:
        return replace(event, org_id=None)


@breaks("log.topics", "what is owed in the topic where it was acked")
class ConsumersAcrossTopics(EventTable):
    """Counts a consumer by its name alone."""

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
        answer = super().deliver(
            topic, name, limit, ttl, max_attempts=max_attempts, start=start, by_key=by_key
        )
        mine = self._consumers[topic, name]
        for (_, other), consumer in self._consumers.items():
            if other == name and consumer is not mine:
                consumer._deliveries.update(mine._deliveries)
        return answer


@breaks("log.payload", "event 2: expected")
class TrimsPayloads(EventTable):
    """Takes the blanks at both ends off a payload."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        trimmed = [replace(one, payload=one.payload.strip()) for one in events]
        return super().append(trimmed, max_depth)


@breaks("log.payload", "a payload of one MiB came back changed")
class CutsAt64K(EventTable):
    """Cuts a payload off, as some columns do."""

    def append(self, events: Sequence[NewEvent], max_depth: int | None) -> Appended | TopicRefused:
        cut = [replace(one, payload=one.payload[:65_535]) for one in events]
        return super().append(cut, max_depth)


@breaks("log.counted", "topics: expected")
class TopicsInAnyOrder(EventTable):
    """Lists topics in the order of their last names."""

    def topics(self) -> tuple[TopicRecord, ...]:
        return super().topics()[::-1]


@breaks("log.counted", "topics of an empty log")
class CountsWhatWasPruned(EventTable):
    """Takes the last position for a count."""

    def topics(self) -> tuple[TopicRecord, ...]:
        return tuple(TopicRecord(one.topic, one.last, one.last) for one in super().topics())
