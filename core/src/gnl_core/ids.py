"""Names that users give (ids, organizations, types) and ids made for them."""

from __future__ import annotations

import os
import time
from typing import Final

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput

__all__ = ["MAX_LENGTH", "check_name", "new_id", "new_ids"]

MAX_LENGTH: Final = 255
"""How many characters a name may have."""

_RANDOM_BYTES: Final = 10


def check_name(value: object, what: str) -> str:
    """`value` as a plain `str`, if it may serve as a name; `what` is the word for messages.

    Names are compared byte for byte; any text of 1 to 255 characters will do, except with NUL
    or lone surrogates. Members of a `str` enum count as their value. Raises `InvalidInput`.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be a str, not {type(value).__name__}: {shown(value)}")
    name = value if type(value) is str else str.__str__(value)
    if 0 < len(name) <= MAX_LENGTH and "\0" not in name and (name.isascii() or _is_text(name)):
        return name
    raise InvalidInput(f"{what} {_why_not(name)}")


def new_id() -> str:
    """A new random id: 32 hexadecimal digits, of which the first 12 are the time.

    Ids made about the same time lie side by side in an index. Nothing is decided by that time.
    """
    return _stamp() + os.urandom(_RANDOM_BYTES).hex()


def new_ids(count: int) -> list[str]:
    """`count` new ids in ascending order, which an index takes in fastest.

    They cost one look at the clock and one at the random source.
    """
    stamp, digits = _stamp(), 2 * _RANDOM_BYTES
    pool = os.urandom(_RANDOM_BYTES * count).hex()
    return sorted([stamp + pool[at : at + digits] for at in range(0, digits * count, digits)])


def _stamp() -> str:
    return f"{time.time_ns() // 1_000_000:012x}"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _why_not(name: str) -> str:
    if not name:
        return "is empty; give it at least one character, or None where None is allowed"
    if len(name) > MAX_LENGTH:
        return f"has {len(name):,} characters, the limit is {MAX_LENGTH}: {shown(name, 40)}"
    if "\0" in name:
        return f"contains NUL at character {name.index(chr(0))}: {shown(name)}"
    return f"contains a lone surrogate, which is no Unicode text: {shown(name)}"
