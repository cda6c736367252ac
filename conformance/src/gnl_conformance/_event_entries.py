"""How calls about events and their answers are written into a history."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance._entries import Entry
from gnl_core.spi import (
    Appended,
    ConsumerRecord,
    Delivered,
    EventGrant,
    EventHold,
    EventOutcome,
    EventSettlement,
    NewEvent,
    TopicRefused,
)


def appending(events: Sequence[NewEvent]) -> Entry:
    """What an append asks."""
    return {"events": [[one.org_id, one.id] for one in events]}


def appended(answer: Appended | TopicRefused) -> Entry:
    """What an append answered."""
    if isinstance(answer, Appended):
        return {"created": [known is None for known in answer.known]}
    return {"refused": str(answer)}


def seq_of(consumer: str, position: int) -> str:
    """What is held, in words, and different for every consumer and event."""
    return f"event {position} for {consumer}"


def delivered(consumer: str, answer: Delivered) -> Entry:
    """What a delivery answered."""
    return {"grants": [_grant(consumer, grant) for grant in answer.grants]}


def extending(consumer: str, holds: Sequence[EventHold]) -> Entry:
    """What an extension asks."""
    return {"holds": [[seq_of(consumer, one.position), one.token, "extension"] for one in holds]}


def settling(consumer: str, outcomes: Sequence[EventOutcome]) -> Entry:
    """What a settlement asks."""
    return {
        "holds": [
            [
                seq_of(consumer, one.hold.position),
                one.hold.token,
                type(one.verdict).__name__.lower(),
            ]
            for one in outcomes
        ]
    }


def settled(answers: Sequence[EventSettlement]) -> Entry:
    """What a settlement answered."""
    return {"answers": [[one.state and one.state.value, None] for one in answers]}


def owed(consumers: Sequence[ConsumerRecord]) -> Entry:
    """What each consumer still has to do; what it set aside is done."""
    return {
        "owed": {
            one.name: {"new": one.lag, "held": one.held, "parked": one.parked} for one in consumers
        }
    }


def _grant(consumer: str, grant: EventGrant) -> Entry:
    return {
        "org": grant.org_id,
        "id": grant.id,
        "seq": seq_of(consumer, grant.position),
        "token": grant.token,
        "attempt": grant.attempt,
        "budget": grant.max_attempts,
        "granted_at": grant.granted_at,
        "expires_at": grant.expires_at,
        "reclaimed": grant.reclaimed,
    }
