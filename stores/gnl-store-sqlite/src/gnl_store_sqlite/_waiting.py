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


def wait(tick: Tick, jobs: Sequence[Waiting]) -> Steps[None]:
    """Let the jobs wait: those that are due are ready, in this order."""
    yield from make_ready(tick, [job for job in jobs if job.due_at <= tick.now])
    delayed = [job for job in jobs if job.due_at > tick.now]
    if delayed:
        yield Step(_ENTER_DELAYED, delayed, many=True)
        tick.woken += 1


def make_ready(tick: Tick, jobs: Sequence[Waiting]) -> Steps[None]:
    """Make the jobs ready, in this order."""
    if jobs:
        yield Step(_ENTER_READY, jobs, many=True)
        yield from give_turns(tick, [(job.org, job.type) for job in jobs])


def give_turns(tick: Tick, pairs: Iterable[Pair]) -> Steps[None]:
    """Give a turn to each pair that had no ready job, in the order of first mention."""
    turns = [(*pair, tick.next_stamp()) for pair in dict.fromkeys(pairs)]
    yield Step(_ENTER_LANES, turns, many=True)
    tick.woken += 1


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
        yield tick.save()

    def left_ready(self, org: str, type: str) -> Steps[None]:
        """Take the turn if this was the last ready job of the pair."""
        yield from drop_empty_pairs([(org, type)])
