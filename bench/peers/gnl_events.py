"""gnl's event log: consumers with their defaults but for `concurrency`, by public calls alone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from peer import OnJob, Payload, Peer, main

from gnl_core import Consumer, Event, EventMeta, emit, emit_many, open_storage


class GnlEvents(Peer):
    async def setup(self) -> None:
        async with open_storage(self.target):
            pass  # the first to open it makes the tables

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        async with open_storage(self.target) as storage:
            self.store = storage.work
            yield

    async def enqueue_one(self, one: Payload) -> None:
        await emit(self.store, "t", one)

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        await emit_many(self.store, [Event("t", one) for one in many])

    async def park(self, n: int) -> None:
        async def fail(one: Payload, meta: EventMeta) -> None:
            raise ValueError("not yet")

        async with open_storage(self.target) as storage:
            await emit_many(storage.work, [Event("t", {"i": -1, "t0": 0}) for _ in range(n)])
            consumer = Consumer(storage, "t", self.name, fail, concurrency=100, retry_delay=3_600)
            await consumer.drain()

    async def skip(self) -> None:
        async def refuse(one: Payload, meta: EventMeta) -> None:
            raise AssertionError("there is nothing behind the latest")

        async with open_storage(self.target) as storage:
            await Consumer(storage, "t", self.name, refuse, start="latest").drain()

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        async def handle(one: Payload, meta: EventMeta) -> None:
            on_job(one)
            if wait:
                await asyncio.sleep(wait)

        async with open_storage(self.target) as storage:
            await Consumer(storage, "t", self.name, handle, concurrency=concurrency).run()


main(GnlEvents)
