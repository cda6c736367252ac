"""One connection of our own: settings, transactions, retries, counting. Synchronous."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from gnl_core.spi import StoreRejected
from gnl_store_sql import Rows, Step, Steps
from gnl_store_sqlite._errors import DRIVER_ERRORS, is_busy, store_error
from gnl_store_sqlite._url import Location

_T = TypeVar("_T")

OLDEST_SQLITE: Final = (3, 35, 0)
"""The first version with RETURNING."""

_TRIES: Final = 3
_PAUSE: Final = 0.01

# FULL: a commit is on the disk before it is acknowledged. The journal's file is cut back after
# a burst; the cache holds the inner pages of a large database's indexes.
_SETTINGS: Final = (
    "PRAGMA synchronous = FULL",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -16000",
)


def connect(location: Location, *, create: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode, with this store's settings. Creates only if told to."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreRejected(f"SQLite {sqlite3.sqlite_version} is too old: 3.35 is needed")
    if not create and not location.path.exists():
        raise StoreRejected(
            f"there is no database at {str(location.path)!r} yet: run `gnl upgrade` to create it"
        )
    connection = sqlite3.connect(
        f"{location.path.as_uri()}?mode={'rwc' if create else 'rw'}",
        uri=True,
        timeout=location.timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    for setting in _SETTINGS:
        connection.execute(setting).close()
    return connection


class Database:
    """Runs operations, each in one transaction. Used by one thread at a time."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.statements = 0
        self._connection: sqlite3.Connection | None = None

    def look(self, operation: Callable[[], Steps[_T]]) -> _T:
        """Run an operation of one reading statement."""
        return self._guarded(lambda connection: self._run(connection, operation()))

    def read(self, operation: Callable[[], Steps[_T]]) -> _T:
        """Run a reading operation on one snapshot."""
        return self._guarded(lambda connection: self._transact(connection, "BEGIN", operation))

    def write(self, operation: Callable[[], Steps[_T]]) -> _T:
        """Run a writing operation, alone on the database; all of it happens or nothing."""
        begin = "BEGIN IMMEDIATE"
        return self._guarded(lambda connection: self._transact(connection, begin, operation))

    def create(self) -> None:
        """Make sure that there is a file, and that it writes ahead: readers never block."""
        self._guarded(self._write_ahead, create=True)

    def close(self) -> None:
        """Give the connection back; the next operation opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _guarded(self, call: Callable[[sqlite3.Connection], _T], *, create: bool = False) -> _T:
        tries = 0
        while True:
            tries += 1
            try:
                if self._connection is None:
                    self._connection = connect(self.location, create=create)
                return call(self._connection)
            except DRIVER_ERRORS as error:
                if tries == _TRIES or not is_busy(error):
                    raise store_error(error) from error
                time.sleep(_PAUSE)

    def _transact(
        self, connection: sqlite3.Connection, begin: str, operation: Callable[[], Steps[_T]]
    ) -> _T:
        self._execute(connection, Step(begin, ()))
        try:
            answer = self._run(connection, operation())
            self._execute(connection, Step("COMMIT", ()))
        except BaseException:
            # After some failures (a full disk) SQLite has rolled back already.
            if connection.in_transaction:
                connection.rollback()
            raise
        return answer

    def _run(self, connection: sqlite3.Connection, steps: Steps[_T]) -> _T:
        try:
            step = next(steps)
            while True:
                step = steps.send(self._execute(connection, step))
        except StopIteration as end:
            answer: _T = end.value
            return answer

    def _execute(self, connection: sqlite3.Connection, step: Step) -> Rows:
        self.statements += 1
        values: Any = step.values
        if step.many:
            connection.executemany(step.sql, values)
            return ()
        return connection.execute(step.sql, values).fetchall()

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return
        # The busy timeout does not cover this switch, which needs the file for itself.
        deadline = time.monotonic() + self.location.timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE)
