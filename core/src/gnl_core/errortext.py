"""What a failed attempt leaves behind: text from an exception that every store can keep."""

from __future__ import annotations

import re
import traceback
from typing import Final

__all__ = ["MAX_CHARACTERS", "clean", "describe"]

MAX_CHARACTERS: Final = 16_000
"""How long a stored error may be; it is cut in the middle."""

_SUMMARY_CHARACTERS: Final = 4_000
_CUT: Final = "\n... {} characters left out ...\n"
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def describe(error: BaseException) -> str:
    """``Type: message`` and the traceback of `error`, cleaned and bounded. Never raises."""
    summary = _bounded(_summary(error), _SUMMARY_CHARACTERS)
    return clean(f"{summary}\n\n{_trace(error)}".rstrip())


def clean(text: str, limit: int = MAX_CHARACTERS) -> str:
    """`text` with NUL and lone surrogates as U+FFFD, at most `limit` characters of it."""
    return _UNSTORABLE.sub("\ufffd", _bounded(text, limit))


def _bounded(text: str, limit: int) -> str:
    """Both ends of `text`: the message is at its beginning, the place at its end."""
    if len(text) <= limit:
        return text
    cut = _CUT.format(len(text) - limit)
    head = (limit - len(cut)) // 2
    tail = limit - len(cut) - head
    return text[:head] + cut + text[-tail:]


def _summary(error: BaseException) -> str:
    try:
        name = type(error).__name__
        module = type(error).__module__
        qualified = name if module in ("builtins", "__main__") else f"{module}.{name}"
        message = _message(error)
        return f"{qualified}: {message}" if message else qualified
    except Exception:  # the failure path must not fail, whatever the exception does
        return "an exception that cannot be described"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # a user's __str__ may raise anything
        return f"(its text cannot be had: str() raised {type(second).__name__})"


def _trace(error: BaseException) -> str:
    """Where it was raised, causes included."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # formatting asks the exception and its causes for their text
        return "".join(_frames(error))


def _frames(error: BaseException) -> list[str]:
    try:
        return traceback.format_tb(error.__traceback__)
    except Exception:  # a frame's source may be unreadable
        return []
