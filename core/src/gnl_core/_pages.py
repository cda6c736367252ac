"""Pages of listings, and their cursors: what queue, events and runs show alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput

T_co = TypeVar("T_co", covariant=True)

MAX_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """Some items, and the cursor for the next page (None: this was the last)."""

    items: tuple[T_co, ...]
    next_cursor: str | None


def check_limit(limit: object) -> int:
    """How many items a page may have. Raises `InvalidInput`."""
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(
            f"limit is {shown(limit)}; it must be a whole number from 1 to {MAX_LIMIT:,}"
        )
    return limit
