"""The engine: claims, runs handlers, settles, stops. One loop for queue, events and scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Final, Generic

from gnl_core.errors import RevokedWhy
from gnl_core.runtime._boundary import Boundary, GrantT, Settled, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.runtime._listener import listen
from gnl_core.runtime._machine import MACHINE, Machine
from gnl_core.runtime._options import EngineOptions, trouble_wait
from gnl_core.runtime._poller import Poller
from gnl_core.runtime._runner import Runner
from gnl_core.runtime._settler import Settler
from gnl_core.runtime._slots import Slots
from gnl_core.spi import Capability, Store

HANDLERS_END_WITHIN: Final = 1.0
"""Seconds that revoked handlers have to end when the engine stops."""

STORE_ANSWERS_WITHIN: Final = 10.0
"""Seconds that the last claim and the last outcomes have when the engine stops."""

HURRIED_STORE_ANSWERS_WITHIN: Final = 1.0
"""The same, when it is to stop at once."""


class Engine(Generic[GrantT, VerdictT]):
    """Runs one boundary's work on the current event loop, until stopped or drained. Used once."""

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        store: Store,
        options: EngineOptions,
        *,
        name: str,
        logger: logging.Logger,
        machine: Machine = MACHINE,
    ) -> None:
        self._boundary = boundary
        self._store = store
        self._options = options
        self._machine = machine
        self._name = name
        self._logger = logger
        self._loop = asyncio.get_running_loop()
        self._owner: asyncio.Task[object] | None = None
        self._stopped, self._hurry = asyncio.Event(), asyncio.Event()
        self._helpers: list[asyncio.Task[None]] = []
        self._settled = 0
        self.abandoned = 0
        """Handlers that had not ended when the engine gave their work back."""

        self._settler = Settler(
            boundary,
            settled=self._count,
            busy=self._is_busy,
            pause=trouble_wait(options, machine.random),
            logger=logger,
        )
        self._keeper = LeaseKeeper(
            boundary,
            store.sibling,
            ttl=options.ttl,
            interrupt=self._interrupt_soon,
            clock=machine.clock,
            logger=logger,
        )
        self._runner = Runner(
            boundary,
            self._keeper,
            self._settler,
            max_hold=options.max_hold,
            interrupts=options.on_revoke == "cancel",
            torn_down=self._torn_down,
            name=name,
        )
        self._slots = Slots(options.concurrency, self._runner.run, self._note_end)
        self._poller = Poller(
            boundary,
            store,
            options,
            slots=self._slots,
            settler=self._settler,
            keeper=self._keeper,
            runner=self._runner,
            logger=logger,
            random=machine.random,
        )

    async def run(self) -> None:
        """Work until `stop`, then wind down."""
        await self._work(self._poller.until_stopped)

    async def drain(self) -> int:
        """Work until nothing is due; how many outcomes were written."""
        await self._work(self._poller.until_drained)
        return self._settled

    def stop(self, *, now: bool = False) -> None:
        """Claim no more and wind down; `now` leaves out the grace. This event loop's thread."""
        if now:
            self._hurry.set()
        self._stopped.set()
        self._poller.stop()

    # The frame: everything that runs beside the poll loop

    async def _work(self, poll: Callable[[], Coroutine[None, None, None]]) -> None:
        self._owner = asyncio.current_task()
        keeper = self._machine.aside(self._keeper.run, f"{self._name}-leases")
        async with AsyncExitStack() as stack:
            stack.push_async_callback(keeper.stop, STORE_ANSWERS_WITHIN)
            await keeper.start()
            stack.callback(self._runner.close)
            stack.callback(self._close_slots)
            stack.push_async_callback(self._end_helpers)
            settling = self._help(self._settler.run(), "settler")
            polling = self._help(poll(), "poll")
            if Capability.WAKE_UPS in self._store.capabilities:
                pause = trouble_wait(self._options, self._machine.random)
                self._help(listen(self._store, self._poller.look, pause, self._logger), "listener")
            try:
                stopped = self._help(_end_of_event(self._stopped), "stop")
                await asyncio.wait(
                    [polling, settling, stopped], return_when=asyncio.FIRST_COMPLETED
                )
            except asyncio.CancelledError:
                self._hurry.set()
                raise
            finally:
                self._poller.stop()
                await self._wind_down(polling, settling)
            for task in (polling, settling):
                if task.done():
                    task.result()

    def _help(self, work: Coroutine[None, None, None], what: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=f"{self._name}-{what}")
        self._helpers.append(task)
        return task

    async def _end_helpers(self) -> None:
        for task in self._helpers:
            task.cancel()
        await asyncio.wait(self._helpers, timeout=HANDLERS_END_WITHIN)

    def _close_slots(self) -> None:
        if self._options.on_revoke == "cancel":
            self._slots.cancel()

    # What the parts tell each other

    def _torn_down(self) -> bool:
        return self._owner is not None and self._owner.cancelling() > 0

    def _interrupt_soon(self, execution: Execution[GrantT]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing is left to cancel
            self._loop.call_soon_threadsafe(self._runner.interrupt, execution)

    def _note_end(self, execution: Execution[GrantT]) -> None:
        if not execution.done:  # cancelled before it began
            self._runner.give_back(execution)
        self._poller.note_end()

    def _is_busy(self) -> bool:
        return self._slots.running > 0

    def _count(self, answers: Sequence[Settled]) -> None:
        self._settled += len(answers) - answers.count(Settled.LOST)
        self._poller.note_settled(answers)

    # Stopping

    async def _wind_down(self, polling: asyncio.Task[None], settling: asyncio.Task[None]) -> None:
        """Give back what no handler has begun, wait, revoke, give back the rest."""
        for execution in self._slots.take_back():
            self._runner.give_back(execution)
        if not await self._within(self._options.grace, self._slots.join()):
            for execution in self._slots.unfinished():
                self._keeper.revoke(execution, RevokedWhy.SHUTDOWN)
            await _first(HANDLERS_END_WITHIN, self._slots.join())
            self._abandon_rest()
        await self._store_answers(lambda: _end_of(polling))
        if settling.done():  # cancelled with all tasks of the loop, or by a fault of ours
            self._help(self._settler.run(), "settler")
        if not await self._store_answers(self._settler.flush):
            self._logger.error(
                "%d outcomes could not be written; their leases will run out",
                self._settler.pending,
            )

    def _abandon_rest(self) -> None:
        for execution in self._slots.unfinished():
            self.abandoned += 1
            self._logger.warning(
                "%s did not end; it is given back while its handler still runs",
                self._boundary.name(execution.grant),
            )
            self._runner.give_back(execution)

    async def _within(self, seconds: float, end: Coroutine[None, None, None]) -> bool:
        """Wait for `end`, at most `seconds`, and not beyond a call to hurry; true if it came."""
        return await _first(seconds, end, _end_of_event(self._hurry))

    async def _store_answers(self, end: Callable[[], Coroutine[None, None, None]]) -> bool:
        return await self._within(STORE_ANSWERS_WITHIN, end()) or await _first(
            HURRIED_STORE_ANSWERS_WITHIN, end()
        )


async def _first(seconds: float, *ends: Coroutine[None, None, None]) -> bool:
    """Wait for one of `ends`, at most `seconds`; true if the first of them came."""
    tasks = [asyncio.create_task(end) for end in ends]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return tasks[0].done()
    finally:
        for task in tasks:
            task.cancel()


async def _end_of(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])


async def _end_of_event(event: asyncio.Event) -> None:
    await event.wait()
