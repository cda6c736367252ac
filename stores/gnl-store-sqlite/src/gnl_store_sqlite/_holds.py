"""Holds: extending and settling them, fenced by their tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, TypeAlias

from gnl_core.spi import (
    Dead,
    Done,
    Duration,
    Extension,
    Hold,
    HoldState,
    JobState,
    Outcome,
    Release,
    Retry,
    Settlement,
    Verdict,
)
from gnl_store_sql import Row, Step, Steps
from gnl_store_sqlite._clock import Clock, Tick
from gnl_store_sqlite._finish import Ended, finish, record_failures
from gnl_store_sqlite._waiting import Waiting, wait

_HELD: Final = (
    "SELECT h.seq, h.token, h.org, h.type, h.attempts, h.canceled, h.error "
    "FROM json_each(?) k CROSS JOIN gnl_held h ON h.seq = k.value"
)
_EXTEND: Final = "UPDATE gnl_held SET expires_at = ? WHERE seq = ? AND token = ?"
_RELEASE: Final = "DELETE FROM gnl_held WHERE seq = ? AND token = ?"

_Held: TypeAlias = dict[Hold, Row]


def _held(holds: Sequence[Hold]) -> Steps[_Held]:
    """Those of `holds` that still hold their jobs."""
    seqs = json.dumps(list({hold.seq for hold in holds}))
    rows = yield Step(_HELD, (seqs,))
    current = {Hold(row[0], row[1]): row for row in rows}
    return {hold: current[hold] for hold in holds if hold in current}


def extend(clock: Clock, holds: Sequence[Hold], ttl: Duration) -> Steps[tuple[Extension, ...]]:
    """As `JobStore.extend`."""
    tick = yield from clock.read()
    held = yield from _held(holds)
    expires_at = tick.now + ttl
    if held:
        rows = [(expires_at, hold.seq, hold.token) for hold in held]
        yield Step(_EXTEND, rows, many=True)
    return tuple([_extension(held.get(hold), expires_at) for hold in holds])


def _extension(row: Row | None, expires_at: int) -> Extension:
    if row is None:
        return Extension(HoldState.LOST, None)
    *_, canceled, _ = row
    return Extension(HoldState.CANCELED if canceled else HoldState.KEPT, expires_at)


def settle(clock: Clock, outcomes: Sequence[Outcome]) -> Steps[tuple[Settlement, ...]]:
    """As `JobStore.settle`."""
    tick = yield from clock.read()
    held = yield from _held([outcome.hold for outcome in outcomes])
    if not held:
        return (Settlement(None),) * len(outcomes)
    yield Step(_RELEASE, [(hold.seq, hold.token) for hold in held], many=True)
    ends = _Ends(tick)
    # A hold that is named twice is gone the second time.
    states = [ends.end(held.pop(o.hold, None), o.verdict) for o in outcomes]
    yield from ends.write()
    return tuple([Settlement(state) for state in states])


class _Ends:
    """What becomes of the settled jobs, gathered so that each table is written once."""

    def __init__(self, tick: Tick) -> None:
        self._tick = tick
        self._ended: list[Ended] = []
        self._failures: list[tuple[int, int, str]] = []
        self._waiting: list[Waiting] = []

    def end(self, row: Row | None, verdict: Verdict) -> JobState | None:
        """Where the job goes; None if it was not held."""
        if row is None:
            return None
        seq, _, _, _, attempts, canceled, error = row
        if canceled:
            return self._finish(row, JobState.CANCELED, error)
        match verdict:
            case Done(result):
                return self._finish(row, JobState.DONE, error, result)
            case Dead(error):
                self._failures.append((seq, attempts, error))
                return self._finish(row, JobState.DEAD, error)
            case Retry(delay, error):
                self._failures.append((seq, attempts, error))
                return self._wait(row, attempts, delay, error)
            case Release(delay):
                return self._wait(row, attempts - 1, delay, error)

    def write(self) -> Steps[None]:
        """Write all of it."""
        yield from record_failures(self._tick, self._failures)
        yield from finish(self._tick, self._ended)
        yield from wait(self._tick, self._waiting)
        self._tick.woken += bool(self._waiting)
        yield self._tick.save()

    def _finish(
        self, row: Row, state: JobState, error: str | None, result: str | None = None
    ) -> JobState:
        seq, _, org, _, attempts, _, _ = row
        self._ended.append(Ended(seq, org, state, result, error, attempts))
        return state

    def _wait(self, row: Row, attempts: int, delay: Duration, error: str | None) -> JobState:
        seq, _, org, type_, *_ = row
        due_at = self._tick.now + delay
        self._waiting.append(Waiting(org, type_, seq, attempts, due_at, error=error))
        return JobState.WAITING
