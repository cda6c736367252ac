"""Database servers for tests: one that is given, or one that is thrown away afterwards.

`postgres` looks for, in this order: a URL in ``GNL_TEST_POSTGRES_URL``; a private server from
installed programs (its own data directory, a free port); a container where a Docker engine
answers. With none of these it raises `NotRun`, which is never a pass.

A server is started once a process, and handed down to child processes by the environment.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable

from gnl_conformance._violation import NotRun
from gnl_conformance.servers._container import postgres_in_a_container
from gnl_conformance.servers._given import GivenServer
from gnl_conformance.servers._postgres import PostgresServer
from gnl_conformance.servers._private import Server

__all__ = ["GivenServer", "PostgresServer", "Server", "postgres"]

_started: dict[str, Server] = {}


def postgres(*, fsync: bool = False) -> Server:
    """The PostgreSQL server of this process. Raises `NotRun` if there can be none.

    `fsync` makes a private server write through to the disk; a killed process needs no such
    care, only a killed machine does.
    """
    return _shared("postgres", [lambda: PostgresServer.find(fsync=fsync), postgres_in_a_container])


def _shared(kind: str, ways: list[Callable[[], Server | None]]) -> Server:
    if kind not in _started:
        _started[kind] = _given(kind) or _first(kind, ways)
        os.environ[_handed_down(kind)] = _started[kind].url
    return _started[kind]


def _handed_down(kind: str) -> str:
    return f"GNL_CONFORMANCE_{kind.upper()}_URL"


def _given(kind: str) -> Server | None:
    url = os.environ.get(f"GNL_TEST_{kind.upper()}_URL") or os.environ.get(_handed_down(kind))
    return GivenServer(url) if url else None


def _first(kind: str, ways: list[Callable[[], Server | None]]) -> Server:
    for way in ways:
        server = way()
        if server is not None:
            server.start()
            atexit.register(server.stop)
            return server
    raise NotRun(
        f"no {kind} server: set GNL_TEST_{kind.upper()}_URL, install the server's programs, or "
        "run a Docker engine and install gnl-conformance[containers]"
    )
