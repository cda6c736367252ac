"""How long to wait before the next attempt: pure functions of the attempt that failed."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from gnl_core._durations import LONGEST, Seconds, to_duration
from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.spi import SECOND, Duration

__all__ = ["DEFAULT", "Backoff", "RetryDelay", "exponential", "fixed", "next_delay", "to_backoff"]

_log = logging.getLogger("gnl.backoff")


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delays by failed attempt (1 for the first), and how much jitter is added to each.

    With `jitter` 0.1, up to a tenth of the delay is added; never less than the delay is waited.
    """

    delay_after: Callable[[int], Seconds]
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.jitter <= 10:
            raise InvalidInput(f"jitter is {shown(self.jitter)}; it must be from 0 to 10")


RetryDelay: TypeAlias = Seconds | Backoff | Callable[[int], Seconds]
"""What users may give: one delay, a `Backoff`, or a function of the failed attempt."""


def exponential(
    first: Seconds = 1, *, factor: float = 2, cap: Seconds = 3_600, jitter: float = 0.25
) -> Backoff:
    """`first` after the first failure, then `factor` times the last delay, up to `cap`."""
    start = to_duration(first, "first")
    most = to_duration(cap, "cap")
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 1 <= factor <= 1e6:
        raise InvalidInput(f"factor is {shown(factor)}; it must be a number from 1 to 1,000,000")

    def delay_after(attempt: int) -> float:
        try:
            grown = start * float(factor) ** (attempt - 1)
        except OverflowError:
            grown = math.inf if start else 0.0
        return min(grown, most) / SECOND

    return Backoff(delay_after, jitter)


def fixed(delay: Seconds, *, jitter: float = 0.0) -> Backoff:
    """The same delay after every failure."""
    seconds = to_duration(delay, "delay") / SECOND
    return Backoff(lambda _attempt: seconds, jitter)


DEFAULT: Final = exponential()
"""1 s, 2 s, 4 s, ... up to an hour, each with up to a quarter more."""


def to_backoff(value: RetryDelay | None, what: str, *, default: Backoff = DEFAULT) -> Backoff:
    """What a user gave as a `Backoff`; None is `default`. Raises `InvalidInput`."""
    if value is None:
        return default
    if isinstance(value, Backoff):
        return value
    if callable(value):
        return Backoff(value)
    return fixed(to_duration(value, what) / SECOND)


def next_delay(
    backoff: Backoff, attempt: int, random: Callable[[], float], *, default: Backoff = DEFAULT
) -> Duration:
    """Microseconds to wait after failed attempt `attempt`, jitter added. Never raises.

    `random` gives numbers from 0 to 1. If `backoff` is a user's function that raises or answers
    nonsense, a warning is logged and `default` decides.
    """
    try:
        delay = to_duration(backoff.delay_after(attempt), "the retry delay")
    except Exception as error:  # a user's function may raise anything
        _log.warning(
            "retry delay after attempt %d: %s: %s; the default is used instead",
            attempt,
            type(error).__name__,
            shown(str(error), 200),
        )
        backoff = default
        delay = to_duration(default.delay_after(attempt), "the retry delay")
    return min(LONGEST, delay + round(delay * backoff.jitter * random()))
