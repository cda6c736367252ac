"""The storm of lost replies: children work through a proxy that cuts their connections."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from gnl_conformance._harness import StoreConformance
from gnl_conformance._violation import NotRun
from gnl_conformance.checker import so_far
from gnl_conformance.process.driver import Driver, Storm
from gnl_conformance.process.lost import all_were_seen
from gnl_conformance.process.play import TTL
from gnl_conformance.process.proxy import Address, Proxy, Strike
from gnl_core.spi import SECOND

CAST: Final = ("producer", "producer", "worker", "worker", "sleeper")
LIMIT: Final = 30.0
LEAST: Final = 10
"""Replies to be lost at least, but for a store that is slow or seen to be broken."""
LOOK_EVERY: Final = 0.5


async def run_cuts(harness: StoreConformance, server: Address, space: str) -> Storm:
    """Cut connections for a third of `harness.seconds`, or longer until that proves something.

    Raises `RuntimeError` if the children do not come through the proxy, and `NotRun` if no
    reply was lost.
    """
    with (
        tempfile.TemporaryDirectory(prefix="gnl-cuts-") as folder,
        Proxy(server, harness.seeds.start, stall=2 * TTL / SECOND) as proxy,
    ):
        return await _Cutter(harness, space, Path(folder), proxy).play()


class _Cutter(Driver):
    def __init__(self, harness: StoreConformance, space: str, folder: Path, proxy: Proxy) -> None:
        host, port = proxy.address
        super().__init__(harness, space, folder, CAST, ("--proxy", f"{host}:{port}"))
        self.proxy = proxy

    async def storm(self) -> None:
        check_that_it_is_used(self.proxy, self.harness)
        self.proxy.strikes = True
        enough = time.monotonic() + self.harness.seconds * 0.3
        limit = enough + LIMIT
        seen: set[tuple[str, str]] = set()
        while time.monotonic() < limit:
            await asyncio.sleep(LOOK_EVERY)
            history = self.history()
            before, seen = seen, so_far(history)
            if before & seen:
                self.note("the store was seen to be broken: no more strikes")
                break
            lost = self.proxy.counts[Strike.LOSE_REPLY]
            if time.monotonic() > enough and lost >= LEAST and all_were_seen(history):
                break
        self.proxy.strikes = False
        self.note(str(self.proxy))
        if not self.proxy.counts[Strike.LOSE_REPLY]:
            raise NotRun(f"no reply was lost, which proves nothing: run longer; {self.proxy}")


def check_that_it_is_used(proxy: Proxy, harness: StoreConformance) -> None:
    """Refuse a harness whose store goes past the proxy. Raises `RuntimeError`."""
    if not proxy.connections:
        raise RuntimeError(
            f"no connection came through the proxy: `connect` of {type(harness).__name__} must "
            "open the store at `self.address`"
        )
