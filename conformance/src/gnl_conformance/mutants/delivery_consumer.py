"""Stores that move, forget or count consumers wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._consumer import Consumer
from gnl_core.memory._event import Delivery, Event
from gnl_core.memory._events import EventTable
from gnl_core.spi import ConsumerRecord, Instant, Start


@breaks("delivery.rewind", "what is owed after a rewind to the beginning")
class RewindKeepsHolds(Consumer):
    """Moves the reach, and keeps every hold behind it."""

    def rewind(self, reach: int) -> None:
        self._rewinds += 1
        self.reach = reach


@breaks("delivery.rewind", "what is owed after a rewind to the middle")
class RewindForgetsAll(Consumer):
    """Forgets what lies in front of a rewind as well."""

    def rewind(self, reach: int) -> None:
        super().rewind(reach)
        self._deliveries.clear()


@breaks("delivery.rewind", "attempts then")
class RewindKeepsAttempts(Consumer):
    """Makes events new again, and goes on counting their attempts."""

    before: Mapping[int, Delivery] = {}

    def rewind(self, reach: int) -> None:
        self.before = dict(self._deliveries)
        super().rewind(reach)

    def _hand_out(self, event: Event, now: Instant) -> Delivery:
        delivery = super()._hand_out(event, now)
        if event.position in self.before:
            delivery.attempts = self.before[event.position].attempts
        return delivery


@breaks("delivery.rewind", "what is owed after a move to the end")
class MovesBackOnly(Consumer):
    """Does not move a consumer ahead."""

    def rewind(self, reach: int) -> None:
        super().rewind(min(reach, self.reach))


@breaks("delivery.rewind", "what another consumer owes")
class RewindsAll(EventTable):
    """Rewinds every consumer of a topic."""

    def rewind(self, topic: str, name: str, start: Start) -> bool:
        found = super().rewind(topic, name, start)
        for of, other in list(self._consumers):
            if found and of == topic:
                super().rewind(of, other, start)
        return found


@breaks("delivery.rewind", "a consumer that is none was moved")
class RewindRegisters(EventTable):
    """Registers a consumer in order to rewind it."""

    def rewind(self, topic: str, name: str, start: Start) -> bool:
        if (topic, name) not in self._consumers:
            self._register(topic, name, start)
        return super().rewind(topic, name, start)


class _Remembers(EventTable):
    """Keeps the consumers that were removed."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        super().__init__(now)
        self._removed: dict[tuple[str, str], Consumer] = {}

    def remove(self, topic: str, name: str) -> bool:
        consumer = self._consumers.get((topic, name))
        if consumer is not None:
            self._removed[topic, name] = consumer
        return super().remove(topic, name)


@breaks("delivery.removed", "it has the number of the one removed")
class NumbersAreUsedAgain(_Remembers):
    """Gives a new consumer the number of the one of its name that was removed."""

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        consumer = super()._register(topic, name, start)
        old = self._removed.get((topic, name))
        if old is not None:
            consumer.number = old.number
        return consumer


@breaks("delivery.removed", "handed out to a new consumer of that name")
class RemoveForgetsTheNameOnly(_Remembers):
    """Goes on where a removed consumer stood when its name comes again."""

    def _register(self, topic: str, name: str, start: Start) -> Consumer:
        consumer = super()._register(topic, name, start)
        old = self._removed.get((topic, name))
        if old is not None:
            consumer.reach = old.reach
        return consumer


@breaks("delivery.removed", "consumers after a removal")
class RemovesNothing(EventTable):
    """Answers that a consumer was removed."""

    def remove(self, topic: str, name: str) -> bool:
        return (topic, name) in self._consumers


@breaks("delivery.removed", "is listed 0 times")
class RemovesEveryTopicsConsumer(EventTable):
    """Removes a consumer from every topic."""

    def remove(self, topic: str, name: str) -> bool:
        found = super().remove(topic, name)
        for key in [key for key in self._consumers if key[1] == name]:
            del self._consumers[key]
        return found


@breaks("delivery.lag", "consumers: expected")
class LagCountsWhatIsHeld(Consumer):
    """Counts what is handed out and not acked as new."""

    def record(self) -> ConsumerRecord:
        one = super().record()
        lag = one.lag + one.held
        return ConsumerRecord(
            one.topic, one.name, one.reach, lag, one.held, one.parked, one.quarantined
        )


@breaks("delivery.lag", "consumers of all")
class ConsumersInAnyOrder(EventTable):
    """Lists consumers in the order of their last names."""

    def consumers(self, topic: str | None) -> tuple[ConsumerRecord, ...]:
        return super().consumers(topic)[::-1]


@breaks("delivery.lag", "consumers of one topic")
class ListsEveryTopic(EventTable):
    """Lists the consumers of every topic."""

    def consumers(self, topic: str | None) -> tuple[ConsumerRecord, ...]:
        return super().consumers(None)


@breaks("delivery.lag", "what is owed of events just appended")
class LagAsOfTheLastDelivery(Consumer):
    """Counts what was new when the consumer last asked."""

    seen = 0

    def record(self) -> ConsumerRecord:
        one = super().record()
        lag = sum(event.position <= self.seen for event in self._behind(self.reach))
        return ConsumerRecord(
            one.topic, one.name, one.reach, lag, one.held, one.parked, one.quarantined
        )

    def _end_expired(self, now: Instant) -> None:
        super()._end_expired(now)
        self.seen = self._log[-1].position if self._log else 0
