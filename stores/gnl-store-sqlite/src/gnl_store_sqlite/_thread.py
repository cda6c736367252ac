"""The thread of one handle: it runs whole operations, one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from gnl_core.spi import StoreRejected

_T = TypeVar("_T")

_Call = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

_CLOSED: Final = "this handle of the store is closed"


class OperationThread:
    """Runs calls in a thread of its own, in the order in which they were asked for.

    A call whose task is cancelled meanwhile is still carried out.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    async def run(self, call: Callable[[], _T]) -> _T:
        """The answer of `call`, or what it raised."""
        if self._closed:
            raise StoreRejected(_CLOSED)
        return await self._submit(call)

    async def close(self, last: Callable[[], None]) -> None:
        """Run what was asked for so far, then `last`, then end the thread."""
        if self._closed:
            return
        self._closed = True
        if self._thread is None:
            return
        answer = self._submit(last)
        self._calls.put(None)
        await answer

    def _submit(self, call: Callable[[], _T]) -> asyncio.Future[_T]:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_T] = loop.create_future()
        self._calls.put((call, loop, future))
        return future

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            call, loop, future = item
            try:
                answer, error = call(), None
            except BaseException as raised:
                answer, error = None, raised
            # A loop that ended meanwhile has nobody left who waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, future, answer, error)
            # Keep no answer alive while waiting for the next call.
            del item, call, loop, future, answer, error


def _resolve(future: asyncio.Future[_T], answer: _T, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
