"""The store: one open handle on a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnl_core.spi import Capability, Instant, SchemaVersion
from gnl_store_postgres._database import Database
from gnl_store_postgres._events import PostgresEvents
from gnl_store_postgres._jobs import PostgresJobs
from gnl_store_postgres._schema import PostgresSchema
from gnl_store_postgres._scripts import quoted
from gnl_store_postgres._url import Options, read_url
from gnl_store_postgres._wakeups import Hints, channel_of, listen


class PostgresStore:
    """A store in one schema of a PostgreSQL database.

    Connections are opened when they are needed: at most `Options.pool_size`, one more for
    extending and settling, which must not wait for others while leases run out, and one for
    `listen`.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._database = Database(options, options.pool_size)
        self._urgent = Database(options, 1)
        self._channel = channel_of(options.schema)
        self._hints = Hints(self._database, self._channel)
        self._schema = PostgresSchema(self._database, options.schema)
        parts = (self._database, self._urgent, options.schema, self._channel, self._hints)
        self._jobs = PostgresJobs(*parts)
        self._events = PostgresEvents(*parts)
        self._now = f"select {quoted(options.schema)}.gnl_now()"
        self._latest: Instant = 0

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What is true of this store's environment."""
        always = {Capability.MULTI_PROCESS, Capability.SERVER_CLOCK, Capability.TRANSACTIONS}
        hears = self._options.listen_dsn is not None
        return frozenset(always | {Capability.WAKE_UPS} if hears else always)

    @property
    def jobs(self) -> PostgresJobs:
        """The queue's part."""
        return self._jobs

    @property
    def events(self) -> PostgresEvents:
        """The event log's part."""
        return self._events

    @property
    def statements(self) -> int:
        """How many statements this handle has sent."""
        return self._database.statements + self._urgent.statements

    async def now(self) -> Instant:
        """The server's clock; never earlier than this handle has seen it."""
        rows = await self._database.fetch(self._now)
        self._latest = max(self._latest, rows[0][0])
        return self._latest

    async def schema(self) -> SchemaVersion:
        """Which version of the tables is there and which is needed."""
        return await self._schema.version()

    async def upgrade(self) -> SchemaVersion:
        """Create the tables and functions, or bring them up to date, in one transaction."""
        return await self._schema.upgrade()

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` for every hint, on a connection of its own; never returns."""
        await listen(self._options, self._database, self._channel, wake)

    async def sibling(self) -> PostgresStore:
        """Open another handle on the same data, with one connection of its own."""
        return PostgresStore(replace(self._options, pool_size=1))

    async def close(self) -> None:
        """Send the last hint and close all connections. A second call does nothing."""
        await self._hints.close()
        await self._database.close()
        await self._urgent.close()


async def open_postgres(url: str, /) -> PostgresStore:
    """Open the store at `url`; connects when it is first used. `ValueError` for a bad URL."""
    return PostgresStore(read_url(url))
