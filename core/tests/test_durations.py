from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnl_core._durations import LONGEST, to_datetime, to_duration, to_instant, to_timedelta
from gnl_core.errors import InvalidInput


@pytest.mark.parametrize(
    ("value", "microseconds"),
    [
        (0, 0),
        (-0.0, 0),
        (1, 1_000_000),
        (0.25, 250_000),
        (1e-6, 1),
        (timedelta(days=1, microseconds=1), 86_400_000_001),
        (timedelta(0), 0),
        (36_525 * 86_400, LONGEST),
    ],
)
def test_durations_are_exact_microseconds(value: object, microseconds: int) -> None:
    assert to_duration(value, "delay") == microseconds


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "delay must be seconds or a timedelta, not bool: True"),
        ("5", "delay must be seconds or a timedelta, not str: '5'"),
        (None, "delay must be seconds or a timedelta, not NoneType"),
        (Decimal(1), "not Decimal"),
        (math.nan, "delay is nan; it must be a finite number"),
        (math.inf, "delay is inf; it must be a finite number"),
        (-1, "delay is -1 s; it must be 0 or more"),
        (timedelta(microseconds=-1), "delay is -1e-06 s; it must be 0 or more"),
        (timedelta.min, "it must be 0 or more"),
        (-(10**5000), "it must be 0 or more"),
        (2**63, "longer than 100 years"),
        (10**5000, "longer than 100 years"),
        (1e308, "longer than 100 years"),
        (timedelta.max, "longer than 100 years"),
    ],
    ids=range(14),
)
def test_nonsense_is_refused_by_name(value: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=r"^delay ") as caught:
        to_duration(value, "delay")
    assert message in str(caught.value)


@pytest.mark.parametrize("value", [0, 1e-9, 0.04])
def test_the_least_duration_counts_after_rounding(value: float) -> None:
    with pytest.raises(InvalidInput, match=r"it must be at least 0\.05 s"):
        to_duration(value, "ttl", least=50_000)


@given(st.datetimes(timezones=st.timezones()))
def test_instants_come_back_as_the_same_moment(moment: datetime) -> None:
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        return
    assert to_datetime(to_instant(moment, "run_at")) == utc


def test_instants_are_microseconds_since_the_epoch() -> None:
    moment = datetime(1970, 1, 1, 2, 0, 0, 1, tzinfo=timezone(timedelta(hours=1)))
    assert to_instant(moment, "run_at") == 3_600_000_001
    assert to_timedelta(1_500_000) == timedelta(seconds=1.5)


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), 5, "2026-01-01T00:00:00Z"])
def test_only_aware_datetimes_are_instants(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"^run_at (is naive|must be an aware datetime)"):
        to_instant(value, "run_at")
