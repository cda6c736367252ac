"""The URL of a store: ``postgresql://user:password@host:port/database?option=value``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

SCHEMES: Final = ("postgresql", "postgres")
CONNECT_TIMEOUT: Final = 10.0
COMMAND_TIMEOUT: Final = 60.0
_DRIVER_OPTIONS: Final = (
    "application_name",
    "host",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
)
_OWN_OPTIONS: Final = (
    "command_timeout",
    "connect_timeout",
    "listen_url",
    "pool_size",
    "pooler",
    "schema",
    "wake_ups",
)


@dataclass(frozen=True, slots=True)
class Options:
    """Where the database is, and how to use it.

    `dsn` is what the driver connects to. `pool_size` is the most connections a store opens
    for its calls; `listen` opens one more. `pooled` says that a transaction-mode pooler stands
    before the server. `listen_dsn` is where to listen for wake-ups; None: nowhere. Timeouts are
    seconds: for opening a connection, and for one statement.
    """

    dsn: str
    schema: str = "public"
    pool_size: int = 10
    pooled: bool = False
    listen_dsn: str | None = None
    connect_timeout: float = CONNECT_TIMEOUT
    command_timeout: float = COMMAND_TIMEOUT


def read_url(url: str) -> Options:
    """The options that `url` names; `ValueError` says what is wrong with it."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(f"a PostgreSQL URL begins with 'postgresql://', not {parts.scheme!r}")
    given: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _OWN_OPTIONS and name not in _DRIVER_OPTIONS:
            known = ", ".join(sorted(_OWN_OPTIONS + _DRIVER_OPTIONS))
            raise ValueError(f"unknown option {name!r}; known are {known}")
        if name in given:
            raise ValueError(f"option {name!r} is given twice")
        given[name] = value
    driver = {name: value for name, value in given.items() if name in _DRIVER_OPTIONS}
    dsn = urlunsplit(parts._replace(query=urlencode(driver)))
    options = Options(
        dsn,
        schema=_schema(given.get("schema", "public")),
        pool_size=_count(given.get("pool_size", "10")),
        pooled=_choice(given, "pooler", {"none": False, "transaction": True}),
        connect_timeout=_seconds(given, "connect_timeout", CONNECT_TIMEOUT),
        command_timeout=_seconds(given, "command_timeout", COMMAND_TIMEOUT),
    )
    return replace(options, listen_dsn=_listen_dsn(given, options))


def _listen_dsn(given: dict[str, str], options: Options) -> str | None:
    if not _choice(given, "wake_ups", {"on": True, "off": False}):
        return None
    url = given.get("listen_url")
    if url is None:
        # LISTEN is bound to a session, which such a pooler does not give.
        return None if options.pooled else options.dsn
    if urlsplit(url).scheme not in SCHEMES:
        raise ValueError(f"listen_url={url!r} is no PostgreSQL URL (percent-encode it)")
    return url


def _schema(value: str) -> str:
    if not value or len(value.encode()) > 63 or "\0" in value:
        raise ValueError(f"schema={value!r} is no name of 1 to 63 bytes")
    return value


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= 1_000:
        raise ValueError(f"pool_size={value!r} is no number from 1 to 1000")
    return int(value)


def _choice(given: dict[str, str], name: str, values: dict[str, bool]) -> bool:
    """The choice made, or else the first."""
    value = given.get(name, next(iter(values)))
    if value not in values:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(values)}")
    return values[value]


def _seconds(given: dict[str, str], name: str, default: float) -> float:
    if name not in given:
        return default
    try:
        seconds = float(given[name])
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 3_600:
        raise ValueError(f"{name}={given[name]!r} is no number of seconds up to 3600")
    return seconds
