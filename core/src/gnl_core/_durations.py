"""Durations and instants, from what users write to what stores count: microseconds."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.spi import SECOND, Duration, Instant

Seconds: TypeAlias = float | timedelta
"""A duration as users write it: seconds, or a `timedelta`."""

LONGEST: Final = 36_525 * 86_400 * SECOND
"""The longest duration that is accepted: 100 years."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def to_duration(value: object, what: str, *, least: Duration = 0) -> Duration:
    """`value` (seconds or a `timedelta`) in microseconds; `what` is the word for messages.

    Raises `InvalidInput` unless `least` <= duration <= 100 years.
    """
    duration = _microseconds(value, what)
    if duration < least:
        wanted = f"at least {least / SECOND:g} s" if least else "0 or more"
        raise InvalidInput(f"{what} is {duration / SECOND:g} s; it must be {wanted}")
    if duration > LONGEST:
        raise InvalidInput(f"{what} is longer than 100 years; give a shorter one")
    return duration


def to_timedelta(duration: Duration) -> timedelta:
    """`duration` as users read it."""
    return timedelta(microseconds=duration)


def to_instant(value: object, what: str) -> Instant:
    """An aware `datetime` in microseconds since the epoch. Raises `InvalidInput`."""
    if not isinstance(value, datetime):
        raise InvalidInput(
            f"{what} must be an aware datetime, not {type(value).__name__}: {shown(value)}"
        )
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{what} is naive: {value.isoformat()}; give it a time zone, as in datetime.now(UTC)"
        )
    return (value - _EPOCH) // _MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """`instant` as an aware `datetime` in UTC."""
    return _EPOCH + timedelta(microseconds=instant)


def _microseconds(value: object, what: str) -> Duration:
    if isinstance(value, timedelta):
        return value // _MICROSECOND
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidInput(
            f"{what} must be seconds or a timedelta, not {type(value).__name__}: {shown(value)}"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"{what} is {value}; it must be a finite number of seconds")
    # Far outside either way: kept from overflowing, refused by the caller's range check.
    within = max(-LONGEST, min(LONGEST, value))
    return round(within * SECOND)
