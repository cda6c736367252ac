"""The store itself: one handle with its own thread, and the function that opens it by URL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from gnl_core.spi import Capability, Instant, JobStore, SchemaVersion, Store, StoreRejected
from gnl_store_files.jobs import FileJobs
from gnl_store_files.log import VERSION, Clock, Log, file_clock
from gnl_store_files.tables import Tables

Answer = TypeVar("Answer")


class FileStore:
    """`Store` on a folder. File calls block, so each handle has a thread for them.

    `timeout` is how many seconds a call waits for the lock. `compact_after` is how many rows
    about the past the log may hold before it is rewritten. `clock` stands in for that of the file
    system, for tests.
    """

    def __init__(
        self,
        folder: Path,
        *,
        timeout: float = 30.0,
        compact_after: int = 10_000,
        clock: Clock = file_clock,
    ) -> None:
        self._folder = folder
        self._again = partial(
            FileStore, folder, timeout=timeout, compact_after=compact_after, clock=clock
        )
        self._log = Log(folder, timeout=timeout, compact_after=compact_after, clock=clock)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gnl-store-files")
        self._closed = False
        self._jobs = FileJobs(self._decide)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Several processes of one machine, whose clock is the store's. No hints, no sessions."""
        return frozenset({Capability.MULTI_PROCESS})

    @property
    def jobs(self) -> JobStore:
        """The queue's part."""
        return self._jobs

    async def now(self) -> Instant:
        """The machine's clock, held back from running back."""
        return await self._decide(lambda _, now: now)

    async def schema(self) -> SchemaVersion:
        """Which version of the log is there and which is needed."""
        return SchemaVersion(await self._run(self._log.version), VERSION)

    async def upgrade(self) -> SchemaVersion:
        """Create folder and log if they are not there."""
        return SchemaVersion(await self._run(self._log.create), VERSION)

    async def listen(self, wake: Callable[[], None]) -> None:
        """No one calls this: the store has no WAKE_UPS."""
        raise StoreRejected("a store on files sends no wake-ups: poll")

    async def sibling(self) -> Store:
        """Another handle, with a thread and descriptors of its own."""
        return self._again()

    async def close(self) -> None:
        """Wait for calls under way, and give thread and descriptors back."""
        if self._closed:
            return
        closing = self._run(self._log.close)
        self._closed = True
        await closing
        self._thread.shutdown(wait=False)

    async def _decide(self, decision: Callable[[Tables, Instant], Answer]) -> Answer:
        return await self._run(lambda: self._log.decide(decision))

    def _run(self, call: Callable[[], Answer]) -> asyncio.Future[Answer]:
        if self._closed:
            raise StoreRejected(f"the store on {self._folder} is closed: open it again")
        return asyncio.get_running_loop().run_in_executor(self._thread, call)


async def open_files(url: str, /) -> FileStore:
    """Open ``files:///folder``, an absolute path, or ``files:folder``; create nothing.

    Options: ``timeout``, ``compact_after``. Raises `ValueError` for a bad URL.
    """
    parts = urlsplit(url)
    if parts.scheme != "files" or parts.netloc or not parts.path:
        raise ValueError(f"{url!r} is not of the form files:///path/of/folder")
    options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    timeout = float(options.pop("timeout", "30"))
    compact_after = int(options.pop("compact_after", "10000"))
    if options:
        raise ValueError(f"{url!r}: no such option: {', '.join(sorted(options))}")
    return FileStore(Path(unquote(parts.path)), timeout=timeout, compact_after=compact_after)
