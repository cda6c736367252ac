"""The queue's part of the store: each method is one decision, taken under the lock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol, TypeVar

from gnl_core.spi import (
    Added,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    Instant,
    JobPage,
    JobRecord,
    JobState,
    Lane,
    NewJob,
    Outcome,
    Scope,
    Settlement,
    StoreRejected,
)
from gnl_store_files import adding, changing, claiming, holding, listing
from gnl_store_files.tables import Tables

Answer = TypeVar("Answer")


class Decide(Protocol):
    """Runs a decision on the thread of the handle, alone, and makes it last."""

    def __call__(self, decision: Callable[[Tables, Instant], Answer], /) -> Awaitable[Answer]:
        """What the decision answers."""
        ...


class FileJobs:
    """`JobStore` over decisions."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        """See `JobStore.add`. There are no transactions of callers here."""
        if connection is not None:
            raise StoreRejected(
                f"a store on files cannot join {connection!r}: enqueue without a connection"
            )
        return await self._decide(lambda tables, now: adding.add(tables, now, jobs, max_depth))

    async def claim(
        self, types: Collection[str], limit: int, ttl: Duration, worker: str, *, max_attempts: int
    ) -> Claimed:
        """See `JobStore.claim`."""
        return await self._decide(
            lambda tables, now: claiming.claim(
                tables, now, types, limit, ttl=ttl, worker=worker, max_attempts=max_attempts
            )
        )

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        """See `JobStore.extend`."""
        return await self._decide(lambda tables, now: holding.extend(tables, now, holds, ttl))

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        """See `JobStore.settle`."""
        return await self._decide(lambda tables, now: holding.settle(tables, now, outcomes))

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        """See `JobStore.cancel`."""
        return await self._decide(lambda tables, now: changing.cancel(tables, now, org_id, id))

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        """See `JobStore.revive`."""
        return await self._decide(lambda tables, now: changing.revive(tables, now, org_id, id))

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        """See `JobStore.get`."""
        return await self._decide(lambda tables, _: listing.get(tables, org_id, id))

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        """See `JobStore.page`."""
        return await self._decide(
            lambda tables, _: listing.page(tables, scope, position, limit, states)
        )

    async def depth(self, org_id: str | None) -> int:
        """See `JobStore.depth`."""
        return await self._decide(lambda tables, _: listing.depth(tables, org_id))

    async def lanes(self) -> tuple[Lane, ...]:
        """See `JobStore.lanes`."""
        return await self._decide(lambda tables, _: listing.lanes(tables))

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        """See `JobStore.prune`."""
        return await self._decide(
            lambda tables, now: changing.prune(
                tables, now, states, older_than=older_than, keep=keep, limit=limit
            )
        )
