"""Wake-ups: hints that work may have become ready, sent and heard."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
import uuid
from collections.abc import Callable
from typing import Final, NamedTuple

from gnl_core.spi import StoreError, StoreUnavailable
from gnl_store_postgres._connections import Connection, connect
from gnl_store_postgres._database import Database, raise_as_store_error
from gnl_store_postgres._url import Options

_HINT_SECONDS: Final = 0.02
_RIDE_SECONDS: Final = 0.005
_PING_SECONDS: Final = 15.0
_PONG_SECONDS: Final = 5.0


def channel_of(schema: str) -> str:
    """The channel of the store in `schema`; a channel's name is at most 63 bytes long."""
    return "gnl_" + hashlib.sha256(schema.encode()).hexdigest()[:24]


class Ride(NamedTuple):
    """The channel that a call shall notify, if any, and how many askings that answers."""

    channel: str | None
    covers: int


class Hints:
    """Sends hints that there is something new: the first at once, then one every 20 ms at most.

    NOTIFY takes a database-wide lock until its transaction has ended, so it must be rare. The
    rare ones travel with the work itself; a statement of its own sends only the last of many.
    """

    def __init__(self, database: Database, channel: str) -> None:
        self._database = database
        self._channel = channel
        self._next = 0.0
        self._asked = 0
        self._sent = 0
        self._task: asyncio.Task[None] | None = None

    def ride(self) -> Ride:
        """For a call that is about to add work: whether it shall send a hint itself."""
        now = time.monotonic()
        if now < self._next:
            return Ride(None, 0)
        self._next = now + _HINT_SECONDS
        return Ride(self._channel, self._asked)

    def arrived(self, ride: Ride) -> None:
        """The call has added work."""
        if ride.channel is None:
            self.send()
        else:
            self._sent = max(self._sent, ride.covers)

    def send(self) -> None:
        """Have a hint sent soon: there is new work, committed."""
        self._asked += 1
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        try:
            while self._sent < self._asked:
                wait = self._next - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait + _RIDE_SECONDS)  # a call may take it along
                else:
                    self._next = time.monotonic() + _HINT_SECONDS
                    await self._send()
        finally:
            self._task = None

    async def _send(self) -> None:
        asked = self._asked
        # A hint may be lost: whoever waits also polls.
        with contextlib.suppress(StoreError):
            await self._database.fetch("select pg_notify($1::text, '')", self._channel)
        self._sent = asked

    async def close(self) -> None:
        """Send what is still to be sent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        if self._sent < self._asked:
            await self._send()


async def listen(
    options: Options, database: Database, channel: str, wake: Callable[[], None]
) -> None:
    """Call `wake` for every hint; raises `StoreUnavailable` when the connection is lost."""
    assert options.listen_dsn is not None, "asked only of a store that has wake-ups"
    try:
        connection = await connect(options.listen_dsn, options)
    except Exception as error:
        raise_as_store_error(error)
    try:
        await _Listener(connection, database, channel, wake).run()
    except Exception as error:
        raise_as_store_error(error)
    finally:
        connection.terminate()


class _Listener:
    """One listening connection. Now and then a word is sent to it from another session.

    One that is dead, or not a session of its own, keeps silent.
    """

    def __init__(
        self,
        connection: Connection,
        database: Database,
        channel: str,
        wake: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._database = database
        self._channel = channel
        self._own_channel = f"gnl_{uuid.uuid4().hex}"
        self._wake = wake
        self._heard = asyncio.Event()
        self._lost = asyncio.Event()

    async def run(self) -> None:
        self._connection.add_termination_listener(lambda _: self._lost.set())
        await self._connection.add_listener(self._channel, lambda *_: self._wake())
        await self._connection.add_listener(self._own_channel, lambda *_: self._heard.set())
        while True:
            await self._ping()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._lost.wait(), _PING_SECONDS)
                raise StoreUnavailable("the connection that listens for wake-ups was lost")

    async def _ping(self) -> None:
        self._heard.clear()
        await self._database.fetch("select pg_notify($1::text, '')", self._own_channel)
        try:
            await asyncio.wait_for(self._heard.wait(), _PONG_SECONDS)
        except TimeoutError:
            raise StoreUnavailable(
                "the connection that listens for wake-ups hears nothing: behind a "
                "transaction-mode pooler give `listen_url` or `wake_ups=off`"
            ) from None
