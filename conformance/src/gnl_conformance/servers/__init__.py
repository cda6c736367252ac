"""Database servers for tests: one that is given, or one that is thrown away afterwards.

`postgres` takes, in this order: the server at ``GNL_TEST_POSTGRES_URL``; a private one from
installed programs (its own data directory, a free port); one in a container where a Docker
engine answers. Private ones come first because they are up in half a second, whatever else
the machine has. ``GNL_TEST_POSTGRES`` asks for one way, ``private`` or ``container``, and what
is asked for and missing is an error. ``GNL_TEST_POSTGRES_IMAGE`` names the container's image.

With no way at all it raises `NotRun`, which is never a pass.

A server is started once a process, and handed down to child processes by the environment.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping

from gnl_conformance._violation import NotRun
from gnl_conformance.servers._address import address_of, at_address
from gnl_conformance.servers._container import ContainerServer
from gnl_conformance.servers._given import GivenServer
from gnl_conformance.servers._postgres import PostgresServer, postgres_image
from gnl_conformance.servers._private import Server
from gnl_conformance.servers._ways import Way, find_server, handed_down_setting, image_setting

__all__ = [
    "ContainerServer",
    "GivenServer",
    "PostgresServer",
    "Server",
    "address_of",
    "at_address",
    "postgres",
]

POSTGRES_IMAGE = "postgres:17"

_started: dict[str, Server] = {}


def postgres(*, fsync: bool = False) -> Server:
    """The PostgreSQL server of this process.

    Raises `NotRun` if there can be none, `RuntimeError` if there is none of the kind that
    ``GNL_TEST_POSTGRES`` asks for. `fsync` makes a server of ours write through to the disk; a
    killed process needs no such care, only a killed machine does.
    """
    ways = {
        "private": lambda: _private_postgres(fsync=fsync),
        "container": lambda: ContainerServer(
            postgres_image(os.environ.get(image_setting("postgres")) or POSTGRES_IMAGE, fsync=fsync)
        ),
    }
    return _shared("postgres", ways)


def _private_postgres(*, fsync: bool) -> Server:
    server = PostgresServer.find(fsync=fsync)
    if server is None:
        raise NotRun("no PostgreSQL programs are installed")
    return server


def _shared(kind: str, ways: Mapping[str, Way]) -> Server:
    if kind not in _started:
        server = find_server(kind, ways)
        if server.owned:
            atexit.register(server.stop)
        _started[kind] = server
        os.environ[handed_down_setting(kind)] = server.url
    return _started[kind]
