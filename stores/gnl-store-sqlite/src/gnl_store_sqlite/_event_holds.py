"""Holds of events: extending and settling them, fenced by their tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from gnl_core.spi import (
    Ack,
    DeliveryState,
    Duration,
    EventHold,
    EventOutcome,
    EventSettlement,
    EventVerdict,
    Extension,
    HoldState,
    Quarantine,
    Release,
    Retry,
)
from gnl_store_sql import Row, Step, Steps
from gnl_store_sqlite._clock import Clock, Tick
from gnl_store_sqlite._line import move_up

_HELD: Final = (
    "SELECT d.consumer, d.position, d.token, d.org, d.key FROM json_each(?) k "
    "CROSS JOIN gnl_deliveries d ON d.consumer = json_extract(k.value, '$[0]') "
    "AND d.position = json_extract(k.value, '$[1]') AND d.state = 'held'"
)
_OF: Final = "WHERE consumer = ? AND position = ?"
_EXTEND: Final = f"UPDATE gnl_deliveries SET at = ? {_OF}"  # noqa: S608 (constants only)
_ACK: Final = f"DELETE FROM gnl_deliveries {_OF}"  # noqa: S608 (constants only)
_QUARANTINE: Final = (
    "UPDATE gnl_deliveries SET state = 'quarantined', blocked = 0, at = 0, token = 0, error = ?, "  # noqa: S608 (constants only)
    f"quarantined_at = ? {_OF}"
)
_RETRY: Final = (
    "UPDATE gnl_deliveries SET state = 'retry', token = 0, at = ?, due_at = ?, error = ? "  # noqa: S608 (constants only)
    f"{_OF}"
)
_RELEASE: Final = (
    "UPDATE gnl_deliveries SET state = ?, token = 0, at = ?, due_at = ?, attempts = attempts - 1 "  # noqa: S608 (constants only)
    f"{_OF}"
)


def _held(holds: Sequence[EventHold]) -> Steps[dict[EventHold, Row]]:
    """Those of `holds` that still hold their events."""
    names = json.dumps(list({(hold.consumer, hold.position) for hold in holds}))
    rows = yield Step(_HELD, (names,))
    current = {EventHold(*row[:3]): row for row in rows}
    return {hold: current[hold] for hold in holds if hold in current}


def extend(clock: Clock, holds: Sequence[EventHold], ttl: Duration) -> Steps[tuple[Extension, ...]]:
    """As `EventStore.extend`."""
    expires_at = (yield from clock.read()).now + ttl
    held = yield from _held(holds)
    if held:
        yield Step(_EXTEND, [(expires_at, h.consumer, h.position) for h in held], many=True)
    kept, lost = Extension(HoldState.KEPT, expires_at), Extension(HoldState.LOST, None)
    return tuple([kept if hold in held else lost for hold in holds])


def settle(clock: Clock, outcomes: Sequence[EventOutcome]) -> Steps[tuple[EventSettlement, ...]]:
    """As `EventStore.settle`."""
    tick = yield from clock.read()
    held = yield from _held([outcome.hold for outcome in outcomes])
    if not held:
        return (EventSettlement(None),) * len(outcomes)
    ends = _Ends(tick)
    # A hold that is named twice is gone the second time.
    states = [ends.end(held.pop(o.hold, None), o.verdict) for o in outcomes]
    yield from ends.write()
    return tuple([EventSettlement(state) for state in states])


class _Ends:
    """What becomes of the settled events, gathered by statement."""

    def __init__(self, tick: Tick) -> None:
        self._tick = tick
        self._rows: dict[str, list[tuple[object, ...]]] = {}
        self._left: list[tuple[int, str, str | None]] = []
        self._parked = False

    def end(self, row: Row | None, verdict: EventVerdict) -> DeliveryState | None:
        """Where the event goes; None if it was not held."""
        if row is None:
            return None
        consumer, position, _, org, key = row
        of, now = (consumer, position), self._tick.now
        match verdict:
            case Ack():
                self._left.append((consumer, org, key))
                self._add(_ACK, *of)
                return DeliveryState.ACKED
            case Quarantine(error):
                self._left.append((consumer, org, key))
                self._add(_QUARANTINE, error, now, *of)
                return DeliveryState.QUARANTINED
            case Retry(delay, error):
                self._add(_RETRY, now + delay, now + delay, error, *of)
            case Release(delay):
                due_at = now + delay
                back: tuple[object, ...] = ("retry", due_at) if delay else ("back", 0)
                self._add(_RELEASE, *back, due_at, *of)
        self._parked = True
        return DeliveryState.PARKED

    def write(self) -> Steps[None]:
        """Write all of it."""
        for sql, rows in self._rows.items():
            yield Step(sql, rows, many=True)
        moved = yield from move_up(self._left)
        self._tick.woken += self._parked or moved
        yield self._tick.save()

    def _add(self, sql: str, *values: object) -> None:
        self._rows.setdefault(sql, []).append(values)
