"""A consumer as a user would run it, which also writes down when each handler starts and ends.

    python consumer_program.py URL DIARY LEASE PACE NAME [MOMENT]

With MOMENT the process kills itself once: `before` a handler starts, `in` it, `after` it and
before the ack, or once the event is `acked`.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from diary import Diary

from gnl_core import Consumer, EventMeta, Storage, open_storage


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dying(call: Callable[..., Awaitable[Any]], *, first: bool) -> Callable[..., Awaitable[Any]]:
    """`call`, with which the process ends: before it, or when it has been answered."""

    async def last(*args: Any, **options: Any) -> Any:
        if first:
            die()
        answer = await call(*args, **options)
        if getattr(answer, "grants", True):  # not for a delivery of nothing
            die()
        return answer

    return last


def arm(storage: Storage, moment: str) -> None:
    """Have the process end at `moment`."""
    events: Any = storage.work.events  # type: ignore[attr-defined]
    if moment == "before":
        events.deliver = dying(events.deliver, first=False)
    elif moment in ("after", "acked"):
        events.settle = dying(events.settle, first=moment == "after")


async def main(url: str, log: str, lease: float, pace: float, name: str, moment: str) -> None:
    diary = Diary(log)

    async def handle(payload: object, meta: EventMeta) -> None:
        call = {"id": f"{name}/{meta.id}", "attempt": meta.attempt}
        diary.write(event="start", **call)
        if moment == "in":
            die()
        await asyncio.sleep(random.random() * pace)
        diary.write(event="end", **call)

    async with open_storage(url) as storage:
        arm(storage, moment)
        consumer = Consumer(
            storage, "t", name, handle, lease=lease, concurrency=20, poll_longest=0.5
        )
        diary.write(event="up")
        await consumer.run(signals=True)
    diary.write(event="down")


if __name__ == "__main__":
    url, log, lease, pace, name, *moment = sys.argv[1:]
    asyncio.run(main(url, log, float(lease), float(pace), name, *(moment or [""])))
