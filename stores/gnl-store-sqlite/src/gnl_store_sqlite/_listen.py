"""Wake-ups: one thread for each file and process looks for commits that matter.

SQLite sends no notices, but a connection can ask cheaply whether another one has committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gnl_core.spi import StoreError, StoreUnavailable
from gnl_store_sqlite._database import connect
from gnl_store_sqlite._errors import DRIVER_ERRORS
from gnl_store_sqlite._url import Location

_INTERVAL: Final = 0.01
_COMMITS: Final = "PRAGMA data_version"
# Changes when jobs are added, and when old ones begin to wait again.
_WORK: Final = "SELECT woken, max(seq, coalesce((SELECT max(seq) FROM gnl_jobs), 0)) FROM gnl_clock"


class _Listener:
    """Whom to wake, on which loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake = wake
        self.lost: asyncio.Future[None] = self._loop.create_future()

    def wake(self) -> None:
        self._call(self._wake)

    def lose(self, reason: str) -> None:
        self._call(self._fail, StoreUnavailable(reason))

    def _fail(self, error: StoreError) -> None:
        if not self.lost.done():
            self.lost.set_exception(error)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        # The loop may have ended without taking its listener away.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)


class _Watcher(threading.Thread):
    """Looks for commits as long as somebody listens."""

    def __init__(self, location: Location) -> None:
        super().__init__(name="gnl-sqlite-listen", daemon=True)
        self._location = location
        self.listeners: set[_Listener] = set()
        self.look_now = threading.Event()

    def run(self) -> None:
        try:
            connection = connect(self._location)
            try:
                self._watch(connection)
            finally:
                connection.close()
        except (*DRIVER_ERRORS, StoreError) as error:
            for listener in _retire(self):
                listener.lose(f"listening on {str(self._location.path)!r} ended: {error}")

    def _watch(self, connection: sqlite3.Connection) -> None:
        commits = work = None
        while self.listeners:
            if (latest := connection.execute(_COMMITS).fetchone()) != commits:
                commits = latest
                if (latest := connection.execute(_WORK).fetchone()) != work:
                    work = latest
                    self._wake()
            self.look_now.wait(_INTERVAL)
            self.look_now.clear()

    def _wake(self) -> None:
        with _LOCK:
            listeners = list(self.listeners)
        for listener in listeners:
            listener.wake()


_LOCK: Final = threading.Lock()
_WATCHERS: Final[dict[Path, _Watcher]] = {}


async def listen(location: Location, wake: Callable[[], None]) -> None:
    """Call `wake` when jobs began to wait; raises `StoreUnavailable` when looking fails."""
    listener = _Listener(wake)
    with _LOCK:
        watcher = _WATCHERS.get(location.path)
        if watcher is None:
            watcher = _WATCHERS[location.path] = _Watcher(location)
            watcher.listeners.add(listener)
            watcher.start()
        else:
            watcher.listeners.add(listener)
            # What came before is not told again: the first look is theirs.
            listener.wake()
    try:
        await listener.lost
    finally:
        _leave(watcher, listener)


def hint(location: Location) -> None:
    """Jobs began to wait, by a commit of this process: look at once."""
    watcher = _WATCHERS.get(location.path)
    if watcher is not None:
        watcher.look_now.set()


def _leave(watcher: _Watcher, listener: _Listener) -> None:
    with _LOCK:
        watcher.listeners.discard(listener)
        if not watcher.listeners and _WATCHERS.get(watcher._location.path) is watcher:
            del _WATCHERS[watcher._location.path]
            watcher.look_now.set()


def _retire(watcher: _Watcher) -> list[_Listener]:
    with _LOCK:
        if _WATCHERS.get(watcher._location.path) is watcher:
            del _WATCHERS[watcher._location.path]
        return list(watcher.listeners)
