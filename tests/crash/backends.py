"""The databases that the crash tests run on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


def _no_server() -> None:
    raise AssertionError("this database has no server of its own")


@dataclass(frozen=True)
class Backend:
    """An empty database, and its server's power switch where it has one."""

    url: str
    kill_server: Callable[[], None] = _no_server
    start_server: Callable[[], None] = _no_server


def patiently(start: Callable[[], None]) -> Callable[[], None]:
    """`start`, again and again: a killed server's last children may still hold its data."""

    def try_for_a_while() -> None:
        give_up = time.monotonic() + 30
        while True:
            try:
                return start()
            except RuntimeError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)

    return try_for_a_while
