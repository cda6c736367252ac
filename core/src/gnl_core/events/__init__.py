"""Events: a log for each topic, read by any number of consumers."""

from gnl_core.events._consumer import Consumer
from gnl_core.events._control import (
    DeadEventInfo,
    ReleaseAnswer,
    list_consumers,
    list_dead_events,
    list_topics,
    prune_events,
    remove_consumer,
    retry_dead_event,
    rewind_consumer,
)
from gnl_core.events._emit import emit, emit_many
from gnl_core.events._event import Event
from gnl_core.events._meta import EventMeta

__all__ = [
    "Consumer",
    "DeadEventInfo",
    "Event",
    "EventMeta",
    "ReleaseAnswer",
    "emit",
    "emit_many",
    "list_consumers",
    "list_dead_events",
    "list_topics",
    "prune_events",
    "remove_consumer",
    "retry_dead_event",
    "rewind_consumer",
]
