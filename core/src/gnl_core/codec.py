"""Payloads, results and journal values as text that every store can keep.

Any JSON value comes back exactly as it was: key order, integers of up to 4,300 digits, floats
by value, type and sign, text with NUL. So do `datetime` (aware; it comes back with the same
instant and the same offset from UTC), `date`, `timedelta`, `Decimal`, `UUID` and `bytes`.

Everything else is refused rather than changed: NaN and infinities, lone surrogates, keys that
are not `str`, tuples, sets, dataclasses, naive datetimes, and subclasses of the types above
(enum members, ordered dicts, NumPy scalars), which would come back as something else.

The text is JSON, one line, free of NUL characters.
"""

from __future__ import annotations

import json
import json.encoder
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from gnl_core._shown import shown
from gnl_core._tags import MAX_DIGITS, MAX_LEVELS, TAG, Refusal, from_json, to_json
from gnl_core.errors import InvalidInput, UndecodableText

__all__ = ["MAX_BYTES", "Decoded", "decode", "encode", "same_content"]

MAX_BYTES: Final = 1024 * 1024
"""The default limit of one encoded value, in bytes of UTF-8."""

Decoded: TypeAlias = Any
"""What `decode` gives: as with `json.loads`, no static type is of use to a reader."""

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


def encode(value: object, *, what: str = "payload", limit: int = MAX_BYTES) -> str:
    """The text for `value`.

    Raises `InvalidInput` with the path to what cannot be kept, beginning with `what`:
    ``payload.items[3].when: ...``; also if the text is longer than `limit` bytes of UTF-8.
    """
    try:
        plain = value if _is_plain(value, MAX_LEVELS) else to_json(value)
        text = "".join(_chunks(plain, 0))
        if len(text) > MAX_DIGITS and sys.get_int_max_str_digits() != MAX_DIGITS:
            to_json(value)  # the encoder did not count digits as we do
        size = len(text) if text.isascii() else len(text.encode())
    except Refusal as refusal:
        raise refusal.described(what) from None
    except (ValueError, RecursionError) as error:
        raise _explained(value, what, error) from None
    if size > limit:
        raise InvalidInput(
            f"{what}: {size:,} bytes encoded, the limit is {limit:,}; store it elsewhere and"
            " send a reference"
        )
    return text


def decode(text: str) -> Decoded:
    """The value that `encode` wrote as `text`. Raises `UndecodableText`."""
    try:
        # Every tagged value shows its tag literally, so most texts need no second look.
        return _read(_TAGGED if _QUOTED_TAG in text else _PLAIN, text)
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise UndecodableText(f"stored text cannot be decoded: {error}: {shown(text)}") from error


def same_content(a: str, b: str) -> bool:
    """Whether two encoded texts hold the same value, whatever the order of their keys."""
    if a == b:
        return True
    try:
        return _canonical(a) == _canonical(b)
    except (ValueError, RecursionError):
        return False


def _is_plain(value: object, levels: int) -> bool:
    """Whether the JSON encoder alone writes `value` as it is, with no tags.

    What it does not look for is refused later: NaN by the encoder, surrogates in the text.
    """
    if type(value) is dict:
        return levels > 0 and TAG not in value and _is_plain_dict(value, levels - 1)
    if type(value) is list:
        return levels > 0 and _are_plain(value, levels - 1)
    return type(value) in _SCALARS


def _is_plain_dict(value: dict[object, object], levels: int) -> bool:
    for key, child in value.items():
        if type(key) is not str:
            return False
        if type(child) not in _SCALARS and not _is_plain(child, levels):
            return False
    return True


def _are_plain(children: list[object], levels: int) -> bool:
    return all(type(child) in _SCALARS or _is_plain(child, levels) for child in children)


def _explained(value: object, what: str, error: Exception) -> InvalidInput:
    """Find what the fast way stumbled over, by walking `value` the slow way."""
    try:
        to_json(value)
    except Refusal as refusal:
        return refusal.described(what)
    return InvalidInput(f"{what}: {error}")


def _canonical(text: str) -> str:
    return json.dumps(_read(_PLAIN, text), sort_keys=True, ensure_ascii=False)


def _read(decoder: json.JSONDecoder, text: str) -> Decoded:
    value, end = decoder.raw_decode(text)
    if end != len(text):
        raise ValueError(f"there is more after character {end}")
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _chunk_writer(encoder: json.JSONEncoder) -> Callable[[object, int], Iterable[str]]:
    """`encoder.encode` in chunks, without building the C encoder anew on every call.

    That is twice as fast. Interpreters without the C encoder do without.
    """
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return lambda value, _level: (encoder.encode(value),)
    text_writer = json.encoder.encode_basestring
    chunks: Callable[[object, int], Iterable[str]] = make(
        None, encoder.default, text_writer, None, ":", ",", False, False, False
    )
    return chunks


_QUOTED_TAG: Final = f'"{TAG}"'
_PLAIN: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_TAGGED: Final = json.JSONDecoder(parse_constant=_refuse_constant, object_hook=from_json)
_chunks: Final = _chunk_writer(
    json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
    )
)
