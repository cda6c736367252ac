"""Events of one organization and key, for one consumer: all but the first are blocked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gnl_store_sql import Step, Steps

# The first of a line may be handed out, whoever was in front of it.
_UNBLOCK_FIRST: Final = (
    "UPDATE gnl_deliveries SET blocked = 0 WHERE consumer = ?1 AND position = "
    "(SELECT position FROM gnl_deliveries WHERE consumer = ?1 AND org = ?2 AND key = ?3 "
    "AND state != 'quarantined' ORDER BY position LIMIT 1) AND blocked RETURNING position"
)


def move_up(lines: Iterable[tuple[int, str, str | None]]) -> Steps[bool]:
    """Events left these lines, each a consumer, an organization and a key; true if one moved."""
    moved = False
    for line in dict.fromkeys(lines):
        if line[2] is not None:
            moved |= bool((yield Step(_UNBLOCK_FIRST, line)))
    return moved
