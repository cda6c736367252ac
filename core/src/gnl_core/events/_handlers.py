"""What a consumer's handler is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from gnl_core.events._meta import EventMeta

Handler: TypeAlias = Callable[[Any, EventMeta], Awaitable[object] | object]
"""``async def handler(payload, meta)``, or a plain ``def``, which runs in a thread."""
