"""Where a consumer begins, as users say it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.spi import LAST_POSITION, Edge, Start

StartAt: TypeAlias = Literal["earliest", "latest"] | int
"""``"earliest"``, ``"latest"``, or behind the event with this position."""


def to_start(value: object) -> Start:
    """`value` as stores take it. Raises `InvalidInput`."""
    if type(value) is int and 0 <= value <= LAST_POSITION:
        return value
    try:
        return Edge(value)
    except ValueError:
        raise InvalidInput(
            f"start is {shown(value)}; give 'earliest', 'latest', or the position of an event"
        ) from None
