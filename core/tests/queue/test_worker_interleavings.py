"""Random interleavings of revocations with handlers that end at that very moment."""

from __future__ import annotations

import asyncio
import random
from typing import NoReturn

from gnl_core import JobContext, JobState, Worker, cancel_job, enqueue_many, get_job
from gnl_core.errors import RevokedWhy
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.storage import Storage

JOBS = 4_000


class Interrupter:
    """Revokes what runs after a random number of turns of the loop, as a renewal would."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.keeper: LeaseKeeper[object, object] | None = None
        self.revoked: set[str] = set()

    async def turns(self) -> None:
        for _ in range(self.dice.randrange(4)):
            await asyncio.sleep(0)

    async def revoke(self, storage: Storage, ctx: JobContext) -> None:
        await self.turns()
        answer = await cancel_job(storage.work, ctx.id)
        assert self.keeper is not None
        for execution in list(self.keeper._held):
            if execution.signal is ctx.signal and answer:
                self.revoked.add(ctx.id)
                self.keeper.revoke(execution, RevokedWhy.CANCELED)


async def test_a_cancellation_stays_with_its_job_whenever_it_comes(monkeypatch: object) -> None:
    dice = random.Random(7)
    storage, interrupter = Storage(MemoryStore()), Interrupter(dice)
    tasks: set[asyncio.Task[None]] = set()
    add = LeaseKeeper.add

    def remember(keeper: LeaseKeeper, execution: object) -> None:  # type: ignore[type-arg]
        interrupter.keeper = keeper
        add(keeper, execution)  # type: ignore[arg-type]

    assert hasattr(monkeypatch, "setattr")
    monkeypatch.setattr(LeaseKeeper, "add", remember)

    async def handler(kind: str, ctx: JobContext) -> str:
        try:
            if kind == "victim":
                task = asyncio.create_task(interrupter.revoke(storage, ctx))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await interrupter.turns()
        except asyncio.CancelledError:
            assert kind == "victim", "a cancellation reached the wrong job"
            if dice.random() < 0.5:
                raise
        if dice.random() < 0.2 and kind == "victim":
            return _fail()
        return kind

    kinds = ["victim" if dice.random() < 0.4 else "bystander" for _ in range(JOBS)]
    ids = await enqueue_many(
        storage.work, [Job("t", kind, max_attempts=1, id=str(i)) for i, kind in enumerate(kinds)]
    )
    assert await Worker(storage, {"t": handler}, concurrency=3).drain() == JOBS
    found = [await get_job(storage.work, job_id) for job_id in ids]
    for kind, job in zip(kinds, found, strict=True):
        assert job is not None
        if kind == "bystander":
            assert (job.state, job.result) == (JobState.DONE, "bystander"), job.error
        elif job.id in interrupter.revoked:
            assert job.state is JobState.CANCELED
        else:
            assert job.state in (JobState.DONE, JobState.DEAD, JobState.CANCELED)
    assert len(interrupter.revoked) > JOBS / 10, "nothing was interrupted"
    assert any(job and job.state is JobState.DONE for job in found)


def _fail() -> NoReturn:
    raise ValueError("at the end")
