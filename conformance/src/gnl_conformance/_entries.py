"""How calls and their answers are written into a history: one plain form for all tiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from gnl_core.spi import (
    Added,
    Claimed,
    DepthRefused,
    Extension,
    Grant,
    Hold,
    JobPage,
    JobRecord,
    JobState,
    NewJob,
    Outcome,
    Settlement,
)

Entry: TypeAlias = Mapping[str, Any]


def adding(jobs: Sequence[NewJob]) -> Entry:
    """What an add asks."""
    return {"jobs": [[job.org_id, job.id] for job in jobs]}


def added(answer: Added | DepthRefused) -> Entry:
    """What an add answered."""
    if isinstance(answer, Added):
        return {"created": [known is None for known in answer.known]}
    return {"refused": str(answer)}


def claimed(answer: Claimed) -> Entry:
    """What a claim answered."""
    return {"grants": [_grant(grant) for grant in answer.grants]}


def extending(holds: Sequence[Hold]) -> Entry:
    """What an extension asks."""
    return {"holds": [[hold.seq, hold.token, "extension"] for hold in holds]}


def extended(answers: Sequence[Extension]) -> Entry:
    """What an extension answered."""
    return {"answers": [[one.state.value, one.expires_at] for one in answers]}


def settling(outcomes: Sequence[Outcome]) -> Entry:
    """What a settlement asks."""
    return {
        "holds": [
            [one.hold.seq, one.hold.token, type(one.verdict).__name__.lower()] for one in outcomes
        ]
    }


def settled(answers: Sequence[Settlement]) -> Entry:
    """What a settlement answered."""
    return {"answers": [[one.state and one.state.value, None] for one in answers]}


def one_job(org_id: str | None, id: str) -> Entry:
    """What a call about one job asks."""
    return {"org": org_id, "id": id}


def found(state: JobState | None) -> Entry:
    """The state in which a cancel or a revival found a job."""
    return {"found": state and state.value}


def paged(page: JobPage) -> Entry:
    """What a page holds."""
    items = [[record.org_id, record.id] for record in page.items]
    return {"items": items, "more": page.position is not None}


def final(records: Sequence[JobRecord]) -> Entry:
    """What is in the store at the end."""
    return {"jobs": [_record(record) for record in records]}


def _grant(grant: Grant) -> Entry:
    return {
        "org": grant.org_id,
        "id": grant.id,
        "seq": grant.seq,
        "token": grant.token,
        "attempt": grant.attempt,
        "budget": grant.max_attempts,
        "granted_at": grant.granted_at,
        "expires_at": grant.expires_at,
        "reclaimed": grant.reclaimed,
    }


def _record(record: JobRecord) -> Entry:
    return {
        "org": record.org_id,
        "id": record.id,
        "seq": record.seq,
        "state": record.state.value,
        "attempts": record.attempts,
    }
