"""The worker: takes jobs from a store and runs their handlers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import ClassVar, Self

from gnl_core._durations import Seconds, to_duration
from gnl_core._shown import shown
from gnl_core.backoff import RetryDelay, to_backoff
from gnl_core.errors import InvalidInput
from gnl_core.ids import check_name
from gnl_core.queue._handlers import Handler, check_handlers
from gnl_core.queue._job import check_count
from gnl_core.queue._jobs_boundary import JobsBoundary
from gnl_core.queue._pruner import Pruner
from gnl_core.runtime import (
    MACHINE,
    Engine,
    EngineOptions,
    Machine,
    OnRevoke,
    on_stop_signals,
)
from gnl_core.spi import SECOND, Grant, Verdict
from gnl_core.storage import Storage

_logger = logging.getLogger("gnl.worker")

MILLISECOND = 1_000


class Worker:
    """Runs `handlers`, by job type, on the jobs of a storage.

    Leaving ``async with`` stops the worker and waits until it has wound down. Each handler has
    context variables of its own.

    A handler is ``async def handler(payload, ctx)``, cancelled at its next await when it is
    revoked, or a plain ``def``, which runs in a thread and looks at ``ctx.signal``.

    `concurrency`: so many handlers at once.
    `ttl`: a lease, in seconds; a worker that dies loses its jobs after so long.
    `max_attempts`: of jobs that were enqueued without a budget of their own.
    `retry_delay`: seconds before a failed job is tried again: a number, or a function of the
    attempt; exponential with jitter by default.
    `max_hold`: the longest a handler may run; None for no limit.
    `grace`: how long `stop` lets handlers finish before they are revoked.
    `on_revoke`: ``"cancel"`` cancels an ``async def`` handler, ``"signal"`` only signals.
    `claim_ahead`: at most so many jobs are held beyond those that run, and only as many as
    short handlers will have finished within three claims; they are handed back if no handler ends
    for a second. 0 holds none.
    `poll_shortest`, `poll_longest`: the wait after an empty poll doubles between these.
    `prune_after`, `prune_keep`: delete finished jobs of that age, or beyond that many, about
    once a minute. Dead letters stay.
    `name`: shown as the holder of a job; host, process and a random part by default.

    Raises `InvalidInput` for any option that makes no sense, before anything is done.
    """

    _machine: ClassVar[Machine] = MACHINE

    def __init__(
        self,
        storage: Storage,
        handlers: Mapping[str, Handler],
        *,
        concurrency: int = 10,
        ttl: Seconds = 30.0,
        max_attempts: int = 5,
        retry_delay: RetryDelay | None = None,
        max_hold: Seconds | None = None,
        grace: Seconds = 10.0,
        on_revoke: OnRevoke = "cancel",
        claim_ahead: int = 100,
        poll_shortest: Seconds = 0.2,
        poll_longest: Seconds = 6.4,
        prune_after: Seconds | None = None,
        prune_keep: int | None = None,
        name: str | None = None,
    ) -> None:
        if not isinstance(storage, Storage):
            raise InvalidInput(
                f"storage is a {type(storage).__name__}; give what open_storage() answers"
            )
        self._storage = storage
        self._handlers = check_handlers(handlers)
        self._ttl = to_duration(ttl, "ttl", least=100 * MILLISECOND)
        self._max_attempts = _count(max_attempts, "max_attempts", least=1)
        self._backoff = to_backoff(retry_delay, "retry_delay")
        self._options = EngineOptions(
            concurrency=_count(concurrency, "concurrency", least=1),
            ttl=self._ttl / SECOND,
            claim_ahead=_count(claim_ahead, "claim_ahead", least=0),
            max_hold=None if max_hold is None else _seconds(max_hold, "max_hold"),
            grace=to_duration(grace, "grace") / SECOND,
            poll_shortest=_seconds(poll_shortest, "poll_shortest"),
            poll_longest=_seconds(poll_longest, "poll_longest"),
            on_revoke=_checked_on_revoke(on_revoke),
        )
        if self._options.poll_longest < self._options.poll_shortest:
            raise InvalidInput(
                f"poll_longest ({poll_longest}) is shorter than poll_shortest ({poll_shortest})"
            )
        self._pruner = Pruner(
            storage.work,
            None if prune_after is None else to_duration(prune_after, "prune_after"),
            check_count(prune_keep, "prune_keep", least=0),
            self._machine.random,
        )
        self.name = _own_name() if name is None else check_name(name, "name")
        self._engine: Engine[Grant, Verdict] | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._stop_asked = 0
        self.abandoned = 0
        """Handlers of the last run that had not ended when their jobs were given back."""

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

        With `signals`, SIGTERM and SIGINT stop the worker, and a second one stops it at once.
        Winding down: nothing more is claimed, handlers have `grace` to finish, then they are
        revoked with `shutdown` and their jobs given back, the attempt restored.
        """
        with self._one_engine() as engine, _stopped_by(signals, self.stop):
            async with self._pruner.running():
                await engine.run()

    async def drain(self) -> int:
        """Work until nothing is due; the number of outcomes written. For tests and scripts.

        Jobs that are delayed, by a retry too, are not waited for.
        """
        with self._one_engine() as engine:
            return await engine.drain()

    def stop(self, *, now: bool = False) -> None:
        """Begin to wind down; `run` returns when that is done. `now` leaves out the grace.

        To be called on the event loop that runs the worker. A second call stops at once. Called
        while the worker does not run, it makes the next run end before it claims anything.
        """
        self._stop_asked += 1
        if self._engine is not None:
            self._engine.stop(now=now or self._stop_asked > 1)

    @contextlib.contextmanager
    def _one_engine(self) -> Iterator[Engine[Grant, Verdict]]:
        if self._engine is not None:
            raise InvalidInput(f"worker {self.name!r} is running already; make another one")
        boundary = JobsBoundary(
            self._storage.work,
            self._handlers,
            ttl=self._ttl,
            worker=self.name,
            max_attempts=self._max_attempts,
            backoff=self._backoff,
            random=self._machine.random,
        )
        self._engine = engine = Engine(
            boundary,
            self._storage.work,
            self._options,
            name="gnl-worker",
            logger=_logger,
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


def _seconds(value: Seconds, what: str) -> float:
    return to_duration(value, what, least=MILLISECOND) / SECOND


def _count(value: object, what: str, *, least: int) -> int:
    count = check_count(value, what, least=least)
    if count is None:
        raise InvalidInput(f"{what} is None; it must be a whole number from {least} up")
    return count


def _checked_on_revoke(value: OnRevoke) -> OnRevoke:
    if value not in ("cancel", "signal"):
        raise InvalidInput(f"on_revoke is {shown(value)}; give 'cancel' or 'signal'")
    return value
