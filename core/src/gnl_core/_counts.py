"""Whole numbers that users give."""

from __future__ import annotations

from typing import Final

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput

LARGEST_COUNT: Final = 2**31 - 1


def to_count(value: object, what: str, *, least: int, none: str = "") -> int:
    """`value` if it is a whole number from `least` up. Raises `InvalidInput`."""
    if type(value) is not int or not least <= value <= LARGEST_COUNT:
        raise InvalidInput(
            f"{what} is {shown(value)}; it must be a whole number from {least}"
            f" to {LARGEST_COUNT:,}{none}"
        )
    return value


def check_count(value: object, what: str, *, least: int) -> int | None:
    """The same, but None may be given and means that there is no such number."""
    return None if value is None else to_count(value, what, least=least, none=", or None")
