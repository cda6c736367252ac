"""What goes in and out of a store for events. Units and text are those of `job_values`."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from gnl_core._value import value
from gnl_core.spi.job_values import Duration, Instant, Release, Retry

DELIVER_LOOK_LIMIT: Final = 1_000
"""How many expired leases one delivery ends, and how many events it passes over, at the most."""

LAST_POSITION: Final = 2**63 - 1


class Edge(Enum):
    """One end of a topic's log, as a place for a consumer to start."""

    EARLIEST = "earliest"
    LATEST = "latest"


Start: TypeAlias = Edge | int
"""Where a consumer begins: at an edge, or behind the event with this position."""


@value
class NewEvent:
    """An event to append. `key` names what it is about; None is about nothing in particular."""

    id: str
    org_id: str | None
    topic: str
    payload: str
    key: str | None = None


@value
class KnownEvent:
    """What an event that already had the id was appended with."""

    payload: str
    key: str | None


@value
class Appended:
    """All events of the call are in the log. One entry an event, in call order.

    None: this call appended it. `KnownEvent`: the id was there before.
    """

    known: tuple[KnownEvent | None, ...]


@value
class TopicRefused:
    """Nothing was written: events not handed to every consumer yet would be over the limit.

    `topic` and `org_id` are one pair that would have got too many; any such pair is right.
    `depth` counts those of `org_id` in `topic` before the call, `new` those of the call.
    """

    topic: str
    org_id: str | None
    depth: int
    new: int
    limit: int


@value
class EventHold:
    """A held delivery, named by consumer, position and the fencing token of one grant."""

    consumer: int
    position: int
    token: int


@value
class EventGrant:
    """One event, leased to one process of a consumer until `expires_at`.

    `consumer` is the consumer's number; a consumer that was removed never gets it back.
    `attempt` counts grants since the event was first handed to the consumer, since its release
    from quarantine or since a rewind, this one included. `max_attempts` is None without limit.
    `run_id` is the same for all attempts, and another one after a rewind. `reclaimed` says that
    the attempt before ended with an expired lease.
    """

    consumer: int
    position: int
    token: int
    id: str
    org_id: str | None
    topic: str
    key: str | None
    payload: str
    run_id: str
    attempt: int
    max_attempts: int | None
    emitted_at: Instant
    due_at: Instant
    granted_at: Instant
    expires_at: Instant
    reclaimed: bool = False

    @property
    def hold(self) -> EventHold:
        """The name under which this grant is extended and settled."""
        return EventHold(self.consumer, self.position, self.token)


@value
class Delivered:
    """Grants in the order of handing out, and how long until the next parked event is due.

    `next_due_in` is None when nothing is parked, 0 when more is due or new already. What waits
    for its key is not counted: it becomes due by a settlement, not by time.
    """

    grants: tuple[EventGrant, ...]
    next_due_in: Duration | None


@value
class Ack:
    """The handler returned: the event is done for this consumer."""


@value
class Quarantine:
    """The attempt failed for good; the event is set aside for this consumer."""

    error: str


EventVerdict: TypeAlias = Ack | Retry | Quarantine | Release


@value
class EventOutcome:
    """How one hold ends."""

    hold: EventHold
    verdict: EventVerdict


class DeliveryState(Enum):
    """Where an event is, for one consumer."""

    NEW = "new"
    """Not handed out yet."""
    HELD = "held"
    PARKED = "parked"
    """It waits for its next attempt."""
    QUARANTINED = "quarantined"
    ACKED = "acked"


@value
class EventSettlement:
    """`state` after an applied outcome; None: the hold was lost, nothing changed."""

    state: DeliveryState | None


@value
class DeadEvent:
    """A quarantined event of one consumer. `attempts` counts as `EventGrant.attempt` does."""

    position: int
    id: str
    org_id: str | None
    key: str | None
    payload: str
    attempts: int
    error: str
    emitted_at: Instant
    quarantined_at: Instant


@value
class DeadPage:
    """Some quarantined events by position, and where the next page begins (None: the last)."""

    items: tuple[DeadEvent, ...]
    position: int | None


@value
class ConsumerRecord:
    """One consumer of one topic.

    `reach` is the position of the last event handed out, `lag` counts those behind it that were
    not; `held`, `parked` and `quarantined` count those handed out and not acked.
    """

    topic: str
    name: str
    reach: int
    lag: int
    held: int
    parked: int
    quarantined: int


@value
class TopicRecord:
    """One topic: how many events its log holds, and the last position given in it."""

    topic: str
    events: int
    last: int
