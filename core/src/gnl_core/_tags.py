"""The values JSON lacks, as tagged JSON, and why a value cannot be kept at all.

A tagged value is ``{"$gnl": [name, content]}``. A dict of the user's that has this one key and
no other is written as ``{"$gnl": ["dict", its value]}``, so that it comes back as it was.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput

TAG: Final = "$gnl"
MAX_LEVELS: Final = 100
MAX_DIGITS: Final = 4_300

_TOO_MANY_DIGITS: Final = 10**MAX_DIGITS


class Refusal(Exception):
    """A value cannot be kept. `steps` is the way to it, innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[str] = []

    def described(self, what: str) -> InvalidInput:
        """The refusal as users see it: the path to the value, then what is wrong with it."""
        return InvalidInput(f"{what}{''.join(reversed(self.steps))}: {self.reason}")


def to_json(value: object, levels: int = MAX_LEVELS) -> object:
    """`value` in terms of JSON, or a `Refusal`. `levels` of nesting may still be used."""
    kind = type(value)
    check = _SCALARS.get(kind)
    if check is not None:
        check(value)
        return value
    if isinstance(value, (dict, list)) and kind in (dict, list):
        if levels == 0:
            raise Refusal(f"nested deeper than {MAX_LEVELS} levels; flatten it")
        return _dict(value, levels) if isinstance(value, dict) else _list(value, levels)
    tag = _WRITERS.get(kind)
    if tag is None:
        raise Refusal(_unknown(value))
    name, write = tag
    return {TAG: [name, write(value)]}


def from_json(found: dict[str, object]) -> object:
    """Undo `to_json` for one parsed object whose contents were undone already."""
    if len(found) != 1 or TAG not in found:
        return found
    match found[TAG]:
        case ["dict", content]:
            return {TAG: content}
        case [str(name), str() | int() as content] if name in _READERS:
            return _READERS[name](content)
    raise ValueError(f"{shown(found[TAG])} is no tag that this version knows")


def _dict(value: dict[object, object], levels: int) -> object:
    written: dict[str, object] = {}
    for key, item in value.items():
        if type(key) is not str:
            raise Refusal(f"key {shown(key)} is a {type(key).__name__}; JSON keys are str")
        try:
            _check_text(key)
            written[key] = to_json(item, levels - 1)
        except Refusal as refusal:
            refusal.steps.append(_step(key))
            raise
    return {TAG: ["dict", written[TAG]]} if len(written) == 1 and TAG in written else written


def _list(value: list[object], levels: int) -> object:
    written = []
    for index, item in enumerate(value):
        try:
            written.append(to_json(item, levels - 1))
        except Refusal as refusal:
            refusal.steps.append(f"[{index}]")
            raise
    return written


def _check_text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        character = ascii(value[error.start])
        raise Refusal(
            f"lone surrogate {character} at character {error.start}; it is no Unicode text"
        ) from None


def _check_int(value: int) -> None:
    if not -_TOO_MANY_DIGITS < value < _TOO_MANY_DIGITS:
        raise Refusal(f"an integer of more than {MAX_DIGITS:,} digits; send it as bytes")
    limit = sys.get_int_max_str_digits()
    if limit and limit < MAX_DIGITS and abs(value) >= 10**limit:
        raise Refusal(f"this interpreter is set to refuse integers of more than {limit} digits")


def _check_float(value: float) -> None:
    if not math.isfinite(value):
        raise Refusal(f"{value} is not a JSON number; send None or text instead")


def _nothing_to_check(value: object) -> None:
    """Any value of this type can be kept."""


def _write_datetime(value: datetime) -> str:
    if value.utcoffset() is None:
        raise Refusal(f"{value.isoformat()} is naive; give it a time zone, as in datetime.now(UTC)")
    return value.isoformat()


def _write_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise Refusal(f"Decimal {value} is not a number; send None or text instead")
    # The context of the moment may say "e"; the same number is to be the same text.
    return str(value).upper()


def _write_timedelta(value: timedelta) -> int:
    return value // timedelta(microseconds=1)


def _write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _read_timedelta(content: int) -> timedelta:
    return timedelta(microseconds=content)


def _read_bytes(content: str) -> bytes:
    return base64.b64decode(content, validate=True)


_SCALARS: Final[dict[type, Callable[..., None]]] = {
    str: _check_text,
    int: _check_int,
    float: _check_float,
    bool: _nothing_to_check,
    type(None): _nothing_to_check,
}

_WRITERS: Final[dict[type, tuple[str, Callable[..., str | int]]]] = {
    datetime: ("datetime", _write_datetime),
    date: ("date", date.isoformat),
    timedelta: ("timedelta", _write_timedelta),
    Decimal: ("decimal", _write_decimal),
    UUID: ("uuid", str),
    bytes: ("bytes", _write_bytes),
}

_READERS: Final[dict[str, Callable[..., object]]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "timedelta": _read_timedelta,
    "decimal": Decimal,
    "uuid": UUID,
    "bytes": _read_bytes,
}

_ADVICE: Final[tuple[tuple[type, str], ...]] = (
    (tuple, "a tuple would come back as a list; pass a list"),
    (dict, "only a plain dict comes back as it was; pass dict(value)"),
    (list, "only a plain list comes back as it was; pass list(value)"),
    (int, "only a plain int comes back as it was; pass int(value)"),
    (float, "only a plain float comes back as it was; pass float(value)"),
    (str, "only a plain str comes back as it was; pass its value"),
)


def _unknown(value: object) -> str:
    kind = type(value)
    for known, advice in _ADVICE:
        if isinstance(value, known):
            return f"{shown(value)} is a {kind.__name__}: {advice}"
    names = ", ".join(sorted(kind.__name__ for kind in _WRITERS))
    return (
        f"{shown(value)} is a {kind.__module__}.{kind.__qualname__}; a payload holds"
        f" JSON values and {names}"
    )


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() and key.isascii() else f"[{json.dumps(key[:60])}]"
