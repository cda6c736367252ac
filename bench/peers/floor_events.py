"""The floor of an event log on PostgreSQL: one table, and a cursor for each consumer.

It reads 100 events behind the cursor, handles them one after the other and moves the cursor. It
loses an event whose transaction commits late, has no retries, and one process for each consumer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import asyncpg
from peer import OnJob, Payload, Peer, main

TABLES = """
create table events(
  id bigint generated always as identity primary key,
  topic text not null default 't',
  emitted_at timestamptz not null default now(),
  payload jsonb not null);
create index events_topic on events(topic, id);
create table cursors(topic text, consumer text, last bigint not null, primary key (topic, consumer))
"""
INSERT = """
with added as (insert into events(payload) select unnest($1::text[])::jsonb returning 1)
select pg_notify('events', '') from added limit 1"""
REGISTER = "insert into cursors values ('t', $1, $2) on conflict do nothing"
READ = """
select id, payload from events
where topic = 't' and id > (select last from cursors where topic = 't' and consumer = $1)
order by id limit 100"""
MOVE = "update cursors set last = $2 where topic = 't' and consumer = $1"


class FloorEvents(Peer):
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

    async def skip(self) -> None:
        connection = await asyncpg.connect(self.target)
        await connection.execute(
            "insert into cursors select 't', $1, coalesce(max(id), 0) from events", self.name
        )

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        connection = await asyncpg.connect(self.target)
        wake = asyncio.Event()
        await connection.add_listener("events", lambda *_: wake.set())
        await connection.execute(REGISTER, self.name, 0)
        read, move = await connection.prepare(READ), await connection.prepare(MOVE)
        while True:
            wake.clear()
            rows = await read.fetch(self.name)
            if not rows:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), 1.0)
                continue
            for row in rows:
                on_job(json.loads(row["payload"]))
            await move.fetch(self.name, rows[-1]["id"])


main(FloorEvents)
