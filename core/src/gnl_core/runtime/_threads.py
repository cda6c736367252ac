"""Threads for plain `def` handlers: daemons, so that a stuck one cannot hold up the exit."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import TypeAlias, TypeVar

T = TypeVar("T")
_Call: TypeAlias = Callable[[], None]


class DaemonThreads:
    """Runs blocking calls in threads, as many as are needed at once; idle ones are reused."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._count = 0
        self._busy = 0

    async def run(self, function: Callable[[], T]) -> T:
        """Call `function` in a thread, with the caller's context variables."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        self._busy += 1
        if self._busy > self._count:
            self._start_one()

        def call() -> None:
            deliver = _outcome(done, context, function)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._finish, deliver)

        self._calls.put(call)
        return await done

    def _finish(self, deliver: _Call) -> None:
        # Counted when the call ends, not when its caller stops waiting: its thread is busy so long.
        self._busy -= 1
        deliver()

    def close(self) -> None:
        """Let idle threads end; those in a call end with it."""
        for _ in range(self._count):
            self._calls.put(None)
        self._count = 0

    def _start_one(self) -> None:
        self._count += 1
        name = f"{self._name}-{self._count}"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()


def _outcome(
    done: asyncio.Future[T], context: contextvars.Context, function: Callable[[], T]
) -> _Call:
    """Call `function` now; answers what hands its outcome to the waiting future."""
    try:
        result = context.run(function)
    except BaseException as error:
        failure = _carried(error)
        return lambda: None if done.cancelled() else done.set_exception(failure)
    return lambda: None if done.cancelled() else done.set_result(result)


def _carried(error: BaseException) -> BaseException:
    """A future refuses StopIteration; the others would end the loop or the coroutine: wrap them."""
    if isinstance(error, (StopIteration, GeneratorExit, SystemExit, KeyboardInterrupt)):
        wrapped = RuntimeError(f"handler raised {type(error).__name__}")
        wrapped.__cause__ = error
        return wrapped
    return error
