"""The store's clock, and the counters that go with it, in the one row of gnl_clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gnl_core.spi import SECOND, Instant
from gnl_store_sql import Row, Step, Steps

# SQLite's own clock, in whole milliseconds; unixepoch('subsec') is NULL before 3.42.
WALL: Final = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"

# The last job tells the last sequence number and a late instant, so that adding one need not
# write this row: a page less to bring to the disk. (Pruning writes it first.)
_LAST_JOB: Final = "FROM gnl_jobs ORDER BY seq DESC LIMIT 1"
_COLUMNS: Final = (
    f"max(now, coalesce((SELECT enqueued_at {_LAST_JOB}), 0)), {WALL}, stamp, token, "
    f"max(seq, coalesce((SELECT seq {_LAST_JOB}), 0)), woken"
)
_READ: Final = f"SELECT {_COLUMNS} FROM gnl_clock"  # noqa: S608 (constants only)
# Writing first takes the write lock before anything is read: no stale snapshot afterwards.
_LOCK: Final = f"UPDATE gnl_clock SET stamp = stamp RETURNING {_COLUMNS}"  # noqa: S608 (constants only)
_SAVE: Final = "UPDATE gnl_clock SET now = ?, stamp = ?, token = ?, seq = ?, woken = ?"

TOLERANCE: Final = 600 * SECOND
"""By how much a clock may lag behind the latest instant in the file and be taken for late.

One that is further behind was set back: it is followed, or else time would stand still until
it has caught up.
"""


def settled(latest: Instant, wall: Instant) -> Instant:
    """Now, for a process whose clock shows `wall` and a file last written at `latest`."""
    return latest if wall < latest <= wall + TOLERANCE else wall


class Tick:
    """One reading of the clock, with the counters; `save` writes them back."""

    __slots__ = ("now", "seq", "stamp", "token", "woken")

    def __init__(self, now: Instant, stamp: int, token: int, seq: int, woken: int) -> None:
        self.now = now
        self.stamp = stamp
        self.token = token
        self.seq = seq
        self.woken = woken

    def next_stamp(self) -> int:
        """A stamp after all others."""
        self.stamp = max(self.now, self.stamp + 1)
        return self.stamp

    def next_token(self) -> int:
        """A fencing token above all others."""
        self.token += 1
        return self.token

    def save(self) -> Step:
        """Write time and counters back."""
        return Step(_SAVE, (self.now, self.stamp, self.token, self.seq, self.woken))


class Clock:
    """Reads gnl_clock; `wall`, if given, stands in for SQLite's own clock."""

    def __init__(self, wall: Callable[[], Instant] | None = None) -> None:
        self._wall = wall

    def now(self, latest: Instant, wall: Instant) -> Instant:
        """Now, from the two clock columns of a row."""
        return settled(latest, wall if self._wall is None else self._wall())

    def read(self) -> Steps[Tick]:
        """The time, for an operation that holds the write lock already."""
        rows = yield Step(_READ, ())
        return self._tick(rows[0])

    def lock(self) -> Steps[Tick]:
        """The time, taking the write lock of the transaction."""
        rows = yield Step(_LOCK, ())
        return self._tick(rows[0])

    def _tick(self, row: Row) -> Tick:
        latest, wall, *counters = row
        return Tick(self.now(latest, wall), *counters)
