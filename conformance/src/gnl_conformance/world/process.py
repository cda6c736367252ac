"""A simulated process: event loops that live, rest and die together, on a clock of their own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine

from gnl_conformance.world.loop import Loop, VirtualTime
from gnl_core.runtime import Machine


class Process:
    """One life of one process, with its loops: that of its handlers, and others beside it."""

    def __init__(self, time: VirtualTime, name: str, *, offset: float, rate: float) -> None:
        self.name = name
        self.alive = True
        self.main: asyncio.Task[None] | None = None
        self._time = time
        self._offset = offset
        self._rate = rate
        self._loops: list[Loop] = []
        self.loop = self.new_loop()

    def new_loop(self) -> Loop:
        """The loop of one more thread."""
        loop = self._time.loop(offset=self._offset, rate=self._rate)
        self._loops.append(loop)
        return loop

    def start(self, main: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begin to run; the process ends with `main`."""
        self.loop.call_soon(self._start, main)

    def _start(self, main: Callable[[], Coroutine[None, None, None]]) -> None:
        self.main = self.loop.create_task(main())
        self.main.add_done_callback(self._end)

    def _end(self, main: asyncio.Task[None]) -> None:
        self.alive = False
        error = None if main.cancelled() else main.exception()
        if error is not None:
            self._time.surprises.append(f"{self.name} ended with {error!r}")

    def kill(self) -> None:
        """Cut the power: nothing of it runs any more, not even what cleans up."""
        self.alive = False
        for loop in self._loops:
            loop.close()

    def pause(self, duration: int) -> None:
        """Stop all its threads for so long; it goes on with what it knew."""
        for loop in self._loops:
            loop.rest(duration)

    def block(self, duration: int) -> None:
        """Block the thread of the handlers alone, once the step that says so has ended."""
        self.loop.rest(duration)

    def machine(self, rng: random.Random) -> Machine:
        """What a worker in this process takes for the machine it runs on."""
        return Machine(
            clock=self.loop.time,
            random=rng.random,
            aside=lambda run, _: Beside(self.new_loop(), run),
        )


class Beside:
    """What would run in a thread of its own, on a loop of its own."""

    def __init__(self, loop: Loop, run: Callable[[], Coroutine[None, None, None]]) -> None:
        self._loop = loop
        self._run = run
        self._home = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._home.create_future()
        self._ended: asyncio.Future[None] = self._home.create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._loop.call_soon(self._begin)
        await self._ready

    async def stop(self, seconds: float) -> None:
        self._loop.call_soon(self._cancel)
        await asyncio.wait([self._ended], timeout=seconds)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(lambda _: self._tell(self._ended))
        self._loop.call_soon(self._tell, self._ready)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _tell(self, future: asyncio.Future[None]) -> None:
        self._home.call_soon_threadsafe(future.set_result, None)
