"""The settler: writes outcomes in batches, as large as one round trip lets them grow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Generic

from gnl_core.errors import StoreError, StoreRejected
from gnl_core.runtime._boundary import Boundary, GrantT, VerdictT
from gnl_core.runtime._poll import IdleWait


class Settler(Generic[GrantT, VerdictT]):
    """Collects outcomes; while one batch is on its way the next one fills up.

    A batch without an answer is sent again: outcomes are fenced, so twice is as good as once.
    """

    def __init__(
        self,
        boundary: Boundary[GrantT, VerdictT],
        *,
        settled: Callable[[int], None],
        pause: IdleWait,
        logger: logging.Logger,
    ) -> None:
        self._boundary = boundary
        self._settled = settled
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
        self._empty.clear()
        self._something.set()

    async def flush(self, timeout: float) -> bool:
        """Wait until all is written, at most `timeout` seconds; true if so."""
        try:
            async with asyncio.timeout(timeout):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._something.wait()
            self._something.clear()
            batch, self._pending = self._pending, []
            if batch:
                self._in_flight = len(batch)
                await self._write(batch)
                self._in_flight = 0
            if not self._pending:
                self._empty.set()

    async def _write(self, batch: Sequence[tuple[GrantT, VerdictT]]) -> None:
        resent = False
        while True:
            try:
                applied = await self._boundary.settle(batch)
            except StoreRejected as error:
                await self._write_one_by_one(batch, error)
                return
            except Exception as error:
                resent = True
                self._logger.warning("%d outcomes not written yet: %s", len(batch), error)
                await asyncio.sleep(self._pause.next())
            else:
                self._pause.reset()
                self._report(batch, applied, resent=resent)
                return

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
        try:
            failure = [(grant, self._boundary.raised(grant, error))]
            self._report(failure, await self._boundary.settle(failure), resent=False)
        except StoreError as again:
            self._logger.error("%s is left to its lease: %s", name, again)

    def _report(
        self,
        batch: Sequence[tuple[GrantT, VerdictT]],
        applied: Sequence[bool],
        *,
        resent: bool,
    ) -> None:
        self._settled(sum(applied))
        for (grant, _), was_applied in zip(batch, applied, strict=True):
            if not was_applied:
                self._logger.log(
                    logging.DEBUG if resent else logging.WARNING,
                    "%s: its lease was lost, its outcome is discarded",
                    self._boundary.name(grant),
                )
