"""The engine: claims, runs handlers, settles, stops. One loop for queue, events and scheduler."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeAlias

from gnl_core.errors import RevokedWhy, StoreError
from gnl_core.runtime._boundary import Boundary, GrantT, Taken, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import KeeperThread, LeaseKeeper
from gnl_core.runtime._poll import ClaimAhead, IdleWait
from gnl_core.runtime._runner import Runner
from gnl_core.runtime._settler import Settler
from gnl_core.runtime._slots import Slots
from gnl_core.spi import Capability, Store

OnRevoke: TypeAlias = Literal["cancel", "signal"]

HANDLERS_END_WITHIN: Final = 1.0
"""Seconds that revoked handlers have to end when the engine stops."""

SOON: Final = 0.005
"""Seconds to wait for work that is due but was not to be had, held by another claim perhaps."""

OUTCOMES_WRITTEN_WITHIN: Final = 10.0
"""Seconds that the last outcomes have to reach the store when the engine stops."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Seconds and counts; checked by whoever takes them from a user."""

    concurrency: int
    ttl: float
    claim_ahead: int
    max_hold: float | None
    grace: float
    poll_shortest: float
    poll_longest: float
    on_revoke: OnRevoke


class Engine(Generic[GrantT, VerdictT]):
    """Runs one boundary's work on the current event loop, until stopped or drained."""

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        store: Store,
        options: EngineOptions,
        *,
        name: str,
        logger: logging.Logger,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._boundary = boundary
        self._store = store
        self._options = options
        self._name = name
        self._logger = logger
        self._loop = asyncio.get_running_loop()
        self._progress = asyncio.Event()  # a hint, a free slot or a stop: look again
        self._stopping = False
        self._hurry = asyncio.Event()
        self._ended = 0
        self._settled = 0
        self.abandoned = 0
        """Handlers that had not ended when the engine gave their work back."""

        def waits() -> IdleWait:
            return IdleWait(options.poll_shortest, options.poll_longest, random)

        self._idle = waits()
        self._trouble = waits()
        self._listen_again = waits()
        self._ahead = ClaimAhead(options.claim_ahead)
        self._settler = Settler(boundary, settled=self._count, pause=waits(), logger=logger)
        self._keeper = LeaseKeeper(
            boundary,
            store.sibling,
            ttl=options.ttl,
            interrupt=self._interrupt_soon,
            logger=logger,
        )
        self._runner = Runner(boundary, self._keeper, self._settler, options.max_hold, name)
        self._slots = Slots(options.concurrency, self._execute, f"{name}-slot")

    async def run(self) -> None:
        """Work until `stop`, then wind down."""
        await self._work(self._poll_until_stopped)

    async def drain(self) -> int:
        """Work until nothing is due; how many outcomes were written."""
        before = self._settled
        await self._work(self._poll_until_drained)
        return self._settled - before

    def stop(self, *, now: bool = False) -> None:
        """Claim no more and wind down; `now` leaves out the grace. This event loop's thread."""
        self._stopping = True
        if now:
            self._hurry.set()
        self._progress.set()

    # The frame: everything that runs beside the poll loop

    async def _work(self, poll: Callable[[], Awaitable[None]]) -> None:
        keeper = KeeperThread(self._keeper.run, f"{self._name}-leases")
        await keeper.start()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(keeper.stop, self._options.ttl)
            stack.callback(self._runner.close)
            helpers = [asyncio.create_task(self._settler.run(), name=f"{self._name}-settler")]
            if Capability.WAKE_UPS in self._store.capabilities:
                helpers.append(asyncio.create_task(self._listen(), name=f"{self._name}-listener"))
            stack.push_async_callback(_end, helpers)
            stack.callback(self._slots.close)
            polling = asyncio.ensure_future(poll())
            try:
                await asyncio.wait([polling, *helpers], return_when=asyncio.FIRST_COMPLETED)
                for helper in helpers:
                    if helper.done():
                        helper.result()  # a helper only ever ends by a fault of ours
            except asyncio.CancelledError:
                self._hurry.set()
                raise
            finally:
                self._stopping = True
                self._progress.set()
                await self._wind_down(polling)
            await polling

    async def _listen(self) -> None:
        """Keep a wake-up source open; without one, polling goes on at its own pace."""
        while True:
            try:
                await self._store.listen(self._hint)
            except StoreError as error:
                self._logger.debug("no wake-ups for now: %s", error)
            except Exception:
                self._logger.exception("no wake-ups for now")
            await asyncio.sleep(self._listen_again.next())
            self._progress.set()

    def _hint(self) -> None:
        self._listen_again.reset()
        self._progress.set()

    # Polling

    async def _poll_until_stopped(self) -> None:
        while not self._stopping:
            taken = await self._claim_if_room()
            if taken is not None and not taken.grants:
                wait = self._idle.next()
                due = taken.next_due
                await self._pause(wait if due is None else min(wait, max(due, SOON)))

    async def _poll_until_drained(self) -> None:
        while not self._stopping:
            quiet = not self._in_flight()
            taken = await self._claim_if_room()
            if taken is None or taken.grants:
                continue
            if taken.next_due == 0:
                await self._pause(SOON)
            elif self._in_flight():
                await self._progress.wait()
            elif quiet:
                return

    async def _claim_if_room(self) -> Taken[GrantT] | None:
        """Claim once and start what came; None after waiting for room or for the store."""
        self._progress.clear()
        room = self._room()
        if room <= 0:
            await self._progress.wait()
            return None
        taken = await self._claim(room)
        if taken is None:
            await self._pause(self._trouble.next())
        elif taken.grants:
            self._idle.reset()
            self._accept(taken.grants)
        return taken

    def _room(self) -> int:
        """How many to claim now: not one by one while the slots are busy, but in bites."""
        ahead = self._ahead.jobs()
        target = self._options.concurrency + ahead
        waiting, running = self._slots.waiting, self._slots.running
        if self._settler.pending > 4 * target:
            return 0
        if running >= self._options.concurrency and waiting > ahead // 2:
            return 0
        return target - waiting - running

    async def _claim(self, room: int) -> Taken[GrantT] | None:
        began, ended_before = self._loop.time(), self._ended
        try:
            taken = await self._boundary.claim(room)
        except StoreError as error:
            self._logger.warning("could not claim, will try again: %s", error)
            return None
        except Exception:
            self._logger.exception("could not claim, will try again")
            return None
        self._trouble.reset()
        latency = self._loop.time() - began
        self._ahead.observe(self._ended - ended_before, latency, latency)
        return taken

    def _accept(self, grants: Sequence[GrantT]) -> None:
        executions = [Execution(grant, self._loop) for grant in grants]
        for execution in executions:
            self._keeper.add(execution)
        self._slots.put(executions)

    async def _pause(self, seconds: float) -> None:
        if self._stopping:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._progress.wait()
        except TimeoutError:
            pass

    def _in_flight(self) -> int:
        return self._slots.waiting + self._slots.running + self._settler.pending

    # Running

    async def _execute(self, execution: Execution[GrantT]) -> None:
        try:
            await self._runner.run(execution)
        finally:
            self._ended += 1
            self._progress.set()

    def _interrupt_soon(self, execution: Execution[GrantT]) -> None:
        if self._options.on_revoke == "cancel" and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._runner.interrupt, execution)

    def _count(self, applied: int) -> None:
        self._settled += applied
        self._progress.set()

    # Stopping

    async def _wind_down(self, polling: asyncio.Future[None]) -> None:
        """Give back what no handler has begun, wait, revoke, give back the rest."""
        await asyncio.wait([polling])  # a claim on its way may still bring grants
        for execution in self._slots.take_back():
            self._runner.give_back(execution)
        if not await self._handlers_end():
            for execution in self._slots.unfinished():
                self._keeper.revoke(execution, RevokedWhy.SHUTDOWN)
            if not await self._slots.join(HANDLERS_END_WITHIN):
                self._abandon_rest()
        if not await self._settler.flush(OUTCOMES_WRITTEN_WITHIN):
            self._logger.error(
                "%d outcomes could not be written; their leases will run out",
                self._settler.pending,
            )

    async def _handlers_end(self) -> bool:
        ended = asyncio.ensure_future(self._slots.join(self._options.grace))
        hurried = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait([ended, hurried], return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()
        if not ended.done():
            ended.cancel()
            return False
        return ended.result()

    def _abandon_rest(self) -> None:
        for execution in self._slots.unfinished():
            self.abandoned += 1
            self._logger.warning(
                "%s did not end; it is given back while its handler still runs",
                self._boundary.name(execution.grant),
            )
            self._runner.abandon(execution)


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=HANDLERS_END_WITHIN)
