"""Listings of both stores, read side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final

from gnl_conformance.model import judge
from gnl_conformance.model.difference import Difference
from gnl_conformance.model.seen import View
from gnl_conformance.model.sides import Side, Sides
from gnl_core.spi import JobPage, JobState, Scope

_MOST_PAGES: Final = 200


@dataclass
class _Listing:
    """A listing that was begun, and where it goes on in each store; None: it has ended."""

    scope: Scope
    limit: int
    ours: str | None = None
    reference: str | None = None


class Listings:
    """At most one listing is open, and read on while the script goes on."""

    def __init__(self, sides: Sides, view: View) -> None:
        self._sides = sides
        self._view = view
        self._open: _Listing | None = None

    async def begin(self, scope: Scope, limit: int) -> None:
        """Read the first page."""
        self._open = _Listing(scope, limit)
        await self._read(self._open)

    async def turn(self) -> bool:
        """Read the next page; false if there is none."""
        if self._open is None or self._open.reference is None:
            return False
        await self._read(self._open)
        return True

    async def _read(self, listing: _Listing) -> None:
        """One more page. Without a filter, pages are full until the last."""

        def page(side: Side) -> Awaitable[JobPage]:
            at = listing.ours if side is self._sides.ours else listing.reference
            return side.jobs.page(listing.scope, at, listing.limit)

        ours, reference = await self._sides.ask(page)
        seen = self._view.page
        judge.compare_listed(listing.scope, (), seen(ours), seen(reference))
        listing.ours, listing.reference = ours.position, reference.position
        if reference.position is not None and ours.position is None:
            raise Difference("list.snapshot", f"a listing of {listing.scope} ends too early")

    async def whole(self, scope: Scope, limit: int, states: Sequence[JobState] = ()) -> None:
        """A whole listing at once. How a filter cuts it into pages is up to each store."""

        async def read(side: Side) -> list[JobPage]:
            pages: list[JobPage] = []
            position: str | None = None
            while len(pages) < _MOST_PAGES:
                page = await side.jobs.page(scope, position, limit, states=states)
                pages.append(page)
                position = page.position
                if position is None:
                    return pages
            raise Difference("list.ends", f"a listing of {scope} has over {_MOST_PAGES} pages")

        ours, reference = [
            [record for page in pages for record in self._view.page(page)]
            for pages in await self._sides.ask(read)
        ]
        judge.compare_listed(scope, states, ours, reference)
