"""The thread of the lease keeper."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine


class KeeperThread:
    """Runs a lease keeper on an event loop in a thread of its own."""

    def __init__(self, run: Callable[[], Coroutine[None, None, None]], name: str) -> None:
        self._run = run
        self._home = asyncio.get_running_loop()
        # Waited for on the home loop, which has a thread pool, but that may be full of handlers.
        self._ready: asyncio.Future[None] = self._home.create_future()
        self._ended: asyncio.Future[None] = self._home.create_future()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._unwanted = False
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def start(self) -> None:
        """Start, and wait until the keeper's loop runs."""
        self._thread.start()
        await asyncio.wait([self._ready, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if not self._ready.done():
            self._ended.result()

    async def stop(self, seconds: float) -> None:
        """End the keeper; wait for its thread at most `seconds`."""
        self._unwanted = True
        if self._loop is not None and self._task is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended
                self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread.ident is not None:
            await asyncio.wait([self._ended], timeout=seconds)
            if self._ended.done():
                self._thread.join()

    def _main(self) -> None:
        try:
            asyncio.run(self._supervise())
        except BaseException as error:
            self._tell(self._ended, error)
        else:
            self._tell(self._ended)

    async def _supervise(self) -> None:
        self._task = asyncio.create_task(self._run())
        self._loop = asyncio.get_running_loop()
        self._loop.call_soon(self._tell, self._ready)
        if self._unwanted:
            self._task.cancel()
        await asyncio.wait([self._task])

    def _tell(self, future: asyncio.Future[None], error: BaseException | None = None) -> None:
        def tell() -> None:
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        with contextlib.suppress(RuntimeError):  # the home loop is closed: nobody listens
            self._home.call_soon_threadsafe(tell)
