"""The worker: takes jobs from a store and runs their handlers."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import ClassVar

from gnl_core._counts import check_count, to_count
from gnl_core._durations import Seconds, to_duration
from gnl_core.backoff import RetryDelay, to_backoff
from gnl_core.queue._handlers import Handler, check_handlers
from gnl_core.queue._jobs_boundary import JobsBoundary
from gnl_core.queue._pruner import Pruner
from gnl_core.runtime import OnRevoke, Service, engine_options
from gnl_core.spi import Grant, Verdict
from gnl_core.storage import Storage, work_of


class Worker(Service[Grant, Verdict]):
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

    _kind = "worker"
    _logger: ClassVar[logging.Logger] = logging.getLogger("gnl.worker")

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
        store = work_of(storage)
        self._handlers = check_handlers(handlers)
        self._ttl = to_duration(ttl, "ttl")
        self._max_attempts = to_count(max_attempts, "max_attempts", least=1)
        self._backoff = to_backoff(retry_delay, "retry_delay")
        options = engine_options(
            concurrency=concurrency,
            ttl=ttl,
            ttl_name="ttl",
            claim_ahead=claim_ahead,
            max_hold=max_hold,
            grace=grace,
            poll_shortest=poll_shortest,
            poll_longest=poll_longest,
            on_revoke=on_revoke,
        )
        self._pruner = Pruner(
            store,
            None if prune_after is None else to_duration(prune_after, "prune_after"),
            check_count(prune_keep, "prune_keep", least=0),
            self._machine.random,
        )
        super().__init__(store, options, name)

    def _boundary(self) -> JobsBoundary:
        return JobsBoundary(
            self._store,
            self._handlers,
            ttl=self._ttl,
            worker=self.name,
            max_attempts=self._max_attempts,
            backoff=self._backoff,
            random=self._machine.random,
        )

    def _beside(self) -> AbstractAsyncContextManager[None]:
        return self._pruner.running()
