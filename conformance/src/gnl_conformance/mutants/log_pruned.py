"""Stores that prune the wrong events."""

from __future__ import annotations

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._event import Event
from gnl_core.memory._events import EventTable
from gnl_core.spi import DeliveryState, Duration, Instant


class _ByState(EventTable):
    """Lets go what has one of these states for every consumer."""

    free: frozenset[DeliveryState] = frozenset({DeliveryState.ACKED})

    def _may_go(self, event: Event, latest: Instant | None) -> bool:
        consumers = [c for (topic, _), c in self._consumers.items() if topic == event.new.topic]
        if latest is None and not consumers:
            return False
        old = latest is None or event.emitted_at <= latest
        return old and self.passed([c.state_of(event) for c in consumers])

    def passed(self, states: list[DeliveryState]) -> bool:
        """Whether the event may go, being in these states."""
        return self.free.issuperset(states)


@breaks("log.pruned", "with older_than=0: expected 2, got 3")
class PrunesTheQuarantine(_ByState):
    """Takes what is quarantined for done."""

    free = frozenset({DeliveryState.ACKED, DeliveryState.QUARANTINED})


@breaks("log.pruned", "with older_than=0: expected 2, got 4")
class PrunesWhatIsInUse(_ByState):
    """Takes what was handed out for done."""

    free = frozenset({DeliveryState.ACKED, DeliveryState.PARKED, DeliveryState.HELD})


@breaks("log.pruned", "with older_than=0: expected 2, got 3")
class PrunesNewEvents(_ByState):
    """Takes what is old for done, though nobody has seen it."""

    free = frozenset({DeliveryState.ACKED, DeliveryState.NEW})


@breaks("log.pruned", "events pruned that every consumer acked")
class PrunesForTheFirst(_ByState):
    """Takes what one consumer has acked for done."""

    def passed(self, states: list[DeliveryState]) -> bool:
        return not states or DeliveryState.ACKED in states


@breaks("log.pruned", "of a topic without consumers")
class PrunesWithoutConsumers(EventTable):
    """Takes an event that nobody is to see for done."""

    def _may_go(self, event: Event, latest: Instant | None) -> bool:
        known = {topic for topic, _ in self._consumers}
        return event.new.topic not in known or super()._may_go(event, latest)


@breaks("log.pruned", "acked events pruned by age")
class PruneIgnoresAge(EventTable):
    """Prunes what was acked, however young."""

    def _may_go(self, event: Event, latest: Instant | None) -> bool:
        return super()._may_go(event, None if self._consumers else latest)


@breaks("log.pruned", "events left: expected ['e5', 'e6']")
class PrunesTheNewest(EventTable):
    """Prunes from the end of the log."""

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        for log in self._logs.values():
            log.reverse()
        try:
            return super().prune(topic, older_than, limit)
        finally:
            for log in self._logs.values():
                log.sort(key=lambda event: event.position)


@breaks("log.pruned", "events left of each topic")
class PrunesTopicsAsTheyCame(EventTable):
    """Prunes the topics in the order in which they were made."""

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        left = limit
        for name in [topic] if topic is not None else list(self._logs):
            left -= super().prune(name, older_than, left)
        return limit - left


@breaks("log.pruned", "events left of a topic that was not named")
class PrunesEveryTopic(EventTable):
    """Prunes more topics than it was asked to."""

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        count = super().prune(topic, older_than, limit)
        for other in self._logs:
            if other != topic:
                super().prune(other, older_than, limit)
        return count


@breaks("log.pruned", "handed out then: expected ['e3'], got []")
class PositionsAreUsedAgain(EventTable):
    """Counts positions from what is left in the log."""

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        count = super().prune(topic, older_than, limit)
        for name, log in self._logs.items():
            self._last[name] = log[-1].position if log else 0
        return count


@breaks("log.pruned", "answer when a pruned id comes again")
class RemembersPrunedIds(EventTable):
    """Keeps the id of an event that was pruned."""

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> int:
        known = dict(self._by_id)
        count = super().prune(topic, older_than, limit)
        self._by_id = known
        return count
