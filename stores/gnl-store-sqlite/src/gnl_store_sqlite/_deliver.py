"""Delivering: leases that ran out, and then what a consumer gets next."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from gnl_core.spi import (
    DELIVER_LOOK_LIMIT,
    LAST_POSITION,
    LEASE_EXPIRED,
    Delivered,
    Duration,
    Edge,
    EventGrant,
    Instant,
    Start,
)
from gnl_store_sql import Row, Step, Steps, event_run_id, org_name
from gnl_store_sqlite._clock import Clock, Tick
from gnl_store_sqlite._line import move_up
from gnl_store_sqlite._next import NewEvents, Unsent, given_back, look, retries

_FIND: Final = (
    "SELECT number, reach, rewinds, retried_last FROM gnl_consumers WHERE topic = ? AND name = ?"
)
_REGISTER: Final = (
    "INSERT INTO gnl_consumers (topic, name, reach, rewinds, retried_last) VALUES (?, ?, ?, 0, 1)"
)
_LAST: Final = "SELECT coalesce((SELECT last FROM gnl_topics WHERE topic = ?), 0)"
_EXPIRED: Final = (
    "SELECT position, org, key, attempts, budget, at FROM (SELECT * FROM (SELECT * "
    "FROM gnl_deliveries WHERE consumer = ?1 AND state = 'held' AND blocked = 0 AND at <= ?2 "
    "ORDER BY at, position LIMIT ?3) UNION ALL SELECT * FROM (SELECT * FROM gnl_deliveries "
    "WHERE consumer = ?1 AND state = 'held' AND blocked = 1 AND at <= ?2 "
    "ORDER BY at, position LIMIT ?3)) ORDER BY at, position LIMIT ?3"
)
_SET_ASIDE: Final = (
    "UPDATE gnl_deliveries SET state = 'quarantined', blocked = 0, at = 0, token = 0, error = ?, "
    "quarantined_at = ? WHERE consumer = ? AND position = ?"
)
_GIVE_BACK: Final = (
    "UPDATE gnl_deliveries SET state = 'back', at = 0, token = 0, due_at = ?, error = ?, "
    "reclaimed = 1 WHERE consumer = ? AND position = ?"
)
_ENTER: Final = (
    "INSERT INTO gnl_deliveries (consumer, position, seq, org, key, state, blocked, at, due_at, "
    "attempts, token, budget, worker, reclaimed, error) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '')"
)
_HOLD: Final = (
    "UPDATE gnl_deliveries SET state = 'held', at = ?, attempts = ?, token = ?, budget = ?, "
    "worker = ?, reclaimed = 0 WHERE consumer = ? AND position = ?"
)
_EVENTS: Final = (
    "SELECT e.seq, e.id, e.payload, e.emitted_at FROM json_each(?) k "
    "CROSS JOIN gnl_events e ON e.seq = k.value"
)
_SAVE: Final = "UPDATE gnl_consumers SET reach = ?, retried_last = ? WHERE number = ?"


class Order(NamedTuple):
    """What a delivery asks for."""

    topic: str
    consumer: str
    limit: int
    ttl: Duration
    worker: str
    max_attempts: int | None
    start: Start
    by_key: bool


def peek(clock: Clock, order: Order) -> Steps[Delivered | None]:
    """The answer if there is nothing to do: found by statements that lock nothing."""
    now = (yield from clock.read()).now
    rows = yield Step(_FIND, (order.topic, order.consumer))
    if not rows:
        return None
    number, reach, *_ = rows[0]
    there, due_in = yield from look(order.topic, number, reach, now, by_key=order.by_key)
    return None if there else Delivered((), due_in)


def deliver(clock: Clock, order: Order) -> Steps[Delivered]:
    """As `EventStore.deliver`."""
    tick = yield from clock.read()
    rows = yield Step(_FIND, (order.topic, order.consumer))
    if not rows:
        yield Step(_REGISTER, (order.topic, order.consumer, (yield from _reach(order))))
        rows = yield Step(_FIND, (order.topic, order.consumer))
    return (yield from _Delivery(tick, order, rows[0]).run())


def _reach(order: Order) -> Steps[int]:
    if order.start is Edge.EARLIEST:
        return 0
    if order.start is Edge.LATEST:
        rows = yield Step(_LAST, (order.topic,))
        return int(rows[0][0])
    return min(order.start, LAST_POSITION)


class _Handed(NamedTuple):
    """An event that is handed out under a token."""

    token: int
    one: Unsent
    due_at: Instant


class _Delivery:
    """One delivery to one consumer, whose row was just read."""

    def __init__(self, tick: Tick, order: Order, row: Row) -> None:
        self._tick = tick
        self._order = order
        self._number, self._reach, self._rewinds, self._retried_last = row
        self._expires_at = tick.now + order.ttl
        self._entered: list[tuple[object, ...]] = []
        self._held: list[tuple[object, ...]] = []
        self._handed: list[_Handed] = []

    def run(self) -> Steps[Delivered]:
        """End what expired, hand out, write it all."""
        order, number, now = self._order, self._number, self._tick.now
        yield from self._end_expired()
        for one in (yield from given_back(number, order.limit, by_key=order.by_key)):
            self._hand_out(one)
        if len(self._handed) < order.limit:
            yield from self._in_turn()
        yield Step(_ENTER, self._entered, many=True)
        yield Step(_HOLD, self._held, many=True)
        yield Step(_SAVE, (self._reach, self._retried_last, number))
        yield self._tick.save()
        grants = yield from self._grants()
        _, due_in = yield from look(order.topic, number, self._reach, now, by_key=order.by_key)
        return Delivered(grants, due_in)

    def _end_expired(self) -> Steps[None]:
        number, now = self._number, self._tick.now
        rows = yield Step(_EXPIRED, (number, now, DELIVER_LOOK_LIMIT))
        aside, back, left = [], [], []
        for position, org, key, attempts, budget, expired_at in rows:
            if budget is not None and attempts >= budget:
                aside.append((LEASE_EXPIRED, now, number, position))
                left.append((number, org, key))
            else:
                back.append((expired_at, LEASE_EXPIRED, number, position))
        yield Step(_SET_ASIDE, aside, many=True)
        yield Step(_GIVE_BACK, back, many=True)
        yield from move_up(left)

    def _in_turn(self) -> Steps[None]:
        """A due retry and a new event in turn, if there are both."""
        order, now = self._order, self._tick.now
        rest = order.limit - len(self._handed)
        due = deque((yield from retries(self._number, now, rest, by_key=order.by_key)))
        news = NewEvents(order.topic, self._number, self._reach, rest, by_key=order.by_key)
        while len(self._handed) < order.limit:
            new = yield from news.next()
            self._pass_over(news.passed)
            if due and (new is None or not self._retried_last):
                self._retried_last = True
                self._hand_out(due.popleft())
            elif new is not None:
                self._retried_last = False
                self._reach = new.position
                news.take()
                self._hand_out(new)
            else:
                break

    def _pass_over(self, passed: Sequence[Unsent]) -> None:
        now = self._tick.now
        for one in passed:
            self._reach = one.position
            self._entered.append(
                (self._number, *one.event, "back", one.blocked, 0, now, 0, 0, None, None)
            )

    def _hand_out(self, one: Unsent) -> None:
        order, number, token = self._order, self._number, self._tick.next_token()
        lease = (one.attempts + 1, token, order.max_attempts, order.worker)
        due_at = one.due_at
        if due_at is None:
            due_at = self._tick.now
            at = (self._expires_at, due_at)
            self._entered.append((number, *one.event, "held", one.blocked, *at, *lease))
        else:
            self._held.append((self._expires_at, *lease, number, one.position))
        self._handed.append(_Handed(token, one, due_at))

    def _grants(self) -> Steps[tuple[EventGrant, ...]]:
        seqs = json.dumps([handed.one.seq for handed in self._handed])
        rows = yield Step(_EVENTS, (seqs,))
        events = {row[0]: row[1:] for row in rows}
        return tuple([self._grant(handed, *events[handed.one.seq]) for handed in self._handed])

    def _grant(self, handed: _Handed, id: str, payload: str, emitted_at: Instant) -> EventGrant:
        one, order = handed.one, self._order
        return EventGrant(
            consumer=self._number,
            position=one.position,
            token=handed.token,
            id=id,
            org_id=org_name(one.org),
            topic=order.topic,
            key=one.key,
            payload=payload,
            run_id=event_run_id(one.seq, self._number, self._rewinds),
            attempt=one.attempts + 1,
            max_attempts=order.max_attempts,
            emitted_at=emitted_at,
            due_at=handed.due_at,
            granted_at=self._tick.now,
            expires_at=self._expires_at,
            reclaimed=one.reclaimed,
        )
