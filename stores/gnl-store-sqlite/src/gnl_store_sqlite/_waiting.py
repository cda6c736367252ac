"""Jobs that begin to wait: into gnl_ready with a turn for their pair, or into gnl_delayed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from gnl_core.spi import Instant
from gnl_store_sql import Step, Steps
from gnl_store_sqlite._clock import Clock, Tick

Pair: TypeAlias = tuple[str, str]
"""A lane, as text, and a job type."""

_ENTER_READY: Final = (
    "INSERT INTO gnl_ready (org, type, seq, attempts, due_at, reclaimed, error) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_ENTER_DELAYED: Final = (
    "INSERT INTO gnl_delayed (org, type, seq, attempts, due_at, reclaimed, error) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
# A pair that has ready jobs already keeps its turn.
_ENTER_LANES: Final = (
    "INSERT INTO gnl_lanes (org, type, turn) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
)
_HAS_TURN: Final = "SELECT 1 FROM gnl_lanes WHERE org = ? AND type = ?"
_LEAVE_LANES: Final = (
    "DELETE FROM gnl_lanes WHERE org = ? AND type = ? AND NOT EXISTS "
    "(SELECT 1 FROM gnl_ready WHERE gnl_ready.org = gnl_lanes.org "
    "AND gnl_ready.type = gnl_lanes.type)"
)


class Waiting(NamedTuple):
    """A job that waits; the fields stand as the statements bind them."""

    org: str
    type: str
    seq: int
    attempts: int
    due_at: Instant
    reclaimed: bool = False
    error: str | None = None


def wait(tick: Tick, jobs: Sequence[Waiting]) -> Steps[bool]:
    """Let the jobs wait, those that are due as ready, in this order; true if `tick` changed."""
    delayed = [job for job in jobs if job.due_at > tick.now]
    if delayed:
        yield Step(_ENTER_DELAYED, delayed, many=True)
    return (yield from make_ready(tick, [job for job in jobs if job.due_at <= tick.now]))


def make_ready(tick: Tick, jobs: Sequence[Waiting]) -> Steps[bool]:
    """Make the jobs ready, in this order; true if that changed `tick`."""
    if not jobs:
        return False
    yield Step(_ENTER_READY, jobs, many=True)
    return (yield from give_turns(tick, [(job.org, job.type) for job in jobs]))


def give_turns(tick: Tick, pairs: Iterable[Pair]) -> Steps[bool]:
    """Give a turn to each pair without one, in order of mention; true if `tick` changed."""
    distinct = dict.fromkeys(pairs)
    if len(distinct) == 1:
        # The usual case, and most often there is nothing to write.
        (pair,) = distinct
        if (yield Step(_HAS_TURN, pair)):
            return False
    turns = [(*pair, tick.next_stamp()) for pair in distinct]
    yield Step(_ENTER_LANES, turns, many=True)
    return True


def drop_empty_pairs(pairs: Collection[Pair]) -> Steps[None]:
    """Take the turn from each of the pairs that has no ready job left."""
    yield Step(_LEAVE_LANES, list(pairs), many=True)


class TurnUpkeep:
    """What cancel, revive and prune need of this store."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> Steps[Instant]:
        """The store's clock."""
        return (yield from self._clock.read()).now

    def became_ready(self, org: str, type: str, seq: int) -> Steps[None]:
        """See to the turn of the pair; the job's number decides nothing here."""
        tick = yield from self._clock.read()
        yield from give_turns(tick, [(org, type)])
        tick.woken += 1
        yield tick.save()

    def left_ready(self, org: str, type: str) -> Steps[None]:
        """Take the turn if this was the last ready job of the pair."""
        yield from drop_empty_pairs([(org, type)])
