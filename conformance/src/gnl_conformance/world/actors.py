"""Who acts in a world: workers, producers and listers, each with lives of its own."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from gnl_conformance.world.loop import SECOND
from gnl_conformance.world.plan import TYPES
from gnl_conformance.world.process import Process
from gnl_conformance.world.store import DistantStore
from gnl_core import (
    DeadLetter,
    GiveBack,
    Job,
    JobContext,
    QueueFull,
    Retry,
    Storage,
    Worker,
    cancel_job,
    enqueue_many,
    prune_jobs,
    retry_job,
)
from gnl_core.spi import EveryLane, StoreError

if TYPE_CHECKING:
    from gnl_conformance.world.play import World

LISTED = 2
"""Jobs on a page."""


class Actor(ABC):
    """One place in the cast; each time it is started it is a new process with a new name."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.plan = world.plan
        self.rng = world.rng
        self.name = name
        self.lives = 0
        self.process: Process | None = None

    @property
    def alive(self) -> bool:
        """True while it has a process."""
        return self.process is not None and self.process.alive

    @property
    def holds(self) -> bool:
        """Whether it holds a lease, as far as it knows."""
        return False

    @property
    def busy(self) -> bool:
        """Whether trouble would find it in the middle of something."""
        return self.alive and self.holds

    def start(self) -> None:
        """Start a new process, on a machine whose clock is wrong in its own way."""
        self.lives += 1
        skew, drift = self.plan.skew, self.plan.drift
        process = Process(
            self.world.time,
            f"{self.name}.{self.lives}",
            offset=self.rng.uniform(-skew, skew),
            rate=1 + self.rng.uniform(-drift, drift),
        )
        self.process = process
        process.start(lambda: self.live(process))

    @abstractmethod
    async def live(self, process: Process) -> None:
        """What its process does."""

    def distant(self, process: Process) -> DistantStore:
        """The store as a process sees it."""
        return DistantStore(self.world.store, self.world.wire, process.name)


class WorkerActor(Actor):
    """A real worker, with handlers that take time, fail, and block."""

    def __init__(self, world: World, name: str, types: tuple[str, ...]) -> None:
        super().__init__(world, name)
        self.types = types
        self.worker: Worker | None = None
        self._asked_to_stop: Worker | None = None

    @property
    def holds(self) -> bool:
        engine = None if self.worker is None else self.worker._engine
        return engine is not None and bool(engine._keeper._held)

    def start(self) -> None:
        self.worker = None
        super().start()

    def stop(self) -> None:
        if self.process and self.worker and self.worker is not self._asked_to_stop:
            self._asked_to_stop = self.worker
            self.process.loop.call_soon(self.worker.stop)

    async def live(self, process: Process) -> None:
        plan = self.plan

        async def handle(_: object, context: JobContext) -> str:
            return await self._handle(process, context)

        kind = type("Worker", (self.world.worker,), {"_machine": process.machine(self.rng)})
        self.worker = kind(
            Storage(self.distant(process)),
            dict.fromkeys(self.types, handle),
            concurrency=plan.concurrency,
            claim_ahead=plan.claim_ahead,
            ttl=plan.ttl,
            max_attempts=plan.max_attempts,
            retry_delay=plan.retry_delay,
            on_revoke="signal" if plan.signal_only else "cancel",
            poll_longest=plan.poll_longest,
            grace=plan.grace,
            max_hold=plan.max_hold,
            name=process.name,
        )
        await self.worker.run()

    async def _handle(self, process: Process, context: JobContext) -> str:
        hold, book = context._grant.hold, self.world.book
        line = book.began(process.name, "run", {"seq": hold.seq, "token": hold.token})
        try:
            await self._labour(process)
            return self._end()
        finally:
            why = context.signal.why
            book.ended(line, {"why": None if why is None else why.value})

    async def _labour(self, process: Process) -> None:
        rng, plan = self.rng, self.plan
        if rng.random() < plan.blocking:
            duration = rng.uniform(0.0, 2 * plan.ttl)
            if duration > plan.ttl:
                self.world.seen["a blocked loop outlasted a lease"] += 1
            process.block(round(duration * SECOND))
            await asyncio.sleep(0)  # what comes after the blocking call comes later
        await asyncio.sleep(min(rng.expovariate(1 / plan.labour), 4 * plan.labour))

    def _end(self) -> str:
        rng, plan = self.rng, self.plan
        if rng.random() >= plan.failing:
            return "done"
        chance = rng.random()
        if chance < 0.2:
            raise Retry(rng.uniform(0.0, plan.ttl))
        if chance < 0.4 and not self.world.wire.calm:
            raise GiveBack(rng.uniform(0.0, plan.ttl))
        if chance < 0.5:
            raise DeadLetter("of no use")
        raise ValueError("a bad day")


class Producer(Actor):
    """Adds what it has to add, again after a crash, and changes its mind about some."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.calls = self._draw()
        self.made = 0
        self.asking = False
        self.mine: list[Job] = []

    def _draw(self) -> list[list[Job]]:
        calls, count = [], 0
        while count < self.plan.jobs:
            size = self.rng.choice((1, 1, 2, 4))
            calls.append([self._job(count + n) for n in range(size)])
            count += size
        return calls

    def _job(self, number: int) -> Job:
        rng, plan = self.rng, self.plan
        if rng.random() < plan.shared_ids:
            number = rng.randrange(3)
            return Job(TYPES[number % 2], id=f"shared-{number}", org_id=plan.lanes[0])
        return Job(
            rng.choice(TYPES),
            id=f"{self.name}-{number}",
            org_id=rng.choice(plan.lanes),
            delay=rng.uniform(0.0, plan.storm) if rng.random() < plan.delayed else None,
            max_attempts=rng.choice((None, None, 1, 3)),
        )

    @property
    def busy(self) -> bool:
        return self.alive and self.asking

    async def live(self, process: Process) -> None:
        store = self.distant(process)
        if self.asking and self.rng.random() < 0.5:
            self.made += 1  # its last life was cut off in a call that this one knows nothing of
        while self.made < len(self.calls):
            jobs, limit = self.calls[self.made], self.plan.max_depth
            await self._patiently(partial(enqueue_many, store, jobs, max_depth=limit))
            self.made += 1
            self.mine += jobs
            await self._pause()
            await self._perhaps(self.plan.canceled, partial(self._one, cancel_job, store))
            await self._perhaps(self.plan.revived, partial(self._one, retry_job, store))
            await self._perhaps(self.plan.pruned, partial(prune_jobs, store, keep=1))

    async def _perhaps(self, chance: float, call: Callable[[], Awaitable[object]]) -> None:
        if self.rng.random() < chance:
            await self._patiently(call)

    async def _one(self, change: Callable[..., Awaitable[object]], store: DistantStore) -> None:
        job = self.rng.choice(self.mine)
        await change(store, job.id, org_id=job.org_id)

    async def _pause(self) -> None:
        if not self.world.wire.calm:
            await asyncio.sleep(self.rng.uniform(0.0, 2 * self.plan.storm / len(self.calls)))

    async def _patiently(self, call: Callable[[], Awaitable[object]]) -> None:
        """Make a call until it is answered, or, at times, until it is not."""
        while True:
            self.asking = True
            try:
                await call()
                return
            except QueueFull:
                return
            except StoreError:
                if self.rng.random() < 0.2:
                    return
            finally:
                self.asking = False
            await asyncio.sleep(self.rng.uniform(0.0, 0.5))


class Lister(Actor):
    """Lists every job, page by page, until the storm is over."""

    async def live(self, process: Process) -> None:
        jobs, number = self.distant(process).jobs, 0
        while not self.world.wire.calm:
            number, position, pages = number + 1, None, 0
            try:
                while True:
                    listing = f"{process.name}-{number}"
                    page = await jobs.page_of(listing, EveryLane(), position, LISTED)
                    position, pages = page.position, pages + 1
                    if position is None:
                        break
                    await asyncio.sleep(self.rng.uniform(0.0, 0.6))
            except StoreError:
                pass
            if pages > 1:
                self.world.seen["a listing took several pages"] += 1
            await asyncio.sleep(self.rng.uniform(0.1, 1.0))
