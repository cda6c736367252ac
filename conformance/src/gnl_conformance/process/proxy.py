"""Stands between a store's clients and its server, and breaks connections as a seed says.

It knows nothing of what is spoken. A *turn* begins when a client sends something after the
server has last answered. At a turn that is drawn, or that was told, one thing happens:

- LOSE_REPLY: the server gets the request and answers; both ends are then cut off;
- LOSE_REQUEST: both ends are cut off, and the server gets nothing;
- TEAR_REQUEST: the server gets half of the request, then both ends are cut off;
- STALL: the request arrives late, after the leases of most.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections import Counter
from enum import Enum
from types import TracebackType
from typing import Final, TypeAlias

Address: TypeAlias = tuple[str, int]

READ: Final = 65_536


class Strike(Enum):
    """What can happen to a request."""

    LOSE_REPLY = "replies lost"
    LOSE_REQUEST = "requests lost"
    TEAR_REQUEST = "requests torn"
    STALL = "requests stalled"


_WEIGHTS: Final = {
    Strike.LOSE_REPLY: 6,
    Strike.LOSE_REQUEST: 2,
    Strike.TEAR_REQUEST: 1,
    Strike.STALL: 1,
}


class Proxy:
    """A proxy in a thread of its own, so that a client that blocks its event loop is no matter.

    Use it as a context manager. It lets everything through until `strikes` is set, or until it
    is told when to strike by `aim`. The choices for the n-th connection depend on the seed and n
    alone.
    """

    def __init__(self, server: Address, seed: int, *, stall: float) -> None:
        self.server = server
        self.seed = seed
        self.stall = stall
        self.strikes = False
        self.connections = 0
        self.counts: Counter[Strike] = Counter()
        self.address: Address = ("", 0)
        self._aim: list[Strike] = []
        self._links: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gnl-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def aim(self, strike: Strike, turn: int) -> None:
        """Strike at the `turn`-th turn from now, counted over all connections, and only there."""
        self._aim = [strike] * turn

    def hit(self) -> bool:
        """Whether that turn has come; it will not come any more."""
        left, self._aim = self._aim, []
        return not left

    def choose(self, drawn: Strike | None) -> Strike | None:
        """What happens to a turn for which a connection has drawn this."""
        strike = drawn if self.strikes else None
        if self._aim:
            told = self._aim.pop()
            strike = strike if self._aim else told
        if strike is not None:
            self.counts[strike] += 1
        return strike

    def __str__(self) -> str:
        counts = [f"{self.counts[one]} {one.value}" for one in Strike]
        return f"{self.connections} connections: {', '.join(counts)}"

    def _run(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = listening.sockets[0].getsockname()[:2]
        self._ready.set()
        await self._over.wait()
        # Half accepted connections become links yet, but not those of a listener that is closed.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for link in self._links:
                link.cancel()
            await asyncio.wait(others)
        listening.close()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.create_task(_Link(self, self.connections, writer).run(reader))
        self._links.add(task)
        task.add_done_callback(self._links.discard)
        # A link that is cancelled before its first step, or while it connects, cleans up nothing.
        task.add_done_callback(lambda _: writer.transport.abort())


class _Link:
    """One connection of a client, and the one to the server that belongs to it."""

    def __init__(self, proxy: Proxy, number: int, client: asyncio.StreamWriter) -> None:
        self.proxy = proxy
        self.client = client
        self.rng = random.Random(f"{proxy.seed} connection {number}")  # noqa: S311 - to be repeated
        self.next_strike = self._draw()
        self.answered = True
        self.strike: Strike | None = None

    def _draw(self) -> int:
        """How many turns until something happens; many, or a connection never gets to work."""
        return self.rng.randint(4, 40)

    async def run(self, reader: asyncio.StreamReader) -> None:
        try:
            from_server, server = await asyncio.open_connection(*self.proxy.server)
        except OSError:
            self.client.transport.abort()
            await _closed(self.client)
            return
        pumps = [
            asyncio.create_task(self._requests(reader, server)),
            asyncio.create_task(self._replies(from_server)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # First, for what is awaited below may be cancelled.
            server.transport.abort()
            self.client.transport.abort()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            await _closed(server)
            await _closed(self.client)

    async def _requests(self, reader: asyncio.StreamReader, server: asyncio.StreamWriter) -> None:
        while data := await reader.read(READ):
            if self.answered:
                self.answered = False
                self.strike = self.proxy.choose(self._drawn())
            if self.strike is Strike.LOSE_REQUEST:
                return
            if self.strike is Strike.STALL:
                self.strike = None
                await asyncio.sleep(self.rng.uniform(0.3, 1) * self.proxy.stall)
            if self.strike is Strike.TEAR_REQUEST:
                server.write(data[: len(data) // 2])
                await server.drain()
                return
            server.write(data)
            await server.drain()

    async def _replies(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(READ):
            if self.strike is Strike.LOSE_REPLY:
                return
            self.answered = True
            self.client.write(data)
            await self.client.drain()

    def _drawn(self) -> Strike | None:
        if not self.proxy.strikes:
            return None
        self.next_strike -= 1
        if self.next_strike:
            return None
        self.next_strike = self._draw()
        (strike,) = self.rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        return strike


async def _closed(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        await writer.wait_closed()
