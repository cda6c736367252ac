"""Stores that list wrongly."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import MemoryJobs, _Data
from gnl_core.spi import EveryLane, JobPage, JobRecord, JobState, OneLane, Scope


class _Paged(JobTable):
    """Pages cut from one list that a mutant may order or fill wrongly."""

    def listed(self, scope: Scope) -> list[JobRecord]:
        return list(super().page(scope, None, 10**9, ()).items)

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        horizon, skip = map(int, (position or f"{self._seq}:0").split(":"))
        found = [record for record in self.listed(scope) if record.seq <= horizon]
        items = found[skip : skip + limit]
        more = len(found) > skip + limit
        shown = tuple(record for record in items if not states or record.state in states)
        return JobPage(shown, f"{horizon}:{skip + limit}" if more else None)


@breaks("list.pruned", "jobs on the pages after a prune")
class ListsByOffset(_Paged):
    """Counts how many jobs to skip, which a prune makes wrong."""


@breaks("list.snapshot", "jobs listed")
@breaks("list.ends", "did not end")
class ListsNewArrivals(JobTable):
    """Lists what was added since the first page, too."""

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        if position is not None:
            position = f"{self._seq}:{position.partition(':')[2]}"
        return super().page(scope, position, limit, states)


@breaks("list.snapshot", "listed and read differ")
class ListsHalfARecord(JobTable):
    """Leaves the payload out of a listing."""

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        page = super().page(scope, position, limit, states)
        return JobPage(tuple(replace(r, payload="") for r in page.items), page.position)


@breaks("list.lane", "other lanes listed")
class NoLaneIsEveryLane(JobTable):
    """Takes no organization for any."""

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        every = isinstance(scope, OneLane) and scope.org_id is None
        return super().page(EveryLane() if every else scope, position, limit, states)


@breaks("list.all", "jobs listed")
class OrdersByUtf16(_Paged):
    """Orders names by their UTF-16 units."""

    def listed(self, scope: Scope) -> list[JobRecord]:
        return sorted(
            super().listed(scope),
            key=lambda r: (r.org_id is not None, (r.org_id or "").encode("utf-16-be"), r.seq),
        )


@breaks("list.all", "jobs listed")
class OrdersWithoutCase(_Paged):
    """Orders names as a dictionary does."""

    def listed(self, scope: Scope) -> list[JobRecord]:
        return sorted(
            super().listed(scope),
            key=lambda r: (r.org_id is not None, (r.org_id or "").casefold(), r.seq),
        )


@breaks("list.states", "states listed")
class FilterIsIgnored(JobTable):
    """Lists every state."""

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        return super().page(scope, position, limit, ())


@breaks("list.states", "states listed")
class FilterEndsEarly(JobTable):
    """Takes a page that the filter made short for the last."""

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        page = super().page(scope, position, limit, states)
        return page if len(page.items) == limit else JobPage(page.items, None)


@breaks("list.cursor", "pages read by a new handle each")
class PositionOfOneHandle(MemoryJobs):
    """Keeps positions in the handle that gave them."""

    def __init__(self, data: _Data) -> None:
        super().__init__(data)
        self._given: set[str] = set()

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        if position is not None and position not in self._given:
            return JobPage((), None)
        page = await super().page(scope, position, limit, states=states)
        if page.position is not None:
            self._given.add(page.position)
        return page
