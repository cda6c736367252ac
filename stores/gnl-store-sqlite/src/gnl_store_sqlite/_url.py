"""The URL of a store: ``sqlite:///relative.db`` or ``sqlite:////absolute/path.db``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, unquote

DEFAULT_TIMEOUT: Final = 5.0
"""Seconds that a call waits for another writer of the file."""

_HEADER: Final = b"SQLite format 3\0"


class Location(NamedTuple):
    """Where the file is, and how long to wait for other writers, in seconds."""

    path: Path
    timeout: float = DEFAULT_TIMEOUT


def read_url(url: str) -> Location:
    """The location that `url` names; `ValueError` says what is wrong with it.

    The path is percent-decoded. The only option is ``timeout``, in seconds.
    """
    rest, _, query = url.removeprefix("sqlite:").partition("?")
    name = unquote(rest.removeprefix("///"))
    if rest in ("", "//", "///") or ":memory:" in rest or "mode=memory" in query:
        raise ValueError(
            f"{url!r} names no file; for a store that lives in memory open 'memory://'"
        )
    if not rest.startswith("///"):
        raise ValueError(
            f"{url!r} needs three slashes and a path: 'sqlite:///relative.db' "
            "or 'sqlite:////absolute/path.db'"
        )
    return Location(_checked(Path(name).absolute()), _timeout(url, query))


def _timeout(url: str, query: str) -> float:
    timeout = DEFAULT_TIMEOUT
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "timeout":
            raise ValueError(f"{url!r} has an unknown option {name!r}; known is 'timeout'")
        try:
            timeout = float(value)
        except ValueError:
            timeout = math.nan
        if not 0 <= timeout <= 3_600:
            raise ValueError(f"timeout={value!r} in {url!r} is no number of seconds up to 3600")
    return timeout


def _checked(path: Path) -> Path:
    if not path.parent.is_dir():
        raise ValueError(
            f"there is no directory {str(path.parent)!r} for the database {path.name!r}"
        )
    if path.is_dir():
        raise ValueError(f"{str(path)!r} is a directory, not a database file")
    if path.exists() and not _is_database(path):
        raise ValueError(f"{str(path)!r} is not a SQLite database")
    return path


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            # An empty file is a database without tables.
            return file.read(len(_HEADER)) in (b"", _HEADER)
    except OSError as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error.strerror}") from None
