"""Redis Streams by redis-py: a consumer group for each consumer, 100 entries a read, one ack."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Sequence

import redis.asyncio as redis
from peer import OnJob, Payload, Peer, main
from redis.exceptions import ResponseError


class RedisStreams(Peer):
    async def setup(self) -> None:
        await redis.from_url(self.target).flushall()

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        self.client = redis.from_url(self.target)
        yield

    async def enqueue_one(self, one: Payload) -> None:
        await self.client.xadd("t", {"payload": json.dumps(one)})

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        async with self.client.pipeline(transaction=True) as pipe:
            for one in many:
                pipe.xadd("t", {"payload": json.dumps(one)})
            await pipe.execute()

    async def skip(self) -> None:
        await redis.from_url(self.target).xgroup_create("t", self.name, "$", mkstream=True)

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        client = redis.from_url(self.target)
        with contextlib.suppress(ResponseError):  # the group is there
            await client.xgroup_create("t", self.name, "0", mkstream=True)
        while True:
            found = await client.xreadgroup(self.name, "me", {"t": ">"}, count=100, block=1_000)
            for _, entries in found:
                for _, fields in entries:
                    on_job(json.loads(fields[b"payload"]))
                await client.xack("t", self.name, *(id_ for id_, _ in entries))


main(RedisStreams)
