"""Slots: a bounded number of tasks at once, first come first served.

Each execution has a task and a context of its own, so that neither a cancellation nor a context
variable can reach the next one.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Generic, TypeAlias

from gnl_core.runtime._boundary import GrantT
from gnl_core.runtime._execution import Execution

Free: TypeAlias = Callable[[Execution[GrantT]], None]
Run: TypeAlias = Callable[[Execution[GrantT], Free[GrantT]], Coroutine[object, object, None]]
"""Runs an execution to its end and frees its slot then, whatever happens."""


class Slots(Generic[GrantT]):
    """Runs what it is given, at most `count` at once, and says when each one has `ended`."""

    def __init__(
        self, count: int, run: Run[GrantT], ended: Callable[[Execution[GrantT]], None]
    ) -> None:
        self._count = count
        self._run = run
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._waiting: deque[Execution[GrantT]] = deque()
        self._running: dict[Execution[GrantT], asyncio.Task[None]] = {}

    @property
    def waiting(self) -> int:
        """Executions that no slot has taken yet."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """Executions in a slot."""
        return len(self._running)

    def put(self, executions: Iterable[Execution[GrantT]]) -> None:
        """Queue executions for the next free slots."""
        self._waiting.extend(executions)
        self._fill()

    def take_back(self) -> list[Execution[GrantT]]:
        """Take out what no slot has begun."""
        back = list(self._waiting)
        self._waiting.clear()
        return back

    def unfinished(self) -> list[Execution[GrantT]]:
        """What is in the slots now."""
        return list(self._running)

    async def join(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            await asyncio.wait(list(self._running.values()))
            self.sweep()

    def sweep(self) -> None:
        """Free the slots of tasks that were cancelled before they began: nothing of them ran."""
        for execution, task in list(self._running.items()):
            if task.done():
                self._free(execution)

    def cancel(self) -> None:
        """Cancel what still runs."""
        for task in list(self._running.values()):
            task.cancel()

    def _fill(self) -> None:
        while self._waiting and len(self._running) < self._count:
            execution = self._waiting.popleft()
            # Freed by the task itself: a callback would come one turn of the loop later.
            run = self._run(execution, self._free)
            execution.task = self._loop.create_task(run, context=self._context.copy())
            self._running[execution] = execution.task

    def _free(self, execution: Execution[GrantT]) -> None:
        if self._running.pop(execution, None) is None:
            return
        self._ended(execution)
        if self._waiting:
            self._fill()
