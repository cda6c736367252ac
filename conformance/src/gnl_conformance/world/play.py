"""Plays one world: a storm drawn from a seed, then a calm in which all work has to end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from gnl_conformance import _entries as entries
from gnl_conformance.history import History
from gnl_conformance.world.actors import Actor, Lister, Producer, WorkerActor
from gnl_conformance.world.book import Book
from gnl_conformance.world.loop import SECOND, VirtualTime
from gnl_conformance.world.plan import TYPES, Plan, draw
from gnl_conformance.world.properties import CALM_FROM, ENDED, WHOLE
from gnl_conformance.world.sometimes import count
from gnl_conformance.world.wire import EPOCH, Effect, Wire
from gnl_core import Worker
from gnl_core.spi import EveryLane, Instant, JobRecord, Store

T = TypeVar("T")

Clock: TypeAlias = Callable[[], Instant]

CALM_LIMIT: Final = 200.0
"""Virtual seconds in which all work has to end once nothing goes wrong any more."""

STOP_LIMIT: Final = 60.0
"""Virtual seconds in which a worker without work has to stop."""

_LOOK: Final = 0.2


@dataclass(frozen=True, slots=True)
class Parts:
    """What is under test: a store that answers without waiting, made for a clock; a worker."""

    store: Callable[[Clock], Store]
    worker: type[Worker] = Worker


@dataclass(frozen=True, slots=True)
class Played:
    """A world that has ended."""

    seed: int
    plan: Plan
    history: History
    """As the processes saw it: a call without a reply may have happened."""
    truth: History
    """As the store saw it: what happened, and nothing else."""
    effects: tuple[Effect, ...]
    """What the store was asked, in the order in which it acted, with its answers."""
    seen: Counter[str]
    surprises: tuple[str, ...]
    """Errors where there must be none, in the worker or in the store."""


def play(seed: int, parts: Parts) -> Played:
    """Play the world of a seed. The same seed is the same history, byte for byte."""
    world = World(seed, parts)
    try:
        return world.play()
    except RuntimeError as error:
        raise RuntimeError(f"world {seed}: {error}") from error
    finally:
        world.wire.over = True
        world.time.end()


class World:
    """Everything there is, during one world."""

    def __init__(self, seed: int, parts: Parts) -> None:
        self.seed = seed
        self.rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.plan = draw(self.rng)
        self.seen: Counter[str] = Counter()
        self.time = VirtualTime(self.rng)
        self.book = Book(self.time)
        self.wire = Wire(self.time, self.plan, self.rng, self.book, self.seen)
        self.store = parts.store(lambda: EPOCH + self.time.now)
        self.worker = parts.worker
        self._workers = [
            WorkerActor(self, f"worker{n}", TYPES if n == 0 else TYPES[: 1 + n % 2])
            for n in range(self.plan.workers)
        ]
        self._others: list[Actor] = [
            *(Producer(self, f"producer{n}") for n in range(self.plan.producers)),
            *(Lister(self, f"lister{n}") for n in range(self.plan.listers)),
        ]
        self._cast: list[Actor] = [*self._workers, *self._others]

    def play(self) -> Played:
        """The storm, the calm, and what was left."""
        director = self.time.loop()
        directing = director.create_task(self._direct())
        self.time.run(round((self.plan.storm + CALM_LIMIT + 2 * STOP_LIMIT) * SECOND))
        if not directing.done():
            self.time.surprises.append("the world came to a standstill")
        elif directing.exception() is not None:
            raise directing.exception() or AssertionError
        history = self.book.close(*self._calm_from(), *self._ended_in_calm())
        count(history, self.seen)
        return Played(
            self.seed,
            self.plan,
            history,
            self.book.truth(WHOLE, *self._calm_from()),
            tuple(self.wire.effects),
            self.seen.copy(),
            tuple(self.time.surprises),
        )

    def _calm_from(self) -> list[str]:
        """When no trouble is left; unknown where handlers can be in each other's way."""
        if self.plan.concurrency > 1 or self.plan.claim_ahead:
            return []
        since = 0.0 if self.plan.calm else self.plan.storm + 4 * self.plan.ttl
        return [f"{CALM_FROM}{round(since * SECOND)}"]

    def _ended_in_calm(self) -> list[str]:
        lives = [worker.process for worker in self._workers if worker.process is not None]
        return [ENDED + life.name for life in lives if life.main is not None and life.main.done()]

    async def _direct(self) -> None:
        for actor in self._cast:
            actor.start()
        self._let_things_go_wrong()
        await asyncio.sleep(self.plan.storm)
        self.wire.calm = True
        await self._until(self._all_done, CALM_LIMIT)
        if not await self._until(self._all_stopped, STOP_LIMIT):
            self.time.surprises.append("a worker without work did not stop")
        self._write_down_the_end()
        self.time.over = True

    async def _until(self, done: Callable[[], bool], limit: float) -> bool:
        deadline = self.time.now + limit * SECOND
        while not done():
            if self.time.now > deadline:
                return False
            await asyncio.sleep(_LOOK)
        return True

    def _all_done(self) -> bool:
        for actor in self._cast:
            if not actor.alive and not self._has_ended(actor):
                actor.start()
        still_asking = any(one.alive for one in self._others) or self.wire.on_their_way
        return not still_asking and not _at_once(self.store.jobs.lanes())

    def _all_stopped(self) -> bool:
        for worker in self._workers:
            worker.stop()
        return not any(worker.alive for worker in self._workers)

    def _has_ended(self, actor: Actor) -> bool:
        main = None if actor.process is None else actor.process.main
        return actor in self._others and main is not None and main.done()

    # Trouble

    def _let_things_go_wrong(self) -> None:
        plan = self.plan
        for times, trouble in (
            (plan.crashes, self._crash),
            (plan.pauses, self._pause),
            (plan.restarts, self._restart),
            (plan.absences, self._absence),
        ):
            for _ in range(times):
                asyncio.get_running_loop().call_later(self.rng.uniform(0.0, plan.storm), trouble)

    def _victim(self) -> Actor:
        """Trouble is of most use to somebody who is in the middle of something."""
        busy = [actor for actor in self._cast if actor.busy]
        return self.rng.choice(busy if busy and self.rng.random() < 0.8 else self._cast)

    def _crash(self) -> None:
        actor = self._victim()
        if actor.process is None or not actor.alive or self.wire.calm:
            return
        self.seen["a crash cut off a lease"] += actor.holds
        actor.process.kill()
        self._start_later(actor)

    def _pause(self) -> None:
        actor = self._victim()
        duration = self.rng.uniform(0.5, 2.0) * self.plan.ttl
        if actor.process is not None and actor.alive and not self.wire.calm:
            self.seen["a pause outlasted a lease"] += actor.holds and duration > self.plan.ttl
            actor.process.pause(round(duration * SECOND))

    def _restart(self) -> None:
        actor = self.rng.choice(self._workers)
        if actor.alive and not self.wire.calm:
            self.seen["a worker was stopped with work at hand"] += actor.holds
            actor.stop()
            self._start_later(actor)

    def _absence(self) -> None:
        if not self.wire.calm:
            self.wire.cut(round(self.rng.uniform(0.0, 2 * self.plan.ttl) * SECOND))

    def _start_later(self, actor: Actor) -> None:
        def start() -> None:
            if actor.alive or self._has_ended(actor) or self.wire.calm:
                return
            actor.start()

        asyncio.get_running_loop().call_later(self.rng.uniform(0.0, 2 * self.plan.ttl), start)

    # The end

    def _write_down_the_end(self) -> None:
        line = self.book.began("director", "final", {})
        records: list[JobRecord] = []
        position: str | None = None
        while True:
            page = _at_once(self.store.jobs.page(EveryLane(), position, 500))
            records += page.items
            position = page.position
            if position is None:
                break
        left = entries.final(records)
        self.book.happened(line, left)
        self.book.ended(line, left)


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """The answer of a store that does not wait."""
    try:
        work.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    raise RuntimeError("the store waits for something; a world needs one that answers at once")
