"""Errors of the driver and the network, told apart: unavailable, rejected, or to be retried.

*Unavailable*: the outcome is unknown, or the same call can succeed a moment later. *Rejected*:
the call had no effect and will have none if repeated.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import asyncpg

from gnl_core.spi import StoreError, StoreRejected, StoreUnavailable


class Fate(Enum):
    """What becomes of an error."""

    UNAVAILABLE = "unavailable"
    REJECTED = "rejected"
    RETRY = "retry"


# By SQLSTATE, or by its class (the first two characters). All others are rejected.
_BY_STATE: Final = {
    "08": Fate.UNAVAILABLE,  # connection exceptions
    "25006": Fate.UNAVAILABLE,  # read-only: a standby, or a primary that is being demoted
    "25P03": Fate.UNAVAILABLE,  # the server ended the session
    "25P04": Fate.UNAVAILABLE,
    "40001": Fate.RETRY,  # serialization failure
    "40003": Fate.UNAVAILABLE,  # completion unknown
    "40P01": Fate.RETRY,  # deadlock
    "53": Fate.UNAVAILABLE,  # out of connections, disk or memory
    "55P03": Fate.UNAVAILABLE,  # lock_timeout
    "57": Fate.UNAVAILABLE,  # shut down, starting up, canceled by an operator or a timeout
    "58": Fate.UNAVAILABLE,  # input or output errors of the server
    "XX": Fate.UNAVAILABLE,  # internal errors of the server
}
_POOLER: Final = ("26000", "42P05")
_NO_TABLES: Final = ("3F000", "42883", "42P01", "42703")


def fate_of(error: BaseException) -> Fate | None:
    """What becomes of `error`; None if it is no error of the driver or the network."""
    if isinstance(error, asyncpg.PostgresError):
        return fate_of_state(error.sqlstate or "")
    if isinstance(error, (ValueError, asyncpg.UnsupportedClientFeatureError)):
        # The driver could not even encode a value. (Its own kind is a ValueError as well.)
        return Fate.REJECTED
    if isinstance(error, (asyncpg.InterfaceError, asyncpg.InternalClientError)):
        # A connection lost in mid-call also arrives as "cannot switch to state ..".
        return Fate.UNAVAILABLE
    if isinstance(error, (OSError, TimeoutError, EOFError)):
        return Fate.UNAVAILABLE
    return None


def fate_of_state(state: str) -> Fate:
    """What becomes of a server's error with this SQLSTATE."""
    return _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or Fate.REJECTED


def store_error(error: BaseException, *, state: str | None = None) -> StoreError | None:
    """The error that a caller sees instead of `error`; None if it has to pass as it is."""
    fate = fate_of(error) if state is None else fate_of_state(state)
    if fate is None:
        return None
    state = state or getattr(error, "sqlstate", None)
    said = f"{type(error).__name__}: {error}".removesuffix(": ")
    if fate is Fate.UNAVAILABLE:
        return StoreUnavailable(f"the database gave no answer ({said})")
    if fate is Fate.RETRY:
        return StoreUnavailable(f"other transactions stood in the way again and again ({said})")
    if state in _NO_TABLES:
        return StoreRejected(f"the tables are missing or old, run `gnl upgrade` ({said})")
    if state in _POOLER:
        return StoreRejected(
            f"a prepared statement went astray: behind a transaction-mode pooler give the URL the "
            f"option pooler=transaction ({said})"
        )
    return StoreRejected(f"the database refused the call ({said})")
