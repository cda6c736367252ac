"""Sends children into a storm, lets it calm down, and brings back the history."""

from __future__ import annotations

import abc
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gnl_conformance import _entries as entries
from gnl_conformance._harness import StoreConformance, owns_its_server, where
from gnl_conformance.checker import (
    PROPERTIES,
    Property,
    reclaims_were_seen,
    refusals_were_seen,
    so_far,
)
from gnl_conformance.history import History, Writer, read
from gnl_conformance.process.actors import Actor
from gnl_conformance.process.play import QUIET, STOP, TTL
from gnl_core.spi import SECOND, EveryLane, JobRecord, Store, StoreUnavailable

CAST = ("producer", "producer", "worker", "worker", "sleeper", "lister")
START_LIMIT = 30.0
QUIET_LIMIT = 20.0
LOOK_EVERY = 0.7


@dataclass(frozen=True, slots=True)
class Storm:
    """What was seen, and the seed that chose it."""

    history: History
    seed: int


async def run_storm(harness: StoreConformance, space: str) -> Storm:
    """Torment the store for `harness.seconds` (a third of it is calm)."""
    with tempfile.TemporaryDirectory(prefix="gnl-storm-") as folder:
        return await Killer(harness, space, Path(folder), CAST).play()


class Driver(abc.ABC):
    """Starts a cast of children, lets a subclass torment them, and sees all work to its end."""

    def __init__(
        self,
        harness: StoreConformance,
        space: str,
        folder: Path,
        roles: Sequence[str],
        options: tuple[str, ...] = (),
    ) -> None:
        self.harness = harness
        self.space = space
        self.folder = folder
        self.seed = harness.seeds.start
        self.rng = random.Random(self.seed)  # noqa: S311 - to be repeated, not to be secret
        self.notes: list[str] = []
        name = where(type(harness))
        self.cast = [
            Actor(role, f"{role}-{number}", name, space, folder, self.seed, options)
            for number, role in enumerate(roles, start=1)
        ]

    @abc.abstractmethod
    async def storm(self) -> None:
        """What is done to the children or their connections, and undone at its end."""

    async def play(self) -> Storm:
        """From an empty space to the history of all."""
        try:
            async with self.harness.connect(self.space) as store:
                await store.upgrade()
                return Storm(await self._run(store), self.seed)
        finally:
            for actor in self.cast:
                actor.kill()
            await self.harness.drop(self.space)

    async def _run(self, store: Store) -> History:
        for actor in self.cast:
            actor.start()
        await self._all_busy()
        await self.storm()
        (self.folder / QUIET).touch()
        await self._calm(store)
        (self.folder / STOP).touch()
        await self._farewell()
        await self._write_down_the_end(store)
        return self.history()

    def history(self) -> History:
        """What the children have written so far."""
        return read(sorted(self.folder.glob("*.jsonl")), self.notes)

    async def _all_busy(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while not all(actor.busy for actor in self.cast):
            for actor in self.cast:
                if not actor.alive or time.monotonic() > deadline:
                    raise RuntimeError(f"{actor.who} did not start:\n{actor.last_words()}")
            await asyncio.sleep(0.05)

    async def _calm(self, store: Store) -> None:
        """Wait until everything has ended, or long enough."""
        deadline = time.monotonic() + QUIET_LIMIT
        while time.monotonic() < deadline:
            try:
                producing = any(one.alive for one in self.cast if one.role == "producer")
                if not producing and not await store.jobs.lanes():
                    return
            except StoreUnavailable:
                self.note("the driver's own handle was cut off")
            await asyncio.sleep(0.1)

    async def _farewell(self) -> None:
        for actor in self.cast:
            deadline = time.monotonic() + 5
            while actor.alive and time.monotonic() < deadline:  # noqa: ASYNC110 - a process
                await asyncio.sleep(0.02)
            actor.kill()

    async def _write_down_the_end(self, store: Store) -> None:
        writer = Writer(self.folder / "driver.jsonl", "driver")
        number = writer.began("final", {})
        records: list[JobRecord] = []
        position: str | None = None
        while True:
            page = await store.jobs.page(EveryLane(), position, 500)
            records += page.items
            position = page.position
            if position is None:
                break
        writer.ended(number, entries.final(records))

    def note(self, text: str) -> None:
        """Say in the history what was done."""
        self.notes.append(f"[{time.monotonic():.6f}] {text}")


class Killer(Driver):
    """Kills processes and puts them to sleep; kills the server, if it is the harness's own.

    Where everything is slow it goes on, at most for twice the time, until that proves something.
    """

    targets: tuple[str, ...] = ("producer", "worker")
    properties: Sequence[Property] = PROPERTIES

    async def storm(self) -> None:
        """Strike, until it is time or until the store is seen to be broken."""
        asleep: set[asyncio.Task[None]] = set()
        try:
            await self._strike_all(time.monotonic() + self.harness.seconds * 0.7, asleep)
            await asyncio.gather(*asleep)
        finally:
            for task in asleep:
                task.cancel()

    async def _strike_all(self, until: float, asleep: set[asyncio.Task[None]]) -> None:
        restart_at = time.monotonic() + self.harness.seconds * 0.3
        look_at = time.monotonic() + LOOK_EVERY
        last = until + self.harness.seconds
        seen: set[tuple[str, str]] = set()
        while time.monotonic() < until or (time.monotonic() < last and not self._proves()):
            if time.monotonic() > look_at:
                # One process's file may be read before, another's after a call: only what is
                # still seen at the second look is not owed to that.
                before, seen = seen, so_far(self.history(), self.properties)
                if before & seen:
                    self.note("the store was seen to be broken: no more strikes")
                    return
                look_at = time.monotonic() + LOOK_EVERY
            await asyncio.sleep(self.rng.uniform(0.1, 0.3))
            # The sleeper is spared, whose late writes the store has to refuse, and the lister,
            # whose listings have to come to their end to be judged.
            targets = [one for one in self.cast if one.role in self.targets]
            self._strike(self.rng.choice(targets), self.rng.random(), asleep)
            if owns_its_server(self.harness) and time.monotonic() > restart_at:
                self.note("server killed and started again")
                await self.harness.restart_server()
                restart_at = last + 1

    def _proves(self) -> bool:
        history = self.history()
        signs = reclaims_were_seen, refusals_were_seen
        return not any(True for holds in signs for _ in holds(history))

    def _strike(self, actor: Actor, chance: float, asleep: set[asyncio.Task[None]]) -> None:
        if not actor.busy:
            if not actor.alive:
                raise RuntimeError(f"{actor.who} ended by itself:\n{actor.last_words()}")
            return
        if chance < 0.6:
            self.note(f"SIGKILL {actor.who}")
            actor.kill()
            actor.start()
        else:
            self.note(f"SIGSTOP {actor.who}")
            asleep.add(asyncio.create_task(self._sleep(actor, actor.lives)))

    async def _sleep(self, actor: Actor, life: int) -> None:
        """Stop a process for longer than its leases last."""
        actor.stop()
        await asyncio.sleep(self.rng.uniform(1.3, 2.0) * TTL / SECOND)
        if actor.lives == life and actor.alive:
            actor.wake()
