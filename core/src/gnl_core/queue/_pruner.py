"""Deletes old finished jobs beside a worker, if it was asked to."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

from gnl_core.errors import StoreError
from gnl_core.spi import Duration, JobState, Store

PERIOD: Final = 60.0
BATCH: Final = 10_000
"""Jobs deleted in one transaction."""

_logger = logging.getLogger("gnl.worker")


class Pruner:
    """Prunes done and canceled jobs about once a minute; dead letters stay."""

    def __init__(
        self,
        store: Store,
        older_than: Duration | None,
        keep: int | None,
        random: Callable[[], float],
    ) -> None:
        self._store = store
        self._older_than = older_than
        self._keep = keep
        self._random = random

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Prune in the background, at once and then every minute, if there is anything to do."""
        if self._older_than is None and self._keep is None:
            yield
            return
        task = asyncio.create_task(self._run(), name="gnl-worker-pruner")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task], timeout=1)

    async def _run(self) -> None:
        while True:
            try:
                more = await self._prune() == BATCH
            except StoreError as error:
                _logger.warning("could not prune finished jobs: %s", error)
                more = False
            except Exception:
                _logger.exception("could not prune finished jobs")
                more = False
            await asyncio.sleep(0.1 if more else PERIOD * (0.75 + self._random() / 2))

    async def _prune(self) -> int:
        return await self._store.jobs.prune(
            (JobState.DONE, JobState.CANCELED),
            older_than=self._older_than,
            keep=self._keep,
            limit=BATCH,
        )
