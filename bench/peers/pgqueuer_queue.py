"""PgQueuer: asyncpg driver, durable tables, `run` defaults. Variant: its batch size (default 10).

Its entry points have no limit on concurrency by default, which is how it is used here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import asyncpg
from peer import OnJob, Payload, Peer, main
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries


class Pgqueuer(Peer):
    async def setup(self) -> None:
        await Queries(AsyncpgDriver(await asyncpg.connect(self.target))).install()

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        self.queries = Queries(AsyncpgDriver(await asyncpg.connect(self.target)))
        yield

    async def enqueue_one(self, one: Payload) -> None:
        await self.queries.enqueue("noop", json.dumps(one).encode())

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        payloads: list[bytes | None] = [json.dumps(one).encode() for one in many]
        await self.queries.enqueue(["noop"] * len(many), payloads, [0] * len(many))

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.target)))

        @queue.entrypoint("noop")
        async def noop(job: Job) -> None:
            on_job(json.loads(job.payload or b""))
            if wait:
                await asyncio.sleep(wait)

        await queue.run(batch_size=int(self.variant))


main(Pgqueuer)
