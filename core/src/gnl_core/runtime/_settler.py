"""The settler: writes outcomes in batches, as large as one round trip lets them grow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, Generic

from gnl_core.errors import StoreError, StoreRejected
from gnl_core.runtime._boundary import Boundary, GrantT, Settled, VerdictT
from gnl_core.runtime._pace import IdleWait

GATHER: Final = 0.002
"""Seconds that a batch waits for more outcomes while other handlers still run."""


class Settler(Generic[GrantT, VerdictT]):
    """Collects outcomes; while one batch is on its way the next one fills up.

    A batch without an answer is sent again: outcomes are fenced, so twice is as good as once.
    """

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        *,
        settled: Callable[[Sequence[Settled]], None],
        busy: Callable[[], bool],
        pause: IdleWait,
        logger: logging.Logger,
    ) -> None:
        self._boundary = boundary
        self._settled = settled
        self._busy = busy
        self._pause = pause
        self._logger = logger
        self._pending: list[tuple[GrantT, VerdictT]] = []
        self._in_flight = 0
        self._something = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def pending(self) -> int:
        """Outcomes that are not known to be written."""
        return len(self._pending) + self._in_flight

    def add(self, grant: GrantT, verdict: VerdictT) -> None:
        """Have an outcome written, soon."""
        self._pending.append((grant, verdict))
        self._something.set()

    async def flush(self) -> None:
        """Wait until all is written."""
        while self.pending:
            self._empty.clear()
            await self._empty.wait()

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._something.wait()
            if self._busy():
                await asyncio.sleep(GATHER)
            self._something.clear()
            batch, self._pending = self._pending, []
            try:
                await self._write(batch)
            except asyncio.CancelledError:
                self._pending[:0] = batch  # for whoever runs the settler next
                self._something.set()
                raise
            finally:
                self._in_flight = 0
            if not self._pending:
                self._empty.set()

    async def _write(self, batch: Sequence[tuple[GrantT, VerdictT]]) -> None:
        self._in_flight = len(batch)
        resent = False
        while True:
            try:
                answers = await self._send(batch)
            except StoreRejected as error:
                await self._write_one_by_one(batch, error)
                return
            except Exception as error:
                resent = True
                self._complain(len(batch), error)
                await asyncio.sleep(self._pause.next())
            else:
                self._pause.reset()
                self._report(batch, answers, resent=resent)
                return

    async def _send(self, batch: Sequence[tuple[GrantT, VerdictT]]) -> Sequence[Settled]:
        answers = await self._boundary.settle(batch)
        if len(answers) != len(batch):
            raise RuntimeError(f"the store gave {len(answers)} answers for {len(batch)} outcomes")
        return answers

    async def _write_one_by_one(
        self, batch: Sequence[tuple[GrantT, VerdictT]], error: StoreRejected
    ) -> None:
        """One outcome that the store refuses must not take the others with it."""
        if len(batch) > 1:
            for outcome in batch:
                await self._write([outcome])
            return
        grant, _ = batch[0]
        name = self._boundary.name(grant)
        self._logger.error("the outcome of %s was refused: %s", name, error)
        await self._write_failure(grant, error)

    async def _write_failure(self, grant: GrantT, error: StoreRejected) -> None:
        """Say why there is no outcome; a store that refuses this too gets the lease's end."""
        failure = [(grant, self._boundary.raised(grant, error))]
        while True:
            try:
                answers = await self._send(failure)
            except StoreRejected as again:
                name = self._boundary.name(grant)
                self._logger.error("%s is left to its lease: %s", name, again)
                self._settled(())
                return
            except Exception as unclear:
                self._complain(1, unclear)
                await asyncio.sleep(self._pause.next())
            else:
                self._report(failure, answers, resent=True)
                return

    def _complain(self, count: int, error: Exception) -> None:
        foreign = None if isinstance(error, StoreError) else error
        self._logger.warning("%d outcomes not written yet: %s", count, error, exc_info=foreign)

    def _report(
        self,
        batch: Sequence[tuple[GrantT, VerdictT]],
        answers: Sequence[Settled],
        *,
        resent: bool,
    ) -> None:
        self._settled(answers)
        if Settled.LOST not in answers:
            return
        for (grant, _), answer in zip(batch, answers, strict=True):
            if answer is Settled.LOST:
                self._logger.log(
                    logging.DEBUG if resent else logging.WARNING,
                    "%s: its lease was lost, its outcome is discarded",
                    self._boundary.name(grant),
                )
