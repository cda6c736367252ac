"""gnl: a worker with its defaults but for `concurrency`, through its public calls alone.

Fencing tokens, fair lanes, run ids and lease renewal are on; they cannot be switched off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

import asyncpg
from peer import FINISHED_PAYLOAD, OnJob, Payload, Peer, main

from gnl_core import Job, JobContext, Worker, enqueue, enqueue_many, open_storage

# What a million jobs leave behind, in the shape of the store's own tables.
FINISHED = """
with added as (
  insert into gnl_jobs(org, id, type, payload, enqueued_at)
  select '', 'old-' || g, 'noop', $1, 1 from generate_series(1, $2::bigint) g returning seq)
insert into gnl_finished(seq, org, state, result, attempts, finished_at)
select seq, '', 'done', 'null', 1, 1 from added"""


class Gnl(Peer):
    async def setup(self) -> None:
        async with open_storage(self.target):
            pass  # the first to open it makes the tables

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        async with open_storage(self.target) as storage:
            self.work_store = storage.work
            yield

    async def enqueue_one(self, one: Payload) -> None:
        await enqueue(self.work_store, "noop", one)

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        await enqueue_many(self.work_store, [Job("noop", one) for one in many])

    async def prefill(self, many: Sequence[Payload], lanes: int) -> None:
        jobs = [
            Job("noop", one, org_id=f"org-{int(one['i']) % lanes}" if lanes > 1 else None)
            for one in many
        ]
        await enqueue_many(self.work_store, jobs)

    async def prefill_finished(self, n: int) -> None:
        connection = await asyncpg.connect(self.target)
        await connection.execute(FINISHED, FINISHED_PAYLOAD, n)

    @contextlib.asynccontextmanager
    async def open_enqueue(self) -> AsyncIterator[None]:
        connection = await asyncpg.connect(self.target)
        async with open_storage(self.target) as storage, connection.transaction():
            await enqueue(storage.work, "noop", {"t0": 0}, connection=connection)
            yield

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        async def noop(one: Payload, ctx: JobContext) -> None:
            on_job(one)
            if wait:
                await asyncio.sleep(wait)

        async with open_storage(self.target) as storage:
            await Worker(storage, {"noop": noop}, concurrency=concurrency).run()


main(Gnl)
