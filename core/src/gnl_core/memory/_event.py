"""An event and its delivery to one consumer, as the memory store keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from gnl_core.spi.event_values import DeliveryState, NewEvent
from gnl_core.spi.job_values import Instant


@dataclass(slots=True)
class Event:
    """One event of a topic's log; `seq` is its number among the events of all topics."""

    seq: int
    position: int
    new: NewEvent
    emitted_at: Instant

    @property
    def subject(self) -> tuple[str | None, str] | None:
        """What must be handled in order if the consumer asks for that; None: nothing."""
        return None if self.new.key is None else (self.new.org_id, self.new.key)


@dataclass(slots=True)
class Delivery:
    """An event that was handed out to a consumer, or passed over, and is not acked.

    `given_back` parks it in front of everything else, else it is parked until `due_at`.
    """

    event: Event
    state: DeliveryState
    due_at: Instant
    given_back: bool = True
    attempts: int = 0
    token: int = 0
    budget: int | None = None
    expires_at: Instant = 0
    reclaimed: bool = False
    error: str = ""
    quarantined_at: Instant = 0

    @property
    def position(self) -> int:
        """The position of the event."""
        return self.event.position
