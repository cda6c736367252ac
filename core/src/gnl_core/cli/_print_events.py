"""How topics, consumers and quarantined events look on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable

from gnl_core.cli._print import org_name, print_rows, stored
from gnl_core.events import DeadEventInfo
from gnl_core.spi import ConsumerRecord, TopicRecord


def print_consumers(consumers: Iterable[ConsumerRecord]) -> None:
    """A line for each consumer."""
    rows = [
        (c.topic, c.name, str(c.lag), str(c.held), str(c.parked), str(c.quarantined))
        for c in consumers
    ]
    print_rows(("topic", "consumer", "lag", "held", "parked", "quarantined"), rows)


def print_dead(events: Iterable[DeadEventInfo]) -> None:
    """A line for each quarantined event."""
    rows = [
        (
            event.id,
            org_name(event.org_id),
            str(event.position),
            str(event.attempts),
            event.quarantined_at.isoformat(timespec="seconds"),
            event.error.partition("\n")[0],
        )
        for event in events
    ]
    print_rows(("id", "org", "position", "attempts", "quarantined", "error"), rows)


def topic_as_json(topic: TopicRecord) -> dict[str, object]:
    """A topic for programs."""
    return {"topic": topic.topic, "events": topic.events, "last": topic.last}


def consumer_as_json(consumer: ConsumerRecord) -> dict[str, object]:
    """A consumer for programs."""
    return {
        "topic": consumer.topic,
        "consumer": consumer.name,
        "reach": consumer.reach,
        "lag": consumer.lag,
        "held": consumer.held,
        "parked": consumer.parked,
        "quarantined": consumer.quarantined,
    }


def dead_as_json(event: DeadEventInfo) -> dict[str, object]:
    """A quarantined event for programs; the payload in the JSON it is stored as."""
    return {
        "id": event.id,
        "org_id": event.org_id,
        "key": event.key,
        "position": event.position,
        "attempts": event.attempts,
        "error": event.error,
        "emitted_at": event.emitted_at.isoformat(),
        "quarantined_at": event.quarantined_at.isoformat(),
        "payload": stored(event.payload_text),
    }
