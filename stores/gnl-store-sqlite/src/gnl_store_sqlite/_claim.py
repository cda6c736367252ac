"""Claiming: what a claim makes ready first, and whose turn it is."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

from gnl_core.spi import (
    CLAIM_SWEEP_LIMIT,
    LEASE_EXPIRED,
    Claimed,
    Duration,
    Grant,
    Instant,
    JobState,
)
from gnl_store_sql import Row, Step, Steps, org_name, run_id
from gnl_store_sqlite._clock import WALL, Clock, Tick
from gnl_store_sqlite._finish import Ended, finish, record_failures
from gnl_store_sqlite._turns import next_in_turn
from gnl_store_sqlite._waiting import Pair, Waiting, drop_empty_pairs, make_ready

_NEXT_DUE: Final = (
    "(SELECT min((SELECT min(due_at) FROM gnl_delayed d WHERE d.type = t.value)) "
    "FROM json_each(?) t)"
)
_ANY_TURN: Final = (
    "EXISTS (SELECT 1 FROM json_each(?) t CROSS JOIN gnl_lanes l ON l.type = t.value)"
)
_NEXT_EXPIRY: Final = "(SELECT min(expires_at) FROM gnl_held)"
_PEEK: Final = f"SELECT now, {WALL}, {_NEXT_DUE}, {_NEXT_EXPIRY}, {_ANY_TURN} FROM gnl_clock"  # noqa: S608 (constants only)
_DUE_NEXT: Final = f"SELECT {_NEXT_DUE}"
_EXPIRED: Final = (
    "SELECT seq, org, type, attempts, budget, canceled, expires_at, error FROM gnl_held "
    "WHERE expires_at <= ? ORDER BY expires_at, seq LIMIT ?"
)
_END_HOLD: Final = "DELETE FROM gnl_held WHERE seq = ?"
# The limit stands inside: however many are due, no more than that are sorted for each type.
_DUE: Final = (
    "SELECT d.org, d.type, d.seq, d.attempts, d.due_at, d.reclaimed, d.error "
    "FROM json_each(?) t CROSS JOIN gnl_delayed d ON d.seq IN "
    "(SELECT x.seq FROM gnl_delayed x WHERE x.type = t.value AND x.due_at <= ? "
    "ORDER BY x.due_at, x.seq LIMIT ?) ORDER BY d.due_at, d.seq LIMIT ?"
)
_LEAVE_DELAYED: Final = "DELETE FROM gnl_delayed WHERE seq = ?"
_LEAVE_READY: Final = "DELETE FROM gnl_ready WHERE org = ? AND type = ? AND seq = ?"
_HOLD: Final = (
    "INSERT INTO gnl_held (seq, token, org, type, worker, attempts, budget, granted_at, "
    "due_at, expires_at, canceled, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)"
)
_MOVE_LANE: Final = "UPDATE gnl_lanes SET turn = ? WHERE org = ?"


class Terms(NamedTuple):
    """What a claim asks for; `types` is a JSON list."""

    types: str
    limit: int
    ttl: Duration
    worker: str
    max_attempts: int


def pack_types(types: Collection[str]) -> str:
    """The types as one parameter, each once."""
    return json.dumps(list(dict.fromkeys(types)), ensure_ascii=False)


def peek(clock: Clock, terms: Terms) -> Steps[Claimed | None]:
    """The answer if there is nothing to do: found by one statement that locks nothing."""
    rows = yield Step(_PEEK, (terms.types, terms.types))
    latest, wall, next_due, expires_at, ready = rows[0]
    now = clock.now(latest, wall)
    if ready or _come(next_due, now) or _come(expires_at, now):
        return None
    return Claimed((), None if next_due is None else next_due - now)


def claim(clock: Clock, terms: Terms) -> Steps[Claimed]:
    """As `JobStore.claim`."""
    tick = yield from clock.read()
    yield from _end_expired_leases(tick)
    yield from _wake_delayed(tick, terms.types)
    rows = yield from next_in_turn(terms.types, terms.limit)
    grants = yield from _grant(tick, terms, rows)
    yield tick.save()
    due = yield Step(_DUE_NEXT, (terms.types,))
    next_due = due[0][0]
    return Claimed(grants, None if next_due is None else max(0, next_due - tick.now))


def _come(instant: Instant | None, now: Instant) -> bool:
    return instant is not None and instant <= now


def _end_expired_leases(tick: Tick) -> Steps[None]:
    rows = yield Step(_EXPIRED, (tick.now, CLAIM_SWEEP_LIMIT))
    if not rows:
        return
    yield Step(_END_HOLD, [(row[0],) for row in rows], many=True)
    failures, ended, waiting = [], [], []
    for seq, org, type_, attempts, budget, canceled, expires_at, error in rows:
        if canceled:
            ended.append(Ended(seq, org, JobState.CANCELED, None, error, attempts))
            continue
        failures.append((seq, attempts, LEASE_EXPIRED))
        if attempts >= budget:
            ended.append(Ended(seq, org, JobState.DEAD, None, LEASE_EXPIRED, attempts))
        else:
            waiting.append(Waiting(org, type_, seq, attempts, expires_at, True, LEASE_EXPIRED))
    yield from record_failures(tick, failures)
    yield from finish(tick, ended)
    yield from make_ready(tick, waiting)
    # Their types may be others than this claim asks for.
    tick.woken += bool(waiting)


def _wake_delayed(tick: Tick, types: str) -> Steps[None]:
    most = CLAIM_SWEEP_LIMIT
    rows = yield Step(_DUE, (types, tick.now, most, most))
    if rows:
        waiting = [Waiting(*row) for row in rows]
        yield Step(_LEAVE_DELAYED, [(job.seq,) for job in waiting], many=True)
        yield from make_ready(tick, waiting)


def _grant(tick: Tick, terms: Terms, rows: Sequence[Row]) -> Steps[tuple[Grant, ...]]:
    """Grant the jobs of `next_in_turn`, in their order."""
    if not rows:
        return ()
    expires_at = tick.now + terms.ttl
    keys, holds, grants = [], [], []
    turns: dict[str, int] = {}
    pairs: dict[Pair, None] = {}
    for row in rows:
        grant, error = _granted(tick, terms, expires_at, row)
        org = row[0]
        keys.append((org, grant.type, grant.seq))
        holds.append(_hold_values(grant, org, terms.worker, error))
        grants.append(grant)
        turns[org] = tick.next_stamp()
        pairs[org, grant.type] = None
    yield Step(_LEAVE_READY, keys, many=True)
    yield Step(_HOLD, holds, many=True)
    yield from drop_empty_pairs(pairs)
    yield Step(_MOVE_LANE, [(turn, org) for org, turn in turns.items()], many=True)
    return tuple(grants)


def _granted(tick: Tick, terms: Terms, expires_at: Instant, row: Row) -> tuple[Grant, str | None]:
    org, type_, seq, attempts, due_at, reclaimed, error, id_, payload, budget, enqueued_at = row
    grant = Grant(
        seq=seq,
        token=tick.next_token(),
        id=id_,
        org_id=org_name(org),
        type=type_,
        payload=payload,
        run_id=run_id(seq),
        attempt=attempts + 1,
        max_attempts=terms.max_attempts if budget is None else budget,
        enqueued_at=enqueued_at,
        due_at=due_at,
        granted_at=tick.now,
        expires_at=expires_at,
        reclaimed=bool(reclaimed),
    )
    return grant, error


def _hold_values(grant: Grant, org: str, worker: str, error: str | None) -> tuple[Any, ...]:
    return (
        grant.seq,
        grant.token,
        org,
        grant.type,
        worker,
        grant.attempt,
        grant.max_attempts,
        grant.granted_at,
        grant.due_at,
        grant.expires_at,
        error,
    )
