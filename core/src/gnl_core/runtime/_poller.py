"""The poll loop: claims what there is room for, waits when there is nothing, survives the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Generic

from gnl_core.errors import StoreError
from gnl_core.runtime._boundary import Boundary, GrantT, Settled, Taken, VerdictT
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.runtime._options import EngineOptions, trouble_wait
from gnl_core.runtime._pace import ClaimAhead, IdleWait, room
from gnl_core.runtime._runner import Runner
from gnl_core.runtime._settler import Settler
from gnl_core.runtime._slots import Slots
from gnl_core.spi import Store

SOON: Final = 0.005
"""Seconds to wait at first for work that is due but was not to be had: another claim has it."""

STALLED_AFTER: Final = 1.0
"""Seconds without a handler ending after which jobs held ahead are better off elsewhere."""


class Poller(Generic[GrantT, VerdictT]):
    """Feeds the slots until stopped, or until nothing is due."""

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        store: Store,
        options: EngineOptions,
        *,
        slots: Slots[GrantT],
        settler: Settler[GrantT, VerdictT],
        keeper: LeaseKeeper[GrantT, VerdictT],
        runner: Runner[GrantT, VerdictT],
        logger: logging.Logger,
        random: Callable[[], float],
    ) -> None:
        self._boundary = boundary
        self._store = store
        self._options = options
        self._slots = slots
        self._settler = settler
        self._keeper = keeper
        self._runner = runner
        self._logger = logger
        self._loop = asyncio.get_running_loop()
        self._idle = IdleWait(options.poll_shortest, options.poll_longest, random)
        self._contended = IdleWait(SOON, max(SOON, options.poll_shortest), random)
        self._trouble = trouble_wait(options, random)
        self._ahead = ClaimAhead(options.claim_ahead)
        self._news = asyncio.Event()  # there may be something to claim, or it is time to stop
        self._progress = asyncio.Event()  # that, or there may be room, or less to wait for
        self._stopping = False
        self._suspects: list[Execution[GrantT]] = []  # each to run with nothing beside it
        self._ended = 0  # handlers, since the last claim
        self._ended_at = self._busy_since = self._loop.time()

    def look(self) -> None:
        """There may be something to claim."""
        self._news.set()
        self._progress.set()

    def stop(self) -> None:
        """Claim no more; what a claim on its way still brings is given back."""
        self._stopping = True
        self.look()

    def note_end(self) -> None:
        """A handler has ended."""
        self._ended += 1
        self._ended_at = self._loop.time()
        self._progress.set()

    def note_settled(self, answers: Sequence[Settled]) -> None:
        """Outcomes were written."""
        self._progress.set()
        if Settled.WAITS in answers:
            self._news.set()  # when it is due again is known to the next claim only

    async def until_stopped(self) -> None:
        """Claim for ever."""
        while not self._stopping:
            taken = await self._claim_if_room()
            if taken is not None and not taken.grants:
                await self._rest(self._news, self._until_next(taken))
        self._give_back(self._suspects)

    async def until_drained(self) -> None:
        """Claim until nothing is due and nothing is in flight."""
        while not self._stopping:
            quiet = not self._in_flight()
            taken = await self._claim_if_room()
            if taken is None or taken.grants:
                continue
            if quiet and taken.next_due != 0:
                return
            await self._rest(self._progress, self._until_next(taken))
        self._give_back(self._suspects)

    def _until_next(self, taken: Taken[GrantT]) -> float:
        """Seconds to wait after a claim without grants."""
        if taken.next_due == 0:
            return self._contended.next()
        self._contended.reset()
        wait = self._idle.next()
        return wait if taken.next_due is None else min(wait, max(taken.next_due, SOON))

    def _in_flight(self) -> int:
        return self._slots.waiting + self._slots.running + self._settler.pending

    async def _claim_if_room(self) -> Taken[GrantT] | None:
        """Claim once and start what came; None after waiting for room or for the store."""
        self._news.clear()
        self._progress.clear()
        if self._suspects:
            await self._run_one_alone()
            return None
        self._hand_back_if_stalled()
        limit = self._room()
        if limit == 0:
            await self._wait(self._progress, STALLED_AFTER)
            return None
        taken = await self._claim(limit)
        if taken is None:
            await self._rest(self._news, self._trouble.next())
        elif taken.grants:
            self._idle.reset()
            self._contended.reset()
            if len(taken.grants) < limit:
                await asyncio.sleep(0)  # hardly more to claim: let these handlers begin first
        return taken

    def _room(self) -> int:
        ahead = self._ahead.jobs()
        if self._settler.pending > 4 * (self._options.concurrency + ahead):
            return 0  # the store is slower than the handlers
        return room(
            concurrency=self._options.concurrency,
            ahead=ahead,
            waiting=self._slots.waiting,
            running=self._slots.running,
        )

    async def _claim(self, limit: int) -> Taken[GrantT] | None:
        began = self._loop.time()
        try:
            taken = await self._boundary.claim(limit)
        except StoreError as error:
            self._logger.warning("could not claim, will try again: %s", error)
            return None
        except Exception:
            self._logger.exception("could not claim, will try again")
            return None
        self._trouble.reset()
        now = self._loop.time()
        self._ahead.observe(self._ended, now - self._busy_since, now - began)
        self._ended, self._busy_since = 0, now
        if taken.grants:
            await self._accept(taken.grants, late=now - began > self._options.ttl / 3)
        return taken

    async def _accept(self, grants: Sequence[GrantT], *, late: bool) -> None:
        if not (self._slots.waiting or self._slots.running):
            self._ended_at = self._loop.time()
        executions = [Execution(grant, self._loop) for grant in grants]
        for execution in executions:
            self._keeper.add(execution)
        if late and not self._stopping:
            await self._renew(executions)
        if self._stopping:
            self._give_back(executions)
            return
        for execution in executions:
            if self._boundary.on_its_last_chance(execution.grant):
                self._suspects.append(execution)
        self._slots.put(e for e in executions if e not in self._suspects)

    async def _run_one_alone(self) -> None:
        """What may kill this process shall not spend the attempts of others as well."""
        suspect, *others = self._suspects
        self._suspects = []
        self._give_back([*self._slots.take_back(), *others])
        await self._until_idle()
        if self._stopping:
            self._give_back([suspect])
            return
        self._slots.put([suspect])
        await self._until_idle()

    async def _until_idle(self) -> None:
        while self._in_flight() and not self._stopping:
            self._progress.clear()
            await self._wait(self._progress, STALLED_AFTER)

    def _give_back(self, executions: Sequence[Execution[GrantT]]) -> None:
        for execution in executions:
            self._runner.give_back(execution)

    async def _renew(self, executions: Sequence[Execution[GrantT]]) -> None:
        """The answer took so long, a blocked loop perhaps, that the leases may be gone: ask."""
        try:
            states = await self._boundary.extend(self._store, [e.grant for e in executions])
        except Exception as error:
            self._logger.warning("leases could not be renewed: %r", error)
            return  # the keeper will find out
        for execution, state in zip(executions, states, strict=False):
            self._keeper.answered(execution, state)

    def _hand_back_if_stalled(self) -> None:
        """Handlers take longer than those before them: let others have what is held ahead."""
        if self._slots.waiting and self._loop.time() - self._ended_at >= STALLED_AFTER:
            self._ahead.reset()
            self._give_back(self._slots.take_back())

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        if self._stopping:
            return
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            self._slots.sweep()

    async def _rest(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for want of work; time without work says nothing about the handlers' pace."""
        await self._wait(event, seconds)
        if not self._slots.running:
            self._ended, self._busy_since = 0, self._loop.time()
