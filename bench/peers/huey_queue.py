"""Huey on SQLite: library defaults (WAL, synchronous FULL), threads. Variant: how many threads.

It has no call for many jobs. It deletes a job before it runs it: a killed worker loses the job.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from huey import SqliteHuey
from peer import OnJob, Payload, Peer, main


class Huey(Peer):
    def __init__(self, target: str, variant: str) -> None:
        super().__init__(target, variant)
        self.huey = SqliteHuey("bench", filename=target)

        @self.huey.task(name="noop")
        def noop(one: Payload) -> None:
            self.on_job(one)

        self.task = noop

    async def enqueue_one(self, one: Payload) -> None:
        self.task(one)

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        for one in many:
            self.task(one)

    async def prefill(self, many: Sequence[Payload], lanes: int) -> None:
        """Write the same rows as its own call would, in one transaction."""
        connection = self.huey.storage._create_connection()
        connection.execute("begin")
        connection.executemany(
            "insert into task(queue, data, priority) values(?, ?, 0)",
            ((self.huey.name, self.huey.serialize_task(self.task.s(one))) for one in many),
        )
        connection.execute("commit")

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        self.on_job = on_job
        logging.getLogger("huey").setLevel(logging.WARNING)
        threads = int(self.variant)
        self.huey.create_consumer(workers=threads, worker_type="thread", periodic=False).start()
        await asyncio.sleep(3_600)


main(Huey)
