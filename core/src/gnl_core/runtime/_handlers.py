"""Which functions can be handlers, and which of them block."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from gnl_core.errors import InvalidInput

AnyHandler: TypeAlias = Callable[..., Any]


def check_handler(handler: object, what: str, arguments: str) -> None:
    """Refuse what cannot be a handler; `what` and `arguments` are words for the message."""
    if not callable(handler):
        raise InvalidInput(f"{what} is a {type(handler).__name__}; give a function of {arguments}")
    if _is(handler, inspect.isgeneratorfunction) or _is(handler, inspect.isasyncgenfunction):
        raise InvalidInput(
            f"{what} is a generator: calling it runs nothing; take the yield out of it"
        )


def blocks(handler: AnyHandler) -> bool:
    """True for a plain function: it must not run on the event loop."""
    return not _is(handler, inspect.iscoroutinefunction)


def _is(handler: AnyHandler, kind: Callable[[object], bool]) -> bool:
    """Whether a function, what a partial is made of, or a callable object is of a kind."""
    inner: object = handler
    while isinstance(inner, functools.partial):
        inner = inner.func
    return kind(inner) or kind(getattr(inner, "__call__", None))  # noqa: B004
