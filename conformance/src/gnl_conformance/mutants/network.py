"""The reference behind a socket, and stores broken so that only a lost reply shows it.

The server is a thread of the process that first asks for it, and lives as long; children learn
of it by the environment. Requests and answers are pickled, and the server keeps a table for each
space.
"""

from __future__ import annotations

import os
import pickle
import socket
import socketserver
import struct
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, ClassVar, Final, cast

from gnl_conformance._harness import StoreConformance
from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import _Data, system_clock
from gnl_core.spi import (
    Added,
    Capability,
    Dead,
    DepthRefused,
    Done,
    JobState,
    NewJob,
    Outcome,
    Settlement,
    StoreUnavailable,
)

_PORT: Final = "GNL_CONFORMANCE_REFERENCE_PORT"
_HEAD: Final = struct.Struct("!I")


class _ServedTable(JobTable):
    """What the server keeps; some clients ask for more than the reference has."""

    def add_unchecked(self, jobs: Sequence[NewJob]) -> Added | DepthRefused:
        """Add jobs without a look at their ids."""
        for job in jobs:
            self._by_id.pop((job.org_id, job.id), None)
        return self.add(jobs, None)


class _Requests(socketserver.BaseRequestHandler):
    """One connection: each request is a space, the name of a call, and its arguments."""

    tables: ClassVar[dict[str, JobTable]] = {}

    def handle(self) -> None:
        while True:
            try:
                space, name, arguments = _receive(self.request)
            except (OSError, EOFError):
                return
            table = self.tables.setdefault(space, _ServedTable(system_clock))
            _send(self.request, getattr(table, name)(*arguments))


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that is gone is no news."""


def _send(connection: socket.socket, what: object) -> None:
    data = pickle.dumps(what)
    connection.sendall(_HEAD.pack(len(data)) + data)


def _receive(connection: socket.socket) -> Any:
    (length,) = _HEAD.unpack(_exactly(connection, _HEAD.size))
    return pickle.loads(_exactly(connection, length))  # noqa: S301 - from our own process


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError("the other end is gone")
        data += more
    return data


class RemoteTable:
    """A `JobTable` at the other end of a connection, which is opened anew when it was lost."""

    def __init__(self, address: tuple[str, int], space: str) -> None:
        self._address = address
        self._space = space
        self._connection: socket.socket | None = None

    def __getattr__(self, name: str) -> Callable[..., object]:
        return partial(self.call, name)

    def call(self, name: str, *arguments: object) -> object:
        """Ask once; `StoreUnavailable` if there was no answer."""
        try:
            return self.ask(name, *arguments)
        except (OSError, EOFError) as error:
            raise StoreUnavailable(f"the connection was lost: {error!r}") from error

    def ask(self, name: str, *arguments: object) -> object:
        """Ask once; `OSError` or `EOFError` if there was no answer."""
        try:
            if self._connection is None:
                self._connection = socket.create_connection(self._address)
            _send(self._connection, (self._space, name, arguments))
            return cast("object", _receive(self._connection))
        except (OSError, EOFError):
            self.close()
            raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class NetworkStore(MemoryStore):
    """A memory store whose table is behind a socket."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        return frozenset({Capability.MULTI_PROCESS, Capability.SERVER_CLOCK})


class NetworkConformance(StoreConformance):
    """The reference behind a socket, for the process tier."""

    capabilities = frozenset({Capability.MULTI_PROCESS, Capability.SERVER_CLOCK})
    remote: ClassVar[type[RemoteTable]] = RemoteTable

    def server(self) -> tuple[str, int] | None:
        if _PORT not in os.environ:
            listening = _Server(("127.0.0.1", 0), _Requests)
            threading.Thread(target=listening.serve_forever, daemon=True).start()
            os.environ[_PORT] = str(listening.server_address[1])
        return "127.0.0.1", int(os.environ[_PORT])

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        table = self.remote(self.address, space)
        opened = NetworkStore()
        opened._open(_Data(cast("JobTable", table)))
        try:
            yield opened
        finally:
            table.close()


class _AddsUnchecked(RemoteTable):
    def call(self, name: str, *arguments: object) -> object:
        if name != "add":
            return super().call(name, *arguments)
        try:
            return self.ask(name, *arguments)
        except (OSError, EOFError):
            return super().call("add_unchecked", arguments[0])


@breaks("enqueue.once", "jobs whose add was repeated: expected")
class AddsUncheckedAfterALostReply(NetworkConformance):
    """Sends an add that got no reply again by itself, past the check for its id."""

    remote = _AddsUnchecked


class _TakesRefusalForItsOwn(RemoteTable):
    def call(self, name: str, *arguments: object) -> object:
        if name != "settle":
            return super().call(name, *arguments)
        try:
            return self.ask(name, *arguments)
        except (OSError, EOFError):
            answers = cast("Sequence[Settlement]", super().call(name, *arguments))
            outcomes = cast("Sequence[Outcome]", arguments[0])
            return tuple(map(_assumed, answers, outcomes))


def _assumed(answer: Settlement, outcome: Outcome) -> Settlement:
    if answer.state is not None:
        return answer
    states = {Done: JobState.DONE, Dead: JobState.DEAD}
    return Settlement(states.get(type(outcome.verdict), JobState.WAITING))


@breaks("lease.fenced", "a stale settlement of")
class TakesRefusalForItsOwnFirstTry(NetworkConformance):
    """Sends a settlement that got no reply again, and reads a refusal as "it was me"."""

    remote = _TakesRefusalForItsOwn


class _LetsErrorsThrough(RemoteTable):
    def call(self, name: str, *arguments: object) -> object:
        return self.ask(name, *arguments)


@breaks("store.errors", "a lost connection raised")
class LetsSocketErrorsThrough(NetworkConformance):
    """Raises whatever the socket raised."""

    remote = _LetsErrorsThrough
