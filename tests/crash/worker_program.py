"""A worker as a user would run it, which also writes down when each handler starts and ends.

    python worker_program.py URL DIARY TTL PACE

Lines go to an append-only file before and after the handler's work, so that what a killed
process did can be read afterwards.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time

from diary import Diary

from gnl_core import JobContext, Worker, open_storage

PID = os.getpid()


async def main(url: str, log: str, ttl: float, pace: float) -> None:
    diary = Diary(log)

    async def handle(payload: object, ctx: JobContext) -> object:
        diary.write(event="start", id=ctx.id, attempt=ctx.attempt, run_id=ctx.run_id)
        await asyncio.sleep(random.random() * pace)
        diary.write(event="end", id=ctx.id, attempt=ctx.attempt, why=_why(ctx))
        return {"attempt": ctx.attempt, "pid": PID}

    async def block(payload: float, ctx: JobContext) -> object:
        diary.write(event="start", id=ctx.id, attempt=ctx.attempt, run_id=ctx.run_id)
        time.sleep(payload)  # on purpose: the event loop stands still
        diary.write(event="end", id=ctx.id, attempt=ctx.attempt, why=_why(ctx))
        return {"attempt": ctx.attempt, "pid": PID}

    async def poison(payload: object, ctx: JobContext) -> None:
        diary.write(event="start", id=ctx.id, attempt=ctx.attempt, run_id=ctx.run_id)
        os.kill(PID, 9)

    handlers = {"work": handle, "block": block, "poison": poison}
    async with open_storage(url) as storage:
        worker = Worker(storage, handlers, ttl=ttl, concurrency=20, poll_longest=1)
        diary.write(event="up")
        await worker.run(signals=True)
    diary.write(event="down")


def _why(ctx: JobContext) -> str | None:
    return None if ctx.signal.why is None else ctx.signal.why.value


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))
