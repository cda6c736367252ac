"""A store as a process of a world sees it: every call goes over the wire and into the book."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from functools import partial

from gnl_conformance import _entries as entries
from gnl_conformance.world.loop import SECOND
from gnl_conformance.world.wire import Wire
from gnl_core.spi import (
    Added,
    Capability,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    Instant,
    JobPage,
    JobRecord,
    JobState,
    JobStore,
    Lane,
    NewJob,
    Outcome,
    SchemaVersion,
    Scope,
    Settlement,
    Store,
    StoreRejected,
)


class DistantJobs:
    """`JobStore` over a wire."""

    def __init__(self, jobs: JobStore, wire: Wire, who: str) -> None:
        self._jobs = jobs
        self._call = partial(wire.call, who)

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        if connection is not None:
            raise StoreRejected("a world has no transactions")
        jobs = tuple(jobs)
        return await self._call(
            "add",
            lambda: self._jobs.add(jobs, max_depth=max_depth),
            arguments=(jobs, max_depth),
            asked=entries.adding(jobs),
            view=entries.added,
        )

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        return await self._call(
            "claim",
            lambda: self._jobs.claim(types, limit, ttl, worker, max_attempts=max_attempts),
            arguments=(tuple(types), limit, ttl, worker, max_attempts),
            asked={"limit": limit},
            view=entries.claimed,
        )

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        holds = tuple(holds)
        return await self._call(
            "extend",
            lambda: self._jobs.extend(holds, ttl),
            arguments=(holds, ttl),
            asked=entries.extending(holds),
            view=entries.extended,
        )

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        outcomes = tuple(outcomes)
        return await self._call(
            "settle",
            lambda: self._jobs.settle(outcomes),
            arguments=(outcomes,),
            asked=entries.settling(outcomes),
            view=entries.settled,
        )

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        return await self._call(
            "cancel",
            lambda: self._jobs.cancel(org_id, id),
            arguments=(org_id, id),
            asked=entries.one_job(org_id, id),
            view=entries.found,
        )

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        return await self._call(
            "revive",
            lambda: self._jobs.revive(org_id, id),
            arguments=(org_id, id),
            asked=entries.one_job(org_id, id),
            view=entries.found,
        )

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        return await self._call("get", lambda: self._jobs.get(org_id, id), arguments=(org_id, id))

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        return await self.page_of("", scope, position, limit, states)

    async def page_of(
        self,
        listing: str,
        scope: Scope,
        position: str | None,
        limit: int,
        states: Collection[JobState] = (),
    ) -> JobPage:
        """A page of a listing that the history knows by a name."""
        return await self._call(
            "page",
            lambda: self._jobs.page(scope, position, limit, states=states),
            arguments=(scope, position, limit, tuple(states)),
            asked={"listing": listing},
            view=entries.paged if listing else None,
        )

    async def depth(self, org_id: str | None) -> int:
        return await self._call("depth", lambda: self._jobs.depth(org_id), arguments=(org_id,))

    async def lanes(self) -> tuple[Lane, ...]:
        return await self._call("lanes", self._jobs.lanes)

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        return await self._call(
            "prune",
            lambda: self._jobs.prune(states, older_than=older_than, keep=keep, limit=limit),
            arguments=(tuple(states), older_than, keep, limit),
            asked={"states": sorted(state.value for state in states)},
            view=lambda count: {"count": count},
        )


class DistantStore:
    """`Store` over a wire, for one process."""

    def __init__(self, store: Store, wire: Wire, who: str) -> None:
        self._store = store
        self._wire = wire
        self._who = who
        self._jobs = DistantJobs(store.jobs, wire, who)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._store.capabilities

    @property
    def jobs(self) -> DistantJobs:
        return self._jobs

    async def now(self) -> Instant:
        return await self._wire.call(self._who, "now", self._store.now)

    async def schema(self) -> SchemaVersion:
        return await self._store.schema()

    async def upgrade(self) -> SchemaVersion:
        return await self._store.upgrade()

    async def listen(self, wake: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()

        def hint() -> None:
            if not self._wire.lost_hint():
                loop.call_later(self._wire.latency() / SECOND, wake)

        await self._store.listen(hint)

    async def sibling(self) -> DistantStore:
        return DistantStore(self._store, self._wire, self._who)

    async def close(self) -> None:
        pass
