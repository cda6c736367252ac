"""Slots: a bounded number of tasks through which executions pass, first come first served.

A slot is reused for one execution after the other, because a task a job costs more than a small
job does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Generic

from gnl_core.runtime._boundary import GrantT
from gnl_core.runtime._execution import Execution

YIELD_EVERY: Final = 25
"""A slot lets the event loop turn after so many executions that never waited."""


class Slots(Generic[GrantT]):
    """Runs what it is given, at most `count` at once."""

    def __init__(
        self, count: int, run: Callable[[Execution[GrantT]], Awaitable[None]], name: str
    ) -> None:
        self._count = count
        self._run = run
        self._name = name
        self._waiting: deque[Execution[GrantT]] = deque()
        self._running: dict[Execution[GrantT], None] = {}
        self._idle: deque[asyncio.Future[None]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._settled = asyncio.Event()

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
        self._settled.clear()
        for _ in range(min(len(self._waiting), self._count)):
            if not self._wake_one() and len(self._tasks) < self._count:
                task = asyncio.create_task(self._work(), name=f"{self._name}-{len(self._tasks)}")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def take_back(self) -> list[Execution[GrantT]]:
        """Take out what no slot has begun."""
        back = list(self._waiting)
        self._waiting.clear()
        self._settle_if_empty()
        return back

    def unfinished(self) -> list[Execution[GrantT]]:
        """What is in the slots now."""
        return list(self._running)

    async def join(self, timeout: float) -> bool:
        """Wait until nothing waits or runs, at most `timeout` seconds; true if so."""
        self._settle_if_empty()
        try:
            async with asyncio.timeout(timeout):
                await self._settled.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """End the slots; cancels what still runs in them."""
        for task in list(self._tasks):
            task.cancel()

    def _wake_one(self) -> bool:
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return True
        return False

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        passed = 0
        while True:
            if not self._waiting:
                idle = loop.create_future()
                self._idle.append(idle)
                await idle
                continue
            execution = self._waiting.popleft()
            self._running[execution] = None
            try:
                await self._run(execution)
            finally:
                del self._running[execution]
                self._settle_if_empty()
            passed += 1
            if passed % YIELD_EVERY == 0:
                await asyncio.sleep(0)

    def _settle_if_empty(self) -> None:
        if not self._waiting and not self._running:
            self._settled.set()
