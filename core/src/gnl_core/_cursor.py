"""Cursors: a store's position, bound to the listing it belongs to, as text for URLs.

A cursor is base64 of: version, digest of the listing, digest of all that, position. The digests
find mistakes and meddling; they are no secret, and give no rights that a listing does not give.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Final

from gnl_core.errors import InvalidCursor

_VERSION: Final = b"1"
_DIGEST_BYTES: Final = 9
_HEAD_BYTES: Final = len(_VERSION) + 2 * _DIGEST_BYTES
_LONGEST: Final = 8_192


def write_cursor(listing: tuple[str | None, ...], position: str) -> str:
    """The cursor for `position` in `listing`, which names the call and its arguments."""
    body = position.encode()
    bound = _VERSION + _listing_digest(listing)
    return base64.urlsafe_b64encode(bound + _digest(bound + body) + body).decode().rstrip("=")


def read_cursor(listing: tuple[str | None, ...], cursor: str) -> str:
    """The position in `cursor`. Raises `InvalidCursor` if it is damaged or not for `listing`."""
    data = _unpacked(cursor)
    bound = data[: len(_VERSION) + _DIGEST_BYTES]
    check, body = data[len(bound) : _HEAD_BYTES], data[_HEAD_BYTES:]
    if len(data) <= _HEAD_BYTES or check != _digest(bound + body):
        raise InvalidCursor("the cursor is damaged or cut short; start again without a cursor")
    if bound != _VERSION + _listing_digest(listing):
        raise InvalidCursor(
            "the cursor belongs to another listing (organization or state differ);"
            " use it with the call that gave it, or start again without a cursor"
        )
    return body.decode()


def _unpacked(cursor: object) -> bytes:
    if not isinstance(cursor, str):
        raise InvalidCursor(f"a cursor is a str, not {type(cursor).__name__}")
    if len(cursor) > _LONGEST:
        raise InvalidCursor(f"the cursor has {len(cursor):,} characters; none of ours has")
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        canonical = base64.urlsafe_b64encode(data).decode().rstrip("=") == cursor
    except (binascii.Error, ValueError):
        canonical = False
    if not canonical:
        raise InvalidCursor("the cursor is damaged; start again without a cursor")
    return data


def _listing_digest(listing: tuple[str | None, ...]) -> bytes:
    # Lengths first, so that no two listings can read the same.
    parts = (b"-" if part is None else b"%d:" % len(part) + part.encode() for part in listing)
    return _digest(b"".join(parts))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, person=b"gnl cursor").digest()
