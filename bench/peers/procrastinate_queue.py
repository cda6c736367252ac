"""Procrastinate: psycopg pool, worker defaults (LISTEN/NOTIFY, 5 s poll, 10 s heartbeat)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from peer import OnJob, Payload, Peer, main
from procrastinate import App, PsycopgConnector


class Procrastinate(Peer):
    def __init__(self, target: str, variant: str) -> None:
        super().__init__(target, variant)
        self.app = App(connector=PsycopgConnector(conninfo=target, min_size=1, max_size=12))

        @self.app.task(name="noop", queue="default")
        async def noop(one: Payload) -> None:
            self.on_job(one)
            if self.wait:
                await asyncio.sleep(self.wait)

        self.task = noop

    async def setup(self) -> None:
        async with self.app.open_async():
            await self.app.schema_manager.apply_schema_async()

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        async with self.app.open_async():
            yield

    async def enqueue_one(self, one: Payload) -> None:
        await self.task.defer_async(one=one)

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        await self.task.batch_defer_async(*[{"one": one} for one in many])

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        self.on_job, self.wait = on_job, wait
        async with self.app.open_async():
            await self.app.run_worker_async(
                queues=["default"], concurrency=concurrency, install_signal_handlers=False
            )


main(Procrastinate)
