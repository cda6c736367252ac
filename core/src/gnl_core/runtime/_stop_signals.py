"""SIGTERM and SIGINT, shared by everything in the process that wants to stop on them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, Final

from gnl_core.errors import InvalidInput

NUMBERS: Final = (signal.SIGTERM, signal.SIGINT)

_listening: list[Callable[[], None]] = []
_before: dict[signal.Signals, Any] = {}


@contextlib.contextmanager
def on_stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on this event loop at each SIGTERM or SIGINT, beside others that listen.

    After the second signal the handlers from before are in place again, so that a third one
    ends even a process whose event loop is blocked. Raises `InvalidInput` outside the main
    thread, which alone gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        raise InvalidInput("signals reach the main thread only: run there, or with signals=False")
    loop = asyncio.get_running_loop()

    def stop_soon() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has stopped
            loop.call_soon_threadsafe(stop)

    if not _listening:
        _install()
    _listening.append(stop_soon)
    try:
        yield
    finally:
        _listening.remove(stop_soon)
        if not _listening:
            _restore()


def _install() -> None:
    received = 0

    def receive(_number: int, _frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        if received >= 2:
            _restore()
        for stop_soon in _listening:
            stop_soon()

    for number in NUMBERS:
        _before[number] = signal.signal(number, receive)


def _restore() -> None:
    while _before:
        number, handler = _before.popitem()
        # None: it was not set from Python, and cannot be put back.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
