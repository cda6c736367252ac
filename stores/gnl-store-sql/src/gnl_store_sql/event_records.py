"""Rows of the events' tables, as values of the store interface."""

from __future__ import annotations

from typing import Final

from gnl_core.spi import ConsumerRecord, DeadEvent, DeliveryState
from gnl_store_sql.event_tables import BACK, HELD, QUARANTINED, RETRY
from gnl_store_sql.records import org_name
from gnl_store_sql.statements import Row

STATES: Final = {
    HELD: DeliveryState.HELD,
    BACK: DeliveryState.PARKED,
    RETRY: DeliveryState.PARKED,
    QUARANTINED: DeliveryState.QUARANTINED,
}


def event_run_id(seq: int, consumer: int, rewinds: int) -> str:
    """The run of an event for one consumer: the same for all attempts, until a rewind."""
    return f"event-{seq}-{consumer}-{rewinds}"


def consumer_record(row: Row) -> ConsumerRecord:
    """A consumer from topic, name, reach, lag and the counts of each state."""
    topic, name, reach, lag, held, back, retry, quarantined = row
    return ConsumerRecord(topic, name, reach, lag, held, back + retry, quarantined)


def dead_event(row: Row) -> DeadEvent:
    """A quarantined event from its columns, in the order of the value's fields."""
    position, id_, org, key, payload, attempts, error, emitted_at, quarantined_at = row
    return DeadEvent(
        position,
        id_,
        org_name(org),
        key,
        payload,
        attempts,
        error,
        emitted_at,
        quarantined_at,
    )
