"""Virtual time: event loops that share one clock, which jumps to the next timer when all rest.

Each thread of each simulated process has a loop of its own. A loop runs its callbacks in order,
as a real one does; which loop goes on first is drawn.
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

SECOND: Final = 1_000_000
"""The clock counts microseconds."""

_TURNS: Final = 100_000
"""Turns of loops in one microsecond: more are no accident."""

_ROUNDS: Final = 5
"""How often a task may be in the way of its own cancellation."""

_switch = asyncio._set_running_loop
_current = asyncio._get_running_loop


class VirtualTime:
    """The clock of a world, and everything that waits for it."""

    def __init__(self, rng: random.Random) -> None:
        self.now = 0
        self.over = False
        self.surprises: list[str] = []
        """What was raised where nobody expects an error."""
        self._rng = rng
        self._timers: list[tuple[int, int, Step]] = []
        self._count = 0
        self._awake: list[Loop] = []
        self._loops: list[Loop] = []

    def run(self, limit: int) -> None:
        """Go on until `over`, until nothing waits any more, or until the clock is at `limit`."""
        before = _current()
        awake, timers, draw = self._awake, self._timers, self._rng.randrange
        turns = 0
        try:
            while not self.over:
                if awake:
                    awake.pop(draw(len(awake)) if len(awake) > 1 else 0).turn()
                    turns += 1
                    if turns > _TURNS:
                        raise RuntimeError(f"something runs for ever at {self.now} us")
                elif timers and timers[0][0] <= limit:
                    due, _, step = heapq.heappop(timers)
                    if due > self.now:
                        self.now, turns = due, 0
                    if not step.dropped:
                        step.loop.accept(step)
                else:
                    return
        finally:
            _switch(before)

    def at(self, due: int, step: Step) -> None:
        """Have `step` done at an instant."""
        self._count += 1
        heapq.heappush(self._timers, (due, self._count, step))

    def end(self) -> None:
        """Cancel all that never ended, so that nothing of it is left to clean up by itself.

        To be called when the world is over: what still runs must have no effect any more.
        """
        self.over = False
        for _ in range(_ROUNDS):
            if not sum(loop.cancel() for loop in self._loops):
                return
            self.run(self.now + 60 * SECOND)
        raise RuntimeError("something in a world cannot be cancelled")

    def loop(self, *, offset: float = 0.0, rate: float = 1.0) -> Loop:
        """Make the loop of one thread; its clock shows `offset` more and runs at `rate`."""
        loop = Loop(self, offset, rate)  # type: ignore[abstract] # a world has no I/O
        self._loops.append(loop)
        return loop

    def wake(self, loop: Loop) -> None:
        """A loop has something to do now."""
        self._awake.append(loop)


class Step(asyncio.TimerHandle):
    """A callback that waits for its turn or its time."""

    __slots__ = ("args", "call", "context", "dropped", "due", "loop")

    def __init__(
        self,
        loop: Loop,
        call: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
        due: float = 0.0,
    ) -> None:
        self.loop = loop
        self.call = call
        self.args = args
        self.context = contextvars.copy_context() if context is None else context
        self.due = due
        self.dropped = False

    def cancel(self) -> None:
        self.dropped = True

    def cancelled(self) -> bool:
        return self.dropped

    def when(self) -> float:
        return self.due


class Loop(asyncio.AbstractEventLoop):
    """The event loop of one thread, as far as tasks, timers and futures need one."""

    def __init__(self, time: VirtualTime, offset: float, rate: float) -> None:
        self._time = time
        self._offset = offset
        self._rate = rate
        self._ready: deque[Step] = deque()
        self._queued = False
        self.dead = False
        self._rests_until = 0
        self._tasks: list[asyncio.Task[Any]] = []

    # What the world does with it

    def turn(self) -> None:
        """Do what was ready when the turn began, unless a callback puts the loop to rest."""
        _switch(self)
        ready, time = self._ready, self._time
        for _ in range(len(ready)):
            if self.dead or time.now < self._rests_until:
                break
            step = ready.popleft()
            if not step.dropped:
                try:
                    step.context.run(step.call, *step.args)
                except Exception as error:
                    time.surprises.append(f"a callback raised {error!r}")
        self._queued = False
        self._look()

    def accept(self, step: Step) -> None:
        """Queue a callback behind those that are ready."""
        self._ready.append(step)
        if not self._queued:
            self._look()

    def rest(self, duration: int) -> None:
        """Do nothing for so long, then go on where it was: a thread that blocks, or is stopped."""
        self._rests_until = max(self._rests_until, self._time.now + duration)
        self._time.at(self._rests_until, Step(self, self._look, (), contextvars.Context()))

    def close(self) -> None:
        """Do nothing any more, not even clean up: the power is cut."""
        self.dead = True

    def cancel(self) -> int:
        """Go on once more, with every task cancelled; how many there are."""
        self.dead, self._rests_until = False, 0
        left = [task for task in self._tasks if not task.done()]
        for task in left:
            task.cancel()
        self._look()
        return len(left)

    def at(self, due: int, call: Callable[..., object], *args: object) -> None:
        """Call back at an instant of the world's own clock."""
        self._time.at(due, Step(self, call, args, contextvars.Context()))

    def _look(self) -> None:
        able = not self.dead and self._time.now >= self._rests_until
        if self._ready and able and not self._queued:
            self._queued = True
            self._time.wake(self)

    # What asyncio asks of a loop

    def time(self) -> float:
        return self._offset + self._rate * self._time.now / SECOND

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Step:
        step = Step(self, callback, args, context)
        self.accept(step)
        return step

    call_soon_threadsafe = call_soon

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Step:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Step:
        step = Step(self, callback, args, context, when)
        # Rounded up, so that the clock does not fall short of what was waited for; and whoever
        # waits at all waits for a microsecond, or what rounding leaves would be waited for forever.
        due = math.ceil((when - self._offset) / self._rate * SECOND)
        least = self._time.now + (when > self.time())
        self._time.at(max(due, least), step)
        return step

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: contextvars.Context | None = None,
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name or "task", context=context)
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self.dead:
            self._time.surprises.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return not self.dead

    def is_closed(self) -> bool:
        return False
