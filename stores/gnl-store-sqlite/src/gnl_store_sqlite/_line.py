"""Events of one organization and key, for one consumer: all but the first are blocked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from gnl_store_sql import Step, Steps

# The first of a line may be handed out, whoever was in front of it.
_UNBLOCK_FIRSTS: Final = (
    "UPDATE gnl_deliveries SET blocked = 0 WHERE blocked AND (consumer, position) IN "
    "(SELECT json_extract(k.value, '$[0]'), (SELECT d.position FROM gnl_deliveries d "
    "WHERE d.consumer = json_extract(k.value, '$[0]') AND d.org = json_extract(k.value, '$[1]') "
    "AND d.key = json_extract(k.value, '$[2]') AND d.state != 'quarantined' "
    "ORDER BY d.position LIMIT 1) FROM json_each(?) k) RETURNING position"
)


def move_up(lines: Iterable[tuple[int, str, str | None]]) -> Steps[bool]:
    """Events left these lines, each a consumer, an organization and a key; true if one moved."""
    keyed = [line for line in dict.fromkeys(lines) if line[2] is not None]
    if not keyed:
        return False
    return bool((yield Step(_UNBLOCK_FIRSTS, (json.dumps(keyed, ensure_ascii=False),))))
