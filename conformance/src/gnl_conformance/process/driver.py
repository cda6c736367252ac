"""Sends children into a storm, lets it calm down, and brings back the history."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from gnl_conformance import _entries as entries
from gnl_conformance._harness import StoreConformance, owns_its_server, where
from gnl_conformance.checker import so_far
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
    seed = harness.seeds.start
    with tempfile.TemporaryDirectory(prefix="gnl-storm-") as folder:
        driver = _Driver(harness, space, Path(folder), seed)
        try:
            async with harness.connect(space) as store:
                await store.upgrade()
                return Storm(await driver.run(store), seed)
        finally:
            driver.end()
            await harness.drop(space)


class _Driver:
    def __init__(self, harness: StoreConformance, space: str, folder: Path, seed: int) -> None:
        self.harness = harness
        self.folder = folder
        self.rng = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.notes: list[str] = []
        name = where(type(harness))
        self.cast = [
            Actor(role, f"{role}-{number}", name, space, folder, seed)
            for number, role in enumerate(CAST, start=1)
        ]
        self.asleep: set[asyncio.Task[None]] = set()

    async def run(self, store: Store) -> History:
        for actor in self.cast:
            actor.start()
        await self._all_busy()
        await self._storm(time.monotonic() + self.harness.seconds * 0.7)
        await self._calm(store)
        (self.folder / STOP).touch()
        await self._farewell()
        await self._write_down_the_end(store)
        return self._history()

    def _history(self) -> History:
        return read(sorted(self.folder.glob("*.jsonl")), self.notes)

    def end(self) -> None:
        for task in self.asleep:
            task.cancel()
        for actor in self.cast:
            actor.kill()

    async def _all_busy(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while not all(actor.busy for actor in self.cast):
            for actor in self.cast:
                if not actor.alive or time.monotonic() > deadline:
                    raise RuntimeError(f"{actor.who} did not start:\n{actor.last_words()}")
            await asyncio.sleep(0.05)

    async def _storm(self, until: float) -> None:
        """Strike, until it is time or until the store is seen to be broken."""
        restart_at = time.monotonic() + self.harness.seconds * 0.3
        look_at = time.monotonic() + LOOK_EVERY
        seen: set[tuple[str, str]] = set()
        while time.monotonic() < until:
            if time.monotonic() > look_at:
                # One process's file may be read before, another's after a call: only what is
                # still seen at the second look is not owed to that.
                before, seen = seen, so_far(self._history())
                if before & seen:
                    self._note("the store was seen to be broken: no more strikes")
                    return
                look_at = time.monotonic() + LOOK_EVERY
            await asyncio.sleep(self.rng.uniform(0.1, 0.3))
            # The sleeper is spared, whose late writes the store has to refuse, and the lister,
            # whose listings have to come to their end to be judged.
            targets = [one for one in self.cast if one.role in ("producer", "worker")]
            self._strike(self.rng.choice(targets), self.rng.random())
            if owns_its_server(self.harness) and time.monotonic() > restart_at:
                self._note("server killed and started again")
                await self.harness.restart_server()
                restart_at = until + 1

    def _strike(self, actor: Actor, chance: float) -> None:
        if not actor.busy:
            if not actor.alive:
                raise RuntimeError(f"{actor.who} ended by itself:\n{actor.last_words()}")
            return
        if chance < 0.6:
            self._note(f"SIGKILL {actor.who}")
            actor.kill()
            actor.start()
        else:
            self._note(f"SIGSTOP {actor.who}")
            self.asleep.add(asyncio.create_task(self._sleep(actor, actor.lives)))

    async def _sleep(self, actor: Actor, life: int) -> None:
        """Stop a process for longer than its leases last."""
        actor.stop()
        await asyncio.sleep(self.rng.uniform(1.3, 2.0) * TTL / SECOND)
        if actor.lives == life and actor.alive:
            actor.wake()

    async def _calm(self, store: Store) -> None:
        """No more strikes and no new jobs; wait until everything has ended, or long enough."""
        await asyncio.gather(*self.asleep)
        (self.folder / QUIET).touch()
        deadline = time.monotonic() + QUIET_LIMIT
        while time.monotonic() < deadline:
            try:
                producing = any(one.alive for one in self.cast if one.role == "producer")
                if not producing and not await store.jobs.lanes():
                    return
            except StoreUnavailable:
                self._note("the driver's own handle was cut off")
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

    def _note(self, text: str) -> None:
        self.notes.append(f"[{time.monotonic():.6f}] {text}")
