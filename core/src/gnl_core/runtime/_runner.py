"""Runs one handler for one grant and decides what becomes of the attempt."""

from __future__ import annotations

import asyncio
from typing import Generic

from gnl_core.errors import ExecutionRevokedError, RevokedWhy
from gnl_core.runtime._boundary import Boundary, GrantT, Invocation, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.runtime._settler import Settler
from gnl_core.runtime._threads import DaemonThreads


class Runner(Generic[GrantT, VerdictT]):
    """Calls handlers, and passes their outcomes to the settler."""

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        keeper: LeaseKeeper[GrantT, VerdictT],
        settler: Settler[GrantT, VerdictT],
        max_hold: float | None,
        name: str,
    ) -> None:
        self._boundary = boundary
        self._keeper = keeper
        self._settler = settler
        self._max_hold = max_hold
        self._threads = DaemonThreads(f"{name}-handler")

    async def run(self, execution: Execution[GrantT]) -> None:
        """Run the handler of `execution` to its end and have the outcome written."""
        verdict: VerdictT | None = None
        if not execution.signal.revoked:  # canceled or lost before a slot was free
            verdict = await self._attempt(execution)
        verdict = self._unless_revoked(execution, verdict)
        if not execution.abandoned:
            self._keeper.remove(execution)
            if verdict is not None:
                self._settler.add(execution.grant, verdict)

    def interrupt(self, execution: Execution[GrantT]) -> None:
        """Cancel the `async def` handler of a revoked execution at its next await."""
        if execution.task is not None and not execution.interrupted:
            execution.interrupted = True
            execution.task.cancel()

    def give_back(self, execution: Execution[GrantT]) -> None:
        """Hand back what no handler has begun, the attempt restored."""
        self._keeper.remove(execution)
        if execution.signal.why is not RevokedWhy.LEASE_LOST:
            self._settler.add(execution.grant, self._boundary.given_back(execution.grant))

    def abandon(self, execution: Execution[GrantT]) -> None:
        """Hand back although the handler has not ended; what it does later is ignored."""
        execution.abandoned = True
        self.give_back(execution)

    def close(self) -> None:
        """Let idle handler threads end."""
        self._threads.close()

    async def _attempt(self, execution: Execution[GrantT]) -> VerdictT:
        try:
            value = await self._call(execution)
            return self._boundary.returned(execution.grant, value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if _torn_down(execution, error):
                raise
            return self._boundary.raised(execution.grant, error)

    async def _call(self, execution: Execution[GrantT]) -> object:
        invocation = self._boundary.prepare(execution.grant, execution.signal)
        if self._max_hold is not None:
            self._keeper.limit(execution, self._max_hold)
        if invocation.threaded:
            return await self._threads.run(invocation.call)
        return await self._call_on_loop(execution, invocation)

    async def _call_on_loop(self, execution: Execution[GrantT], invocation: Invocation) -> object:
        execution.task = task = asyncio.current_task()
        try:
            return await invocation.call()
        finally:
            execution.task = None
            if execution.interrupted and task is not None:
                task.uncancel()

    def _unless_revoked(
        self, execution: Execution[GrantT], verdict: VerdictT | None
    ) -> VerdictT | None:
        """What a revoked attempt comes to, whatever its handler returned or raised."""
        match execution.signal.why:
            case None:
                return verdict
            case RevokedWhy.LEASE_LOST:
                return None  # another holder may have it: not ours to write
            case RevokedWhy.TIMEOUT as why:
                return self._boundary.raised(execution.grant, ExecutionRevokedError(why))
            case _:
                return self._boundary.given_back(execution.grant)


def _torn_down(execution: Execution[GrantT], error: BaseException) -> bool:
    """True if our own task is being cancelled from outside, and not by `Runner.interrupt`."""
    if isinstance(error, GeneratorExit):
        return True
    task = asyncio.current_task()
    return (
        isinstance(error, asyncio.CancelledError)
        and not execution.interrupted
        and task is not None
        and task.cancelling() > 0
    )
