"""The lease keeper: renews what is held, and notices what is not held any more.

It runs on a thread and an event loop of its own, with a store handle of its own, so that
neither a handler that blocks nor a pool that is used up can cost a lease.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Generic, TypeAlias

from gnl_core.errors import ExecutionRevokedError, RevokedWhy, StoreError
from gnl_core.runtime._boundary import Boundary, GrantT, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.spi import HoldState, Store

_Answers: TypeAlias = list[tuple[Execution[GrantT], HoldState]]

UNANSWERED_LIMIT: Final = 3
"""So many renewals in a row without an answer are a lost lease."""


class LeaseKeeper(Generic[GrantT, VerdictT]):
    """Renews the leases of all executions added to it, every third of `ttl` seconds.

    `add`, `remove`, `limit`, `answered` and `revoke` may be called from any thread; `interrupt`
    is called from the one that revokes.
    """

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        open_store: Callable[[], Awaitable[Store]],
        *,
        ttl: float,
        interrupt: Callable[[Execution[GrantT]], None],
        logger: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._boundary = boundary
        self._open_store = open_store
        self._ttl = ttl
        self._interrupt = interrupt
        self._logger = logger
        self._clock = clock
        self._held: dict[Execution[GrantT], None] = {}
        self._limits: dict[Execution[GrantT], float] = {}
        self._watch_at: float | None = None
        self._store: Store | None = None
        self._call: asyncio.Task[_Answers[GrantT]] | None = None
        self._patience = UNANSWERED_LIMIT
        self._closing: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, execution: Execution[GrantT]) -> None:
        """Keep the lease of `execution` from now on."""
        self._held[execution] = None

    def remove(self, execution: Execution[GrantT]) -> None:
        """Renew it no more; to be called before its outcome is written."""
        self._held.pop(execution, None)
        self._limits.pop(execution, None)

    def limit(self, execution: Execution[GrantT], seconds: float) -> None:
        """Revoke `execution` with TIMEOUT in `seconds`, unless it has ended by then."""
        assert self._loop is not None, "the keeper runs while handlers do"
        ends_at = self._limits[execution] = self._clock() + seconds
        # Waking the keeper's thread for every handler would cost more than a small handler.
        if self._watch_at is None or ends_at < self._watch_at:
            self._loop.call_soon_threadsafe(self._watch)

    def answered(self, execution: Execution[GrantT], state: HoldState) -> None:
        """Note what a renewal said."""
        execution.missed = 0
        if execution not in self._held:
            return  # its outcome was written meanwhile; nothing is known from this answer
        if state is HoldState.LOST:
            self.revoke(execution, RevokedWhy.LEASE_LOST)
        elif state is HoldState.CANCELED:
            self.revoke(execution, RevokedWhy.CANCELED)

    def revoke(self, execution: Execution[GrantT], why: RevokedWhy) -> None:
        """Revoke, if it was not revoked before."""
        if why is RevokedWhy.LEASE_LOST:
            execution.lost = True
        if execution.signal._revoke(ExecutionRevokedError(why)):
            execution.revoked_at = self._clock()
            self._interrupt(execution)

    async def run(self) -> None:
        """Renew for ever."""
        self._loop = loop = asyncio.get_running_loop()
        period = self._ttl / 3
        tick = loop.time() + period
        try:
            while True:
                await asyncio.sleep(max(0.0, tick - loop.time()))
                tick = loop.time() + period
                try:
                    await self._renew(period)
                    self._warn_about_lingering()
                except Exception:
                    self._logger.exception("the lease keeper stumbled; it goes on")
        finally:
            if self._call is not None:
                self._call.cancel()
            self._let_go_of_store()
            if self._closing:
                await asyncio.wait(self._closing, timeout=1)

    async def _renew(self, seconds: float) -> None:
        executions = [e for e in list(self._held) if not e.lost]
        if not executions:
            return
        if self._call is None:
            self._call, self._patience = (
                asyncio.create_task(self._ask(executions)),
                UNANSWERED_LIMIT,
            )
        # Not cancelled for being slow: a busy server would have it begin anew for ever.
        await asyncio.wait([self._call], timeout=seconds)
        if self._call.done():
            call, self._call = self._call, None
            self._note(call, executions)
        else:
            self._logger.warning("a renewal of leases is not answered yet")
            self._lose_patience()
            self._note_silence(executions)

    def _note(
        self,
        call: asyncio.Task[_Answers[GrantT]],
        executions: Sequence[Execution[GrantT]],
    ) -> None:
        try:
            answers = call.result()
        except StoreError as error:
            self._logger.warning("leases could not be renewed: %s", error)
            self._note_silence(executions)
        except Exception:
            self._logger.exception("leases could not be renewed")
            self._let_go_of_store()
            self._note_silence(executions)
        else:
            for execution, state in answers:
                self.answered(execution, state)

    def _lose_patience(self) -> None:
        self._patience -= 1
        if self._patience == 0 and self._call is not None:
            self._call.cancel()
            self._call = None
            self._let_go_of_store()

    def _note_silence(self, executions: Sequence[Execution[GrantT]]) -> None:
        for execution in executions:
            execution.missed += 1
            if execution.missed >= UNANSWERED_LIMIT and execution in self._held:
                self.revoke(execution, RevokedWhy.LEASE_LOST)

    async def _ask(self, executions: Sequence[Execution[GrantT]]) -> _Answers[GrantT]:
        if self._store is None:
            self._store = await self._open_store()
        states = await self._boundary.extend(self._store, [e.grant for e in executions])
        return list(zip(executions, states, strict=True))

    def _watch(self) -> None:
        """Revoke what has reached its limit, and look again when the next one does."""
        assert self._loop is not None, "the keeper runs while handlers do"
        # Before the look, so that a limit set during it asks for another one.
        self._watch_at = None
        now, ahead = self._clock(), []
        for execution, ends_at in list(self._limits.items()):
            if ends_at > now:
                ahead.append(ends_at)
            elif self._limits.pop(execution, None) is not None:
                self.revoke(execution, RevokedWhy.TIMEOUT)
        if ahead:
            self._watch_at = min(ahead)
            self._loop.call_later(self._watch_at - now, self._watch)

    def _warn_about_lingering(self) -> None:
        now = self._clock()
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

    def _let_go_of_store(self) -> None:
        """Close the handle, and do not wait for it: the next renewal opens another one."""
        store, self._store = self._store, None
        if store is not None:
            closing = asyncio.create_task(self._close(store))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def _close(self, store: Store) -> None:
        try:
            async with asyncio.timeout(self._ttl):
                await store.close()
        except Exception as error:
            self._logger.debug("the keeper's store did not close: %r", error)
