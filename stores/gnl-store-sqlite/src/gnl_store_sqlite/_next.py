"""What a consumer can be handed next: given back, due again, or new."""

from __future__ import annotations

from typing import Final, NamedTuple

from gnl_core.spi import DELIVER_LOOK_LIMIT, Duration, Instant
from gnl_store_sql import Step, Steps

_COLUMNS: Final = "position, seq, org, key, blocked, attempts, due_at, reclaimed"
# Blocked rows stand by themselves in the index: by key they are not even looked at.
_PART: Final = (
    f"SELECT * FROM (SELECT {_COLUMNS}, at FROM gnl_deliveries WHERE consumer = ?1 "  # noqa: S608 (constants only)
    "AND state = '{state}' AND blocked = {blocked} AND at <= ?2 ORDER BY at, position LIMIT ?3)"
)
_NEXT: Final = {
    (state, by_key): f"SELECT {_COLUMNS} FROM ("  # noqa: S608 (constants only)
    + " UNION ALL ".join(
        _PART.format(state=state, blocked=blocked) for blocked in range(1 if by_key else 2)
    )
    + ") ORDER BY at, position LIMIT ?3"
    for state in ("back", "retry")
    for by_key in (False, True)
}
_FIRST: Final = (
    "(SELECT at FROM gnl_deliveries WHERE consumer = ?1 AND state = '{state}' "
    "AND blocked = {blocked} ORDER BY at LIMIT 1)"
)
_BEHIND: Final = "EXISTS (SELECT 1 FROM gnl_log WHERE topic = ?2 AND position > ?3)"


def _first(state: str, blocked: int) -> str:
    return _FIRST.format(state=state, blocked=blocked)


_LOOK: Final = "SELECT " + ", ".join(
    [
        _BEHIND,
        *(_first(state, blocked) for state in ("back", "retry", "held") for blocked in (0, 1)),
    ]
)
_NEW: Final = (
    "SELECT l.position, l.seq, l.org, l.key, l.key IS NOT NULL AND EXISTS (SELECT 1 "
    "FROM gnl_deliveries d WHERE d.consumer = ? AND d.org = l.org AND d.key = l.key "
    "AND d.state != 'quarantined') FROM gnl_log l WHERE l.topic = ? AND l.position > ? "
    "ORDER BY l.position LIMIT ?"
)


class Unsent(NamedTuple):
    """An event that can be handed out or passed over; `due_at` is None for a new one."""

    position: int
    seq: int
    org: str
    key: str | None
    blocked: bool
    attempts: int = 0
    due_at: Instant | None = None
    reclaimed: bool = False

    @property
    def event(self) -> tuple[int, int, str, str | None]:
        """Position, number, organization and key."""
        return self[:4]


def given_back(consumer: int, limit: int, *, by_key: bool) -> Steps[list[Unsent]]:
    """Events that were given back, by position."""
    rows = yield Step(_NEXT["back", by_key], (consumer, 0, limit))
    return [Unsent._make((*row[:7], bool(row[7]))) for row in rows]


def retries(consumer: int, now: Instant, limit: int, *, by_key: bool) -> Steps[list[Unsent]]:
    """Retries that are due, by when and position."""
    rows = yield Step(_NEXT["retry", by_key], (consumer, now, limit))
    return [Unsent._make((*row[:7], bool(row[7]))) for row in rows]


def look(
    topic: str, consumer: int, reach: int, now: Instant, *, by_key: bool
) -> Steps[tuple[bool, Duration | None]]:
    """Whether a delivery would change anything, and how long until an event is due (0: now)."""
    behind, *first = (yield Step(_LOOK, (consumer, topic, reach)))[0]
    back, blocked_back, retry, blocked_retry, *held = first
    parked = (back, retry) if by_key else (back, retry, blocked_back, blocked_retry)
    due = min((at for at in parked if at is not None), default=None)
    due_in = None if due is None else max(0, due - now)
    if behind:
        return True, 0
    return due_in == 0 or any(at is not None and at <= now for at in held), due_in


class NewEvents:
    """Events behind a consumer's reach, read as far as they are needed."""

    def __init__(self, topic: str, consumer: int, reach: int, limit: int, *, by_key: bool) -> None:
        self._topic = topic
        self._consumer = consumer
        self._by_key = by_key
        self._passes = DELIVER_LOOK_LIMIT
        self._read_to = reach
        self._chunk = limit + 1
        self._rows: list[Unsent] = []
        self._lines: set[tuple[str, str]] = set()
        self._next: Unsent | None = None
        self._done = False
        self.passed: list[Unsent] = []
        """Those that the last `next` passed over."""

    def next(self) -> Steps[Unsent | None]:
        """The next one that has not to wait for its key; the same again until it is taken."""
        self.passed = []
        while self._next is None and not self._done:
            one = yield from self._read()
            if one is None or not (self._by_key and one.blocked):
                self._next = one
                self._done = one is None
            elif self._passes:
                self._passes -= 1
                self.passed.append(one)
            else:
                self._done = True
        return self._next

    def take(self) -> None:
        """Go on behind the one that `next` gave."""
        self._next = None

    def _read(self) -> Steps[Unsent | None]:
        if not self._rows:
            asked = (self._consumer, self._topic, self._read_to, self._chunk)
            rows = yield Step(_NEW, asked)
            self._rows = [Unsent(*row) for row in reversed(rows)]
            if not rows:
                return None
            self._read_to = rows[-1][0]
        one = self._rows.pop()
        if one.key is None:
            return one
        line = (one.org, one.key)
        blocked = one.blocked or line in self._lines
        self._lines.add(line)
        return one._replace(blocked=blocked)
