"""The lease keeper: renews what is held, and notices what is not held any more.

It runs on a thread and an event loop of its own, with a store handle of its own, so that
neither a handler that blocks nor a pool that is used up can cost a lease.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, Generic

from gnl_core.errors import ExecutionRevokedError, RevokedWhy, StoreError
from gnl_core.runtime._boundary import Boundary, GrantT, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.spi import HoldState, Store

UNANSWERED_LIMIT: Final = 3
"""So many renewals in a row without an answer are a lost lease."""


class LeaseKeeper(Generic[GrantT, VerdictT]):
    """Renews the leases of all executions added to it, every third of `ttl` seconds.

    `add`, `remove` and `limit` may be called from any thread; `interrupt` is called from the
    keeper's.
    """

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        open_store: Callable[[], Awaitable[Store]],
        *,
        ttl: float,
        interrupt: Callable[[Execution[GrantT]], None],
        logger: logging.Logger,
    ) -> None:
        self._boundary = boundary
        self._open_store = open_store
        self._ttl = ttl
        self._interrupt = interrupt
        self._logger = logger
        self._held: dict[Execution[GrantT], None] = {}
        self._store: Store | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, execution: Execution[GrantT]) -> None:
        """Keep the lease of `execution` from now on."""
        self._held[execution] = None

    def remove(self, execution: Execution[GrantT]) -> None:
        """Renew it no more; to be called before its outcome is written."""
        self._held.pop(execution, None)
        if execution.deadline is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(execution.deadline.cancel)

    def limit(self, execution: Execution[GrantT], seconds: float) -> None:
        """Revoke `execution` with TIMEOUT in `seconds`, unless it has ended by then."""
        assert self._loop is not None, "the keeper runs while handlers do"
        self._loop.call_soon_threadsafe(self._set_deadline, execution, seconds)

    async def run(self) -> None:
        """Renew for ever."""
        self._loop = loop = asyncio.get_running_loop()
        period = self._ttl / 3
        tick = loop.time() + period
        try:
            while True:
                await asyncio.sleep(max(0.0, tick - loop.time()))
                tick = loop.time() + period
                await self._renew(period)
                self._warn_about_lingering()
        finally:
            await self._close_store()

    def revoke(self, execution: Execution[GrantT], why: RevokedWhy) -> None:
        """Revoke, if it was not revoked before; any thread."""
        if execution.signal._revoke(ExecutionRevokedError(why)):
            execution.revoked_at = asyncio.get_running_loop().time()
            self._interrupt(execution)

    async def _renew(self, seconds: float) -> None:
        executions = [e for e in list(self._held) if not _lost(e)]
        if not executions:
            return
        try:
            async with asyncio.timeout(seconds):
                if self._store is None:
                    self._store = await self._open_store()
                states = await self._boundary.extend(self._store, [e.grant for e in executions])
        except Exception as error:
            self._logger.warning("leases could not be renewed: %r", error)
            await self._close_store()
            for execution in executions:
                self._unanswered(execution)
        else:
            for execution, state in zip(executions, states, strict=True):
                self._answered(execution, state)

    def _answered(self, execution: Execution[GrantT], state: HoldState) -> None:
        execution.missed = 0
        if execution not in self._held:
            return  # its outcome was written meanwhile; nothing is known from this answer
        if state is HoldState.LOST:
            self.revoke(execution, RevokedWhy.LEASE_LOST)
        elif state is HoldState.CANCELED:
            self.revoke(execution, RevokedWhy.CANCELED)

    def _unanswered(self, execution: Execution[GrantT]) -> None:
        execution.missed += 1
        if execution.missed >= UNANSWERED_LIMIT:
            self.revoke(execution, RevokedWhy.LEASE_LOST)

    def _set_deadline(self, execution: Execution[GrantT], seconds: float) -> None:
        if execution in self._held:
            loop = asyncio.get_running_loop()
            execution.deadline = loop.call_later(seconds, self._time_out, execution)

    def _time_out(self, execution: Execution[GrantT]) -> None:
        if execution in self._held:
            self.revoke(execution, RevokedWhy.TIMEOUT)

    def _warn_about_lingering(self) -> None:
        now = asyncio.get_running_loop().time()
        for execution in list(self._held):
            revoked_at = execution.revoked_at
            if revoked_at is not None and not execution.warned and now - revoked_at >= self._ttl:
                execution.warned = True
                why = execution.signal.why
                self._logger.warning(
                    "%s still runs %.1f s after it was revoked (%s)",
                    self._boundary.name(execution.grant),
                    now - revoked_at,
                    why.value if why else "?",
                )

    async def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            try:
                async with asyncio.timeout(1):
                    await store.close()
            except (StoreError, TimeoutError) as error:
                self._logger.debug("the keeper's store did not close: %s", error)


def _lost(execution: Execution[GrantT]) -> bool:
    return execution.signal.why is RevokedWhy.LEASE_LOST


class KeeperThread:
    """Runs a lease keeper on a thread of its own."""

    def __init__(self, run: Callable[[], Coroutine[None, None, None]], name: str) -> None:
        self._run = run
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)

    async def start(self) -> None:
        """Start, and wait until the keeper's loop runs."""
        self._thread.start()
        await asyncio.get_running_loop().run_in_executor(None, self._ready.wait)

    async def stop(self, seconds: float) -> None:
        """End the keeper; wait for its thread at most `seconds`."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join, seconds)

    def _main(self) -> None:
        asyncio.run(self._supervise())

    async def _supervise(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run())
        self._loop.call_soon(self._ready.set)
        assert self._task is not None
        await asyncio.wait([self._task])
