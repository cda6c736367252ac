"""The databases that the crash tests run on."""

from __future__ import annotations

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
