"""The store: one handle on a SQLite file."""

from __future__ import annotations

from collections.abc import Callable

from gnl_core.spi import Capability, Instant, SchemaVersion
from gnl_store_sql import VERSION, Steps
from gnl_store_sqlite._clock import Clock
from gnl_store_sqlite._database import Database
from gnl_store_sqlite._events import SqliteEvents
from gnl_store_sqlite._jobs import SqliteJobs
from gnl_store_sqlite._listen import hint, listen
from gnl_store_sqlite._schema import SCHEMA
from gnl_store_sqlite._thread import OperationThread
from gnl_store_sqlite._url import Location, read_url

_CAPABILITIES = frozenset({Capability.MULTI_PROCESS, Capability.TRANSACTIONS, Capability.WAKE_UPS})


class SqliteStore:
    """A handle with one connection and one thread; `open_sqlite` opens it.

    `clock` stands in for the machine's clock (microseconds since the epoch), for tests.
    """

    def __init__(self, location: Location, *, clock: Callable[[], Instant] | None = None) -> None:
        self._location = location
        self._wall = clock
        self._clock = Clock(clock)
        self._database = Database(location)
        self._thread = OperationThread(f"gnl-sqlite {location.path.name}")
        parts = (self._database, self._thread, self._clock, lambda: hint(location))
        self._jobs = SqliteJobs(*parts)
        self._events = SqliteEvents(*parts)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What is true of this store's environment."""
        return _CAPABILITIES

    @property
    def jobs(self) -> SqliteJobs:
        """The queue's part."""
        return self._jobs

    @property
    def events(self) -> SqliteEvents:
        """The event log's part."""
        return self._events

    @property
    def statements(self) -> int:
        """How many statements this handle has sent so far."""
        return self._database.statements

    async def now(self) -> Instant:
        """The store's clock; see `gnl_store_sqlite._clock.settled` for clocks that differ."""
        return await self._thread.run(lambda: self._database.look(self._now))

    async def schema(self) -> SchemaVersion:
        """Which version of the tables is there and which is needed."""
        return await self._thread.run(self._schema)

    async def upgrade(self) -> SchemaVersion:
        """Create the file and the tables, or bring them up to date."""
        return await self._thread.run(self._upgrade)

    async def listen(self, wake: Callable[[], None]) -> None:
        """Call `wake` when there is new work, here or in another process (within 10 ms)."""
        await listen(self._location, wake)

    async def sibling(self) -> SqliteStore:
        """Another handle on the same file."""
        return SqliteStore(self._location, clock=self._wall)

    async def close(self) -> None:
        """Finish what was begun, then give connection and thread back."""
        await self._thread.close(self._database.close)

    def _now(self) -> Steps[Instant]:
        return (yield from self._clock.read()).now

    def _schema(self) -> SchemaVersion:
        if not self._location.path.exists():
            return SchemaVersion(found=None, needed=VERSION)
        return SchemaVersion(self._database.read(SCHEMA.version), VERSION)

    def _upgrade(self) -> SchemaVersion:
        found = self._schema()
        if found.found is not None and found.found >= VERSION:
            return found
        self._database.create()
        return SchemaVersion(self._database.write(SCHEMA.upgrade), VERSION)


async def open_sqlite(url: str, /) -> SqliteStore:
    """Open the store at ``sqlite:///relative.db`` or ``sqlite:////absolute/path.db``.

    The path is percent-decoded. ``?timeout=5`` is how many seconds a call waits for another
    writer. Creates nothing; raises `ValueError` for a bad URL and for a file that is no
    database.
    """
    return SqliteStore(read_url(url))
