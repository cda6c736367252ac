"""A script: what is asked of both stores, as plain data that can be drawn, shrunk and repeated.

Jobs and holds are named by their place, counted from the latest, since only a run of the script
gives them ids and tokens. A place that there is not is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from gnl_core.spi import SECOND, Duration, JobState, Scope, Verdict

LANES: Final = (None, "a", "A", "a ", "\uff5a", "\U0001f600")
"""Names that sort otherwise by case, by UTF-16 units, or without their blanks."""
TYPES: Final = ("t", "u")
PAYLOADS: Final = ("null", '{"b": 1,  "a": 1.0}', ' "é" ')
FINISHED: Final = (JobState.DONE, JobState.DEAD, JobState.CANCELED)

Like: TypeAlias = Literal["same", "elsewhere", "upper", "blank"]
"""The same id in the same lane, or in another, in capitals, or with a blank behind it."""

HOUR: Final[Duration] = 3_600 * SECOND


@dataclass(frozen=True, slots=True)
class Times:
    """Durations that a script may use: on a clock that runs, only those that cannot come due.

    `run_ats` are counted from now. On a clock that runs, that now is read before the call that
    adds the job, so none is a sum of other times there: for the reference both would be due at
    once, for the store one after the other.
    """

    ttls: tuple[Duration, ...]
    delays: tuple[Duration, ...]
    run_ats: tuple[Duration, ...]
    moves: tuple[Duration, ...]
    ages: tuple[Duration, ...]


STILL: Final = Times(
    ttls=(3 * SECOND, SECOND, HOUR),
    delays=(0, SECOND, 3 * SECOND),
    run_ats=(0, SECOND, 3 * SECOND, -SECOND, -3 * SECOND),
    moves=(SECOND, 3 * SECOND, SECOND // 1_000),
    ages=(0, SECOND, 5 * SECOND),
)
"""For a clock that stands still between moves: even the very instant is hit."""

STANDING: Final = replace(STILL, moves=())
"""For a clock that stands still and cannot be moved."""

_QUARTER: Final = HOUR // 4

MOVED: Final = Times(
    ttls=(3 * HOUR, HOUR),
    delays=(0, HOUR, 3 * HOUR),
    run_ats=tuple(hours * HOUR - _QUARTER for hours in (0, 1, 3, -1, -3)),
    moves=(HOUR, 2 * HOUR),
    ages=(0, 3 * HOUR // 2),
)
"""For a clock that runs and can be moved: what a script takes itself is nothing to an hour.

What is due goes by whole hours after one call, or by a quarter less for `run_ats`; an age to
prune by is half an hour off. So no two instants that are compared ever meet.
"""

RUNNING: Final = Times(
    ttls=(3 * HOUR, HOUR),
    delays=(0, HOUR),
    run_ats=tuple(hours * HOUR - _QUARTER for hours in (0, 1, -1)),
    moves=(),
    ages=(0, HOUR),
)
"""For a clock that only runs."""


@dataclass(frozen=True, slots=True)
class NewOne:
    """A job to add; `again` is the place of a job whose id it takes, changed as `like` says."""

    lane: str | None
    type: str
    payload: str
    again: int | None
    max_attempts: int | None
    delay: Duration
    run_at: Duration | None
    """Counted from the store's now, which makes it the instant of a `NewJob`."""
    like: Like = "same"


@dataclass(frozen=True, slots=True)
class Add:
    """Add jobs in one call."""

    jobs: tuple[NewOne, ...]
    max_depth: int | None


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim jobs; their holds become the latest."""

    types: tuple[str, ...]
    limit: int
    ttl: Duration
    max_attempts: int


@dataclass(frozen=True, slots=True)
class Extend:
    """Extend the holds at these places."""

    holds: tuple[int, ...]
    ttl: Duration


@dataclass(frozen=True, slots=True)
class Settle:
    """Settle the holds at these places."""

    ends: tuple[tuple[int, Verdict], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Cancel or revive the job at this place."""

    revive: bool
    job: int


@dataclass(frozen=True, slots=True)
class Look:
    """Read the job at this place, the lanes, and the depth of the job's lane."""

    job: int


@dataclass(frozen=True, slots=True)
class Browse:
    """List some states at once, or (without `states`) begin a listing to be read on."""

    scope: Scope
    limit: int
    states: tuple[JobState, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """Read the next page of the listing that was begun last."""


@dataclass(frozen=True, slots=True)
class Prune:
    """Prune finished jobs."""

    states: tuple[JobState, ...]
    older_than: Duration | None
    keep: int | None
    limit: int


@dataclass(frozen=True, slots=True)
class Move:
    """Move the store's clock."""

    by: Duration


Step: TypeAlias = Add | Claim | Extend | Settle | Change | Look | Browse | Turn | Prune | Move
Script: TypeAlias = tuple[Step, ...]
