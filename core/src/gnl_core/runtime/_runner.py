"""Runs one handler for one grant and decides what becomes of the attempt."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Generic

from gnl_core.errors import ExecutionRevokedError, RevokedWhy
from gnl_core.runtime._boundary import Boundary, GrantT, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.runtime._settler import Settler
from gnl_core.runtime._threads import DaemonThreads


class Runner(Generic[GrantT, VerdictT]):
    """Calls handlers, and passes their outcomes to the settler.

    `torn_down` says whether a cancellation that is not ours takes the whole engine down.
    """

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        keeper: LeaseKeeper[GrantT, VerdictT],
        settler: Settler[GrantT, VerdictT],
        *,
        max_hold: float | None,
        interrupts: bool,
        torn_down: Callable[[], bool],
        name: str,
    ) -> None:
        self._boundary = boundary
        self._keeper = keeper
        self._settler = settler
        self._max_hold = max_hold
        self._interrupts = interrupts
        self._torn_down = torn_down
        self._threads = DaemonThreads(f"{name}-handler")

    async def run(
        self, execution: Execution[GrantT], free: Callable[[Execution[GrantT]], None]
    ) -> None:
        """Run the handler of `execution` to its end and have the outcome written."""
        try:
            verdict: VerdictT | None = None
            if execution.signal.why is None:  # else canceled or lost before a slot was free
                verdict = await self._attempt(execution)
            if not execution.done:
                self._end(execution, self._unless_revoked(execution, verdict))
        finally:
            free(execution)

    def interrupt(self, execution: Execution[GrantT]) -> None:
        """Cancel the `async def` handler of a revoked execution at its next await."""
        if not self._interrupts or not execution.on_loop or execution.interrupted:
            return
        assert execution.task is not None, "what runs on the loop has a task"
        execution.interrupted = True
        execution.task.cancel()

    def give_back(self, execution: Execution[GrantT]) -> None:
        """Decide now, though no handler has ended: the attempt restored, unless it timed out."""
        back = self._boundary.given_back(execution.grant)
        self._end(execution, self._unless_revoked(execution, back))

    def close(self) -> None:
        """Let idle handler threads end."""
        self._threads.close()

    def _end(self, execution: Execution[GrantT], verdict: VerdictT | None) -> None:
        execution.done = True
        self._keeper.remove(execution)
        if verdict is not None:
            self._settler.add(execution.grant, verdict)

    async def _attempt(self, execution: Execution[GrantT]) -> VerdictT:
        grant = execution.grant
        try:
            invocation = self._boundary.prepare(grant, execution.signal)
            if self._max_hold is not None:
                self._keeper.limit(execution, self._max_hold)
            if invocation.threaded:
                value = await self._threads.run(invocation.call)
                if inspect.isawaitable(value):  # an `async def` behind a plain wrapper
                    value = await self._on_loop(execution, value)
            else:
                value = await self._on_loop(execution, invocation.call())
            return self._boundary.returned(grant, value)
        except KeyboardInterrupt:
            self._end(execution, None)  # left to its lease, so that the attempt counts
            raise
        except asyncio.CancelledError as error:
            if self._torn_down() and not execution.interrupted:
                return self._boundary.given_back(grant)
            return self._failed(grant, error)
        except BaseException as error:
            return self._failed(grant, error)

    async def _on_loop(self, execution: Execution[GrantT], awaitable: Awaitable[object]) -> object:
        execution.on_loop = True
        if execution.signal.why is not None:  # revoked while there was nothing to cancel
            self.interrupt(execution)
        try:
            return await awaitable
        finally:
            execution.on_loop = False

    def _failed(self, grant: GrantT, error: BaseException) -> VerdictT:
        try:
            return self._boundary.raised(grant, error)
        except BaseException as second:  # a user's exception may do anything when it is looked at
            names = f"{type(error).__name__}, and looking at it raised {type(second).__name__}"
            return self._boundary.raised(grant, RuntimeError(f"the handler raised {names}"))

    def _unless_revoked(
        self, execution: Execution[GrantT], verdict: VerdictT | None
    ) -> VerdictT | None:
        """What a revoked attempt comes to, whatever its handler returned or raised."""
        why = execution.signal.why
        if why is None:
            return verdict
        if execution.lost:
            return None  # another holder may have it: not ours to write
        if why is RevokedWhy.TIMEOUT:
            return self._boundary.raised(execution.grant, ExecutionRevokedError(why))
        return self._boundary.given_back(execution.grant)
