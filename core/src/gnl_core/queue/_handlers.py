"""What a worker's handlers are: functions, by job type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.queue._context import JobContext
from gnl_core.runtime import check_handler

Handler: TypeAlias = Callable[[Any, JobContext], Awaitable[object] | object]
"""``async def handler(payload, ctx)``, or a plain ``def``, which runs in a thread."""


def check_handlers(handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """A copy of `handlers`. Raises `InvalidInput` for names and things that cannot be."""
    if not isinstance(handlers, Mapping) or not handlers:
        raise InvalidInput("handlers must be a mapping of job type to function, and not empty")
    for type_, handler in handlers.items():
        check_name(type_, "job type")
        check_handler(handler, f"the handler of {shown(type_)}", "(payload, ctx)")
    return dict(handlers)
