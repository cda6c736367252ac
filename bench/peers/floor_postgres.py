"""The floor on PostgreSQL: the least SQL by hand, on asyncpg, that still survives a crash.

Variant: how many jobs one claim takes and one update finishes. One connection, handlers one after
the other, finished rows stay. Wake-ups by LISTEN, a poll each second behind them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Sequence

import asyncpg
from peer import FINISHED_PAYLOAD, OnJob, Payload, Peer, main

TABLES = """
create table jobs(
  id bigint generated always as identity primary key,
  queue text not null default 'default',
  type text not null default 'noop',
  status smallint not null default 0,
  attempts smallint not null default 0,
  run_at timestamptz not null default now(),
  locked_by text,
  locked_until timestamptz,
  finished_at timestamptz,
  payload jsonb not null);
create index jobs_pending on jobs(queue, run_at, id) where status = 0;
create index jobs_running on jobs(locked_until) where status = 1;
"""
INSERT = """
with added as (insert into jobs(payload) select unnest($1::text[])::jsonb returning 1)
select pg_notify('jobs', '') from added limit 1"""
CLAIM = """
update jobs set status = 1, attempts = attempts + 1, locked_by = $1,
  locked_until = now() + interval '30 s'
where id = any(array(
  select id from jobs where status = 0 and queue = 'default' and run_at <= now()
  order by run_at, id limit $2 for update skip locked))
returning id, payload"""
FINISH = """
update jobs set status = 2, finished_at = now(), locked_by = null, locked_until = null
where id = any($1::bigint[]) and status = 1 and locked_by = $2"""


class FloorPostgres(Peer):
    async def setup(self) -> None:
        connection = await asyncpg.connect(self.target)
        await connection.execute(TABLES)

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        self.connection = await asyncpg.connect(self.target)
        yield

    async def enqueue_one(self, one: Payload) -> None:
        await self.connection.execute(INSERT, [json.dumps(one)])

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        await self.connection.execute(INSERT, [json.dumps(one) for one in many])

    async def prefill_finished(self, n: int) -> None:
        connection = await asyncpg.connect(self.target)
        await connection.execute(
            "insert into jobs(status, attempts, run_at, finished_at, payload)"
            " select 2, 1, now() - interval '1 day', now() - interval '1 day', $1::text::jsonb"
            " from generate_series(1, $2)",
            FINISHED_PAYLOAD,
            n,
        )

    @contextlib.asynccontextmanager
    async def open_enqueue(self) -> AsyncIterator[None]:
        connection = await asyncpg.connect(self.target)
        async with connection.transaction():
            await connection.execute(INSERT, [FINISHED_PAYLOAD])
            yield

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        batch, me = int(self.variant), f"worker-{os.getpid()}"
        connection = await asyncpg.connect(self.target)
        wake = asyncio.Event()
        await connection.add_listener("jobs", lambda *_: wake.set())
        claim, finish = await connection.prepare(CLAIM), await connection.prepare(FINISH)
        while True:
            wake.clear()
            rows = await claim.fetch(me, batch)
            if not rows:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), 1.0)
                continue
            for row in rows:
                on_job(json.loads(row["payload"]))
            await finish.fetch([row["id"] for row in rows], me)


main(FloorPostgres)
