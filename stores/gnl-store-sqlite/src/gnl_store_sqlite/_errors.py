"""Every error of the driver, as one of the two that a store may raise."""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from gnl_core.spi import StoreError, StoreRejected, StoreUnavailable

BUSY: Final = "SQLITE_BUSY"

# By SQLite's primary result codes: the same failure means the same whatever class carries it.
_CODES: Final[dict[int, tuple[type[StoreError], str]]] = {
    sqlite3.SQLITE_BUSY: (
        StoreUnavailable,
        "another writer held the database for longer than the timeout",
    ),
    sqlite3.SQLITE_LOCKED: (StoreUnavailable, "the database is locked within this process"),
    sqlite3.SQLITE_INTERRUPT: (StoreUnavailable, "the statement was interrupted"),
    sqlite3.SQLITE_NOMEM: (StoreUnavailable, "SQLite is out of memory"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "reading or writing the database file failed"),
    sqlite3.SQLITE_PROTOCOL: (StoreUnavailable, "the lock protocol of the database failed"),
    sqlite3.SQLITE_CANTOPEN: (StoreUnavailable, "the database file cannot be opened"),
    sqlite3.SQLITE_FULL: (StoreRejected, "the disk is full, nothing was written"),
    sqlite3.SQLITE_READONLY: (StoreRejected, "the database file cannot be written"),
    sqlite3.SQLITE_PERM: (StoreRejected, "access to the database file was denied"),
    sqlite3.SQLITE_CORRUPT: (
        StoreRejected,
        "the database file is damaged; restore a backup or try `sqlite3 FILE .recover`",
    ),
    sqlite3.SQLITE_NOTADB: (StoreRejected, "the file is not a SQLite database"),
    sqlite3.SQLITE_TOOBIG: (StoreRejected, "a value is larger than SQLite takes"),
}

_CLASSES: Final[tuple[tuple[type[Exception], type[StoreError], str], ...]] = (
    (sqlite3.IntegrityError, StoreRejected, "a constraint of the tables was violated"),
    (sqlite3.DataError, StoreRejected, "a value cannot be stored"),
    (sqlite3.NotSupportedError, StoreRejected, "this SQLite cannot do that"),
    (sqlite3.ProgrammingError, StoreRejected, "the connection cannot be used"),
    (sqlite3.InterfaceError, StoreRejected, "the driver was misused"),
    (sqlite3.InternalError, StoreUnavailable, "SQLite failed internally"),
    (sqlite3.OperationalError, StoreRejected, "SQLite refused the statement"),
    (sqlite3.Error, StoreUnavailable, "SQLite failed"),
    (sqlite3.Warning, StoreRejected, "SQLite refused the statement"),
    (OverflowError, StoreRejected, "a number is beyond 64 bits"),
    (UnicodeError, StoreRejected, "a text cannot be written as UTF-8"),
    (SQLAlchemyError, StoreRejected, "SQLAlchemy refused the statement"),
)

DRIVER_ERRORS: Final = (
    sqlite3.Error,
    sqlite3.Warning,
    OverflowError,
    UnicodeError,
    SQLAlchemyError,
)
"""What may come out of a statement."""


def is_busy(error: BaseException) -> bool:
    """Another connection was in the way; nothing was done, and trying again may help.

    Not so for a stale snapshot: it stays stale until its transaction ends.
    """
    name = getattr(error, "sqlite_errorname", "")
    return bool(name.startswith(BUSY)) and name != "SQLITE_BUSY_SNAPSHOT"


def store_error(error: BaseException) -> StoreError:
    """The store's error for one of `DRIVER_ERRORS`."""
    original = getattr(error, "orig", None) or error
    text = str(original)
    if getattr(original, "sqlite_errorname", "") == "SQLITE_BUSY_SNAPSHOT":
        return StoreUnavailable(
            "the transaction read before another writer committed, so it can no longer write: "
            "roll it back, and begin the next with BEGIN IMMEDIATE"
        )
    if "no such table" in text or "no such column" in text or "has no column" in text:
        return StoreRejected(f"the tables are missing or not up to date, run `gnl upgrade`: {text}")
    kind, meaning = _meaning(original)
    return kind(f"{meaning}: {text}")


def _meaning(error: BaseException) -> tuple[type[StoreError], str]:
    code = getattr(error, "sqlite_errorcode", None)
    # The low byte of an extended result code is its primary code.
    if code is not None and (known := _CODES.get(code & 0xFF)) is not None:
        return known
    for cls, kind, meaning in _CLASSES:
        if isinstance(error, cls):
            return kind, meaning
    return StoreUnavailable, "the driver failed"
