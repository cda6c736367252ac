"""Connections to the server: opened on demand, kept for the next call, never more than asked.

The driver's own pool sends a statement to reset each connection after use. Nothing here leaves
anything in a session, so that round trip is saved.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeAlias

import asyncpg

from gnl_core.spi import StoreUnavailable
from gnl_store_postgres._errors import store_error
from gnl_store_postgres._url import Options

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_IDLE_SECONDS: Final = 300.0
"""A connection unused for longer is opened anew: something between may have dropped it."""


async def connect(dsn: str, options: Options) -> Connection:
    """Open a connection; raises as the driver does."""
    return await asyncpg.connect(
        dsn,
        timeout=options.connect_timeout,
        command_timeout=options.command_timeout,
        # Behind a transaction-mode pooler the next statement may meet another session.
        statement_cache_size=0 if options.pooled else 100,
    )


class Connections:
    """At most `size` connections; who comes first is served first."""

    def __init__(self, options: Options, size: int) -> None:
        self._options = options
        self._slots = asyncio.Semaphore(size)
        self._idle: list[tuple[Connection, float]] = []
        self._busy: set[Connection] = set()
        self._closed = False

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """A connection outside any transaction; raises as the driver does."""
        connection = await self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    async def take(self) -> Connection:
        """A connection outside any transaction, until `give_back`; raises as the driver does."""
        await self._slots.acquire()
        try:
            connection = await self._take()
        except BaseException:
            self._slots.release()
            raise
        self._busy.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """End the use of a connection that `take` gave."""
        self._busy.discard(connection)
        self._keep(connection)
        self._slots.release()

    async def _take(self) -> Connection:
        if self._closed:
            raise StoreUnavailable("this store handle is closed")
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed():
                if time.monotonic() - since < _IDLE_SECONDS:
                    return connection
                connection.terminate()
        return await connect(self._options.dsn, self._options)

    def _keep(self, connection: Connection) -> None:
        if connection.is_closed():
            # The others are likely lost as well: do not let each of them fail a call first.
            self._drop_idle()
        elif self._closed or connection.is_in_transaction():
            # A call broken off in the middle. The server rolls back what it had begun.
            connection.terminate()
        else:
            self._idle.append((connection, time.monotonic()))

    def _drop_idle(self) -> None:
        for connection, _ in self._idle:
            connection.terminate()
        self._idle.clear()

    async def close(self) -> None:
        """Close what is idle, break off what is busy. A second call does nothing."""
        self._closed = True
        idle, self._idle = self._idle, []
        for connection in list(self._busy):
            connection.terminate()
        for connection, _ in idle:
            try:
                await connection.close(timeout=5)
            except Exception as error:
                if store_error(error) is None:
                    raise
                connection.terminate()
