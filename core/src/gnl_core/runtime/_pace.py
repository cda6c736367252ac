"""How long an idle poll waits, and how far a busy one claims ahead. Pure arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable


class IdleWait:
    """Doubling waits between `shortest` and `longest` seconds, with jitter.

    Jitter takes up to a quarter off, so that idle processes drift apart; it never adds.
    """

    def __init__(self, shortest: float, longest: float, random: Callable[[], float]) -> None:
        self._shortest = shortest
        self._longest = longest
        self._random = random
        self._wait = shortest

    def next(self) -> float:
        """The wait after one more empty poll, in seconds."""
        wait = self._wait
        self._wait = min(self._longest, wait * 2)
        return wait * (1 - self._random() / 4)

    def reset(self) -> None:
        """Something was claimed: start again from the shortest."""
        self._wait = self._shortest


class ClaimAhead:
    """How many jobs to hold beyond the running ones so that no slot waits for a claim.

    Three times what the handlers finish while a claim is on its way: next to nothing for long
    handlers, the whole `limit` for tiny ones. A third of it is used up before the next claim, a
    third while that is on its way, the last makes up for uneven claims and handlers. Starts at
    0, so a worker that dies at once takes nothing with it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rate = 0.0
        self._latency = 0.0

    def observe(self, finished: int, elapsed: float, latency: float) -> None:
        """A claim took `latency` seconds; `finished` handlers ended in `elapsed` busy seconds."""
        self._latency = (self._latency + latency) / 2 if self._latency else latency
        if elapsed > 0:
            self._rate = (self._rate + finished / elapsed) / 2

    def reset(self) -> None:
        """Handlers take longer than it looked: hold nothing ahead until some have finished."""
        self._rate = 0.0

    def jobs(self) -> int:
        """How many to claim ahead now."""
        return min(self._limit, math.floor(3 * self._rate * self._latency))


def room(*, concurrency: int, ahead: int, waiting: int, running: int) -> int:
    """How many to claim now, with `waiting` jobs at hand beside the `running` ones.

    Not one by one while the slots are busy: only once a third of what is held ahead is used up.
    """
    if running >= concurrency and waiting > ahead * 2 // 3:
        return 0
    return max(0, concurrency + ahead - waiting - running)
