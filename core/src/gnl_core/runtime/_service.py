"""What Worker and Consumer are alike in: one engine at a time, run, drained and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import ClassVar, Generic, Self

from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.runtime._boundary import Boundary, GrantT, VerdictT
from gnl_core.runtime._engine import Engine
from gnl_core.runtime._machine import MACHINE, Machine
from gnl_core.runtime._options import EngineOptions
from gnl_core.runtime._stop_signals import on_stop_signals
from gnl_core.spi import Store


class Service(ABC, Generic[GrantT, VerdictT]):
    """Takes work from a store and runs handlers, until it is stopped.

    Leaving ``async with`` stops it and waits until it has wound down.
    """

    _machine: ClassVar[Machine] = MACHINE
    _kind: ClassVar[str]
    """What messages, threads and tasks call it."""
    _logger: ClassVar[logging.Logger]

    def __init__(self, store: Store, options: EngineOptions, name: str | None) -> None:
        self._store = store
        self._options = options
        self.name = _own_name() if name is None else check_name(name, "name")
        self._engine: Engine[GrantT, VerdictT] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._stop_asked = 0
        self.abandoned = 0
        """Handlers of the last run that had not ended when their work was given back."""

    @abstractmethod
    def _boundary(self) -> Boundary[GrantT, VerdictT]:
        """What the engine is to run."""

    def _beside(self) -> AbstractAsyncContextManager[None]:
        """What else runs while the engine does."""
        return contextlib.nullcontext()

    async def __aenter__(self) -> Self:
        self._stop_asked = 0
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        await self._idle.wait()

    async def run(self, *, signals: bool = False) -> None:
        """Work until `stop` is called, then wind down.

        With `signals`, SIGTERM and SIGINT stop it, and a second one stops it at once. Winding
        down: nothing more is claimed, handlers have `grace` to finish, then they are revoked
        with `shutdown` and their work is given back, the attempt restored.
        """
        with self._one_engine() as engine, _stopped_by(signals, self.stop):
            async with self._beside():
                await engine.run()

    async def drain(self) -> int:
        """Work until nothing is due; the number of outcomes written. For tests and scripts.

        What is delayed, by a retry too, is not waited for.
        """
        with self._one_engine() as engine:
            return await engine.drain()

    def stop(self, *, now: bool = False) -> None:
        """Begin to wind down; `run` returns when that is done. `now` leaves out the grace.

        To be called on the event loop that runs it. A second call stops at once. Called while
        it does not run, it makes the next run end before it claims anything.
        """
        self._stop_asked += 1
        if self._engine is not None:
            self._engine.stop(now=now or self._stop_asked > 1)

    @contextlib.contextmanager
    def _one_engine(self) -> Iterator[Engine[GrantT, VerdictT]]:
        if self._engine is not None:
            raise InvalidInput(f"{self._kind} {self.name!r} is running already; make another one")
        self._engine = engine = Engine(
            self._boundary(),
            self._store,
            self._options,
            name=f"gnl-{self._kind}",
            logger=self._logger,
            machine=self._machine,
        )
        self._idle.clear()
        if self._stop_asked:
            engine.stop(now=self._stop_asked > 1)
        try:
            yield engine
        finally:
            self.abandoned = engine.abandoned
            self._engine = None
            self._stop_asked = 0
            self._idle.set()


def _stopped_by(signals: bool, stop: Callable[[], None]) -> AbstractContextManager[None]:
    return on_stop_signals(stop) if signals else contextlib.nullcontext()


def _own_name() -> str:
    # Random, since process numbers and host names come back after a restart.
    return f"{socket.gethostname()[:200]}-{os.getpid()}-{secrets.token_hex(4)}"
