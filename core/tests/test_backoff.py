from __future__ import annotations

import logging
import math
from datetime import timedelta

import pytest

from gnl_core.backoff import Backoff, exponential, fixed, next_delay, to_backoff
from gnl_core.errors import InvalidInput

SECOND = 1_000_000


def no_jitter() -> float:
    return 0.0


def most_jitter() -> float:
    return 1.0


def delays(backoff: Backoff, count: int) -> list[float]:
    return [next_delay(backoff, n, no_jitter) / SECOND for n in range(1, count + 1)]


def test_exponential_doubles_up_to_its_cap() -> None:
    assert delays(exponential(), 5) == [1, 2, 4, 8, 16]
    assert delays(exponential(60), 8) == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert delays(exponential(timedelta(seconds=3), factor=1, cap=10), 3) == [3, 3, 3]


@pytest.mark.parametrize("attempt", [60, 5_000, 2**31])
def test_late_attempts_wait_for_the_cap(attempt: int) -> None:
    assert next_delay(exponential(), attempt, no_jitter) == 3_600 * SECOND
    assert next_delay(exponential(0), attempt, no_jitter) == 0


def test_jitter_is_added_after_the_delay_and_never_taken_off() -> None:
    backoff = exponential(8, jitter=0.5)
    assert next_delay(backoff, 1, no_jitter) == 8 * SECOND
    assert next_delay(backoff, 1, most_jitter) == 12 * SECOND
    assert next_delay(backoff, 100, most_jitter) == 5_400 * SECOND


def test_fixed_and_functions() -> None:
    assert delays(fixed(7), 3) == [7, 7, 7]
    assert delays(to_backoff(timedelta(minutes=1), "retry_delay"), 2) == [60, 60]
    assert delays(to_backoff(lambda attempt: attempt * 10, "retry_delay"), 3) == [10, 20, 30]
    assert to_backoff(None, "retry_delay") == to_backoff(None, "retry_delay")
    own = fixed(1)
    assert to_backoff(own, "retry_delay") is own


def broken(attempt: int) -> float:
    raise RuntimeError("no idea")


@pytest.mark.parametrize(
    "function",
    [broken, lambda a: math.nan, lambda a: -1, lambda a: None, lambda a: "5", lambda: 5],
    ids=range(6),
)
def test_nonsense_from_a_function_falls_back_with_a_warning(function, caplog) -> None:
    with caplog.at_level(logging.WARNING, "gnl.backoff"):
        assert next_delay(to_backoff(function, "retry_delay"), 3, no_jitter) == 4 * SECOND
    assert "retry delay after attempt 3" in caplog.text
    mine = fixed(60)
    assert next_delay(Backoff(function), 3, no_jitter, default=mine) == 60 * SECOND


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: exponential(-1), "first is -1 s"),
        (lambda: exponential(cap=math.nan), "cap is nan"),
        (lambda: exponential(factor=0.5), "factor is 0.5"),
        (lambda: exponential(factor=True), "factor is True"),
        (lambda: exponential(jitter=-0.1), "jitter is -0.1"),
        (lambda: fixed("x"), "delay must be seconds"),
        (lambda: to_backoff("x", "retry_delay"), "retry_delay must be seconds"),
        (lambda: to_backoff(True, "retry_delay"), "retry_delay must be seconds"),
    ],
    ids=range(8),
)
def test_bad_options_are_refused_at_construction(make, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
