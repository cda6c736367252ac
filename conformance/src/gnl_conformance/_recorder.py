"""Remembers the last calls on a store, so that a violation can show them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from gnl_conformance._answers import OF_JOBS, OF_STORE, answer_of
from gnl_conformance._event_recorder import RecordedEvents
from gnl_conformance._notes import brief, new_jobs, note
from gnl_conformance._rule import Part
from gnl_core.spi import (
    Added,
    Capability,
    Claimed,
    DepthRefused,
    Duration,
    EventStore,
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
)


class RecordedJobs:
    """`JobStore` that writes down what was asked and answered."""

    def __init__(self, jobs: JobStore, notes: list[str]) -> None:
        self._jobs = jobs
        self._notes = notes

    def _note(self, call: str, answer: object) -> None:
        note(self._notes, call, answer)

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        answer = await answer_of(
            OF_JOBS, "add", self._jobs.add(jobs, max_depth=max_depth, connection=connection)
        )
        limit = "" if max_depth is None else f", {max_depth=}"
        bound = " in a transaction" if connection is not None else ""
        self._note(f"add({new_jobs(jobs)}{limit}){bound}", answer)
        return answer

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        answer = await answer_of(
            OF_JOBS,
            "claim",
            self._jobs.claim(types, limit, ttl, worker, max_attempts=max_attempts),
        )
        shown = [(g.id, f"token {g.token}", f"until {g.expires_at}") for g in answer.grants]
        self._note(f"claim({sorted(types)}, limit={limit}, ttl={ttl})", shown)
        return answer

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        answer = await answer_of(OF_JOBS, "extend", self._jobs.extend(holds, ttl))
        self._note(f"extend({brief(holds)}, ttl={ttl})", answer)
        return answer

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        answer = await answer_of(OF_JOBS, "settle", self._jobs.settle(outcomes))
        self._note(f"settle({brief(outcomes)})", answer)
        return answer

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        answer = await answer_of(OF_JOBS, "cancel", self._jobs.cancel(org_id, id))
        self._note(f"cancel({org_id!r}, {id!r})", answer)
        return answer

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        answer = await answer_of(OF_JOBS, "revive", self._jobs.revive(org_id, id))
        self._note(f"revive({org_id!r}, {id!r})", answer)
        return answer

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        answer = await answer_of(OF_JOBS, "get", self._jobs.get(org_id, id))
        self._note(f"get({org_id!r}, {id!r})", answer)
        return answer

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        answer = await answer_of(
            OF_JOBS, "page", self._jobs.page(scope, position, limit, states=states)
        )
        shown = [(r.org_id, r.id) for r in answer.items], answer.position
        only = f", states={brief(states)}" if states else ""
        self._note(f"page({scope}, {position!r}, {limit}{only})", shown)
        return answer

    async def depth(self, org_id: str | None) -> int:
        answer = await answer_of(OF_JOBS, "depth", self._jobs.depth(org_id))
        self._note(f"depth({org_id!r})", answer)
        return answer

    async def lanes(self) -> tuple[Lane, ...]:
        answer = await answer_of(OF_JOBS, "lanes", self._jobs.lanes())
        self._note("lanes()", answer)
        return answer

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        answer = await answer_of(
            OF_JOBS,
            "prune",
            self._jobs.prune(states, older_than=older_than, keep=keep, limit=limit),
        )
        self._note(f"prune({brief(states)}, {older_than=}, {keep=}, {limit=})", answer)
        return answer


class RecordedStore:
    """A store under trial; `inner` is the store itself."""

    def __init__(self, inner: Store, notes: list[str]) -> None:
        self.inner = inner
        self.notes = notes
        self.jobs = RecordedJobs(inner.jobs, notes)

    @property
    def events(self) -> RecordedEvents:
        """The events' part; only asked for by cases about events."""
        part: EventStore = getattr(self.inner, Part.EVENTS.value)
        return RecordedEvents(part, self.notes)

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self.inner.capabilities

    async def now(self) -> Instant:
        return await answer_of(OF_STORE, "now", self.inner.now())

    async def schema(self) -> SchemaVersion:
        return await answer_of(OF_STORE, "schema", self.inner.schema())

    async def upgrade(self) -> SchemaVersion:
        return await answer_of(OF_STORE, "upgrade", self.inner.upgrade())

    async def listen(self, wake: Callable[[], None]) -> None:
        await answer_of(OF_STORE, "listen", self.inner.listen(wake))

    async def sibling(self) -> RecordedStore:
        sibling = await answer_of(OF_STORE, "sibling", self.inner.sibling())
        return RecordedStore(sibling, self.notes)

    async def close(self) -> None:
        await self.inner.close()
