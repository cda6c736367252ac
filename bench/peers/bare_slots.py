"""What 100 slots of one event loop can do: the handlers alone, with no queue behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from peer import OnJob, Payload, Peer, main, payload


class BareSlots(Peer):
    async def prefill(self, many: Sequence[Payload], lanes: int) -> None:
        """There is always work."""

    async def enqueue_one(self, one: Payload) -> None:
        """There is always work."""

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        async def slot() -> None:
            while True:
                on_job(payload(0))
                await asyncio.sleep(wait)

        await asyncio.gather(*(slot() for _ in range(concurrency)))


main(BareSlots)
