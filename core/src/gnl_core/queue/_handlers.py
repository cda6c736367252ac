"""Which functions can be handlers, and which of them block."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.queue._context import JobContext

Handler: TypeAlias = Callable[[Any, JobContext], Awaitable[object] | object]
"""``async def handler(payload, ctx)``, or a plain ``def``, which runs in a thread."""


def check_handlers(handlers: Mapping[str, Handler]) -> dict[str, Handler]:
    """A copy of `handlers`. Raises `InvalidInput` for names and things that cannot be."""
    if not isinstance(handlers, Mapping) or not handlers:
        raise InvalidInput("handlers must be a mapping of job type to function, and not empty")
    for type_, handler in handlers.items():
        check_name(type_, "job type")
        if not callable(handler):
            raise InvalidInput(
                f"the handler of {shown(type_)} is a {type(handler).__name__}; give a function"
                " of (payload, ctx)"
            )
        if _is(handler, inspect.isgeneratorfunction) or _is(handler, inspect.isasyncgenfunction):
            raise InvalidInput(
                f"the handler of {shown(type_)} is a generator: calling it runs nothing;"
                " take the yield out of it"
            )
    return dict(handlers)


def blocks(handler: Handler) -> bool:
    """True for a plain function: it must not run on the event loop."""
    return not _is(handler, inspect.iscoroutinefunction)


def _is(handler: Handler, kind: Callable[[object], bool]) -> bool:
    """Whether a function, what a partial is made of, or a callable object is of a kind."""
    inner: object = handler
    while isinstance(inner, functools.partial):
        inner = inner.func
    return kind(inner) or kind(getattr(inner, "__call__", None))  # noqa: B004
