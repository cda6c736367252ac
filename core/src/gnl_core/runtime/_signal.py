"""The revocation signal: one word to a handler that its right to run has ended."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from gnl_core.errors import ExecutionRevokedError, RevokedWhy

_deciding = threading.Lock()


class Signal:
    """Tells a running handler that it is revoked, and why. The first cause wins for good.

    `revoked`, `why`, `error` and `raise_if_revoked` may be used from any thread and are true at
    once, even while the event loop is blocked. `wait` and callbacks belong to the event loop
    that runs the handler.
    """

    __slots__ = ("_callbacks", "_error", "_loop", "_woken")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop
        self._error: ExecutionRevokedError | None = None
        self._callbacks: list[Callable[[], object]] | None = None
        self._woken: threading.Event | None = None

    @property
    def revoked(self) -> bool:
        """True once the handler has lost its right to run."""
        return self._error is not None

    @property
    def why(self) -> RevokedWhy | None:
        """The first cause, or None."""
        return None if self._error is None else self._error.why

    @property
    def error(self) -> ExecutionRevokedError | None:
        """The error that `raise_if_revoked` raises, or None."""
        return self._error

    def raise_if_revoked(self) -> None:
        """Raise `ExecutionRevokedError` if the handler is revoked; a good line for loops."""
        if self._error is not None:
            raise self._error

    def on_revoke(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call `callback` on the event loop when revoked (soon, if it is already).

        Answers a function that takes the callback back.
        """
        with _deciding:
            if self._error is None:
                if self._callbacks is None:
                    self._callbacks = []
                self._callbacks.append(callback)
                return lambda: self._forget(callback)
        self._call(callback)
        return lambda: None

    async def wait(self) -> ExecutionRevokedError:
        """Wait until revoked; answers the error, does not raise it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        forget = self.on_revoke(lambda: None if done.done() else done.set_result(None))
        try:
            await done
        finally:
            forget()
        assert self._error is not None, "the callback runs after the error is set"
        return self._error

    def wait_in_thread(self, timeout: float | None = None) -> bool:
        """Block a plain thread until revoked or `timeout` seconds have passed; true if revoked."""
        with _deciding:
            if self._error is not None:
                return True
            if self._woken is None:
                self._woken = threading.Event()
        return self._woken.wait(timeout)

    def _revoke(self, error: ExecutionRevokedError) -> bool:
        """Set the cause; false if there was one already. For the runtime; any thread."""
        with _deciding:
            if self._error is not None:
                return False
            self._error = error
            callbacks, self._callbacks = self._callbacks or (), None
        if self._woken is not None:
            self._woken.set()
        for callback in callbacks:
            self._call(callback)
        return True

    def _call(self, callback: Callable[[], object]) -> None:
        if self._loop is None:
            callback()
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
                self._loop.call_soon_threadsafe(callback)

    def _forget(self, callback: Callable[[], object]) -> None:
        with _deciding:
            if self._callbacks is not None and callback in self._callbacks:
                self._callbacks.remove(callback)

    def __repr__(self) -> str:
        why = self.why
        return f"<Signal {'live' if why is None else why.value}>"
