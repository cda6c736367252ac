"""Lines that last: written whole behind a checksum, and on the disk before the call returns."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TypeAlias, cast
from zlib import crc32

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"


def pack(content: dict[str, Json]) -> bytes:
    """One line: checksum, space, JSON."""
    text = json.dumps(content, separators=(",", ":")).encode()
    return b"%08x %s\n" % (crc32(text), text)


def unpack(line: bytes) -> dict[str, Json] | None:
    """The content of a line; None if it is not whole."""
    text = line[9:-1]
    if not line.endswith(b"\n") or line[:9] != b"%08x " % crc32(text):
        return None
    return cast("dict[str, Json]", json.loads(text))


def write(descriptor: int, data: bytes) -> int:
    """Write all of it, and come back when it is on the disk; how much that was."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)
    return len(data)


def sync_folder(folder: Path) -> None:
    """Make lasting which files the folder holds."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
