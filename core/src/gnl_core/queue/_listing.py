"""Listings: pages of a snapshot that the first page fixes."""

from __future__ import annotations

from gnl_core._cursor import read_cursor, write_cursor
from gnl_core._pages import Page, check_limit
from gnl_core._shown import shown
from gnl_core.errors import InvalidCursor, InvalidInput, StoreRejected
from gnl_core.ids import check_name
from gnl_core.queue._records import JobInfo, to_info
from gnl_core.spi import EveryLane, JobPage, JobState, OneLane, Scope, Store


async def list_jobs(
    work: Store,
    org_id: str | None = None,
    *,
    cursor: str | None = None,
    limit: int = 50,
    state: JobState | str | None = None,
) -> Page[JobInfo]:
    """A page of the jobs of one organization, or of those without one, in enqueue order.

    The listing is fixed at its first page: each job enqueued by then appears exactly once, with
    its state of the moment, and none that came later; jobs pruned meanwhile are missing. A page
    costs the same wherever it is.

    Args:
        work: The store, ``storage.work``.
        org_id: The organization; None lists only jobs that have none.
        cursor: `next_cursor` of the page before, from the same call.
        limit: How many jobs to look at, 1 to 1,000.
        state: Leave out jobs in other states. Pages may then be short, even empty, and still
            not be the last: go on while there is a `next_cursor`.

    Raises:
        InvalidCursor: The cursor is damaged, or comes from another listing.
        InvalidInput: Another argument was refused.

    """
    lane = None if org_id is None else check_name(org_id, "org_id")
    return await _page(work, OneLane(lane), cursor, limit, state)


async def list_all_jobs(
    work: Store,
    *,
    cursor: str | None = None,
    limit: int = 50,
    state: JobState | str | None = None,
) -> Page[JobInfo]:
    """A page of all jobs: those without organization, then each organization's, by name.

    Arguments, promises and errors are those of `list_jobs`.
    """
    return await _page(work, EveryLane(), cursor, limit, state)


async def _page(
    work: Store, scope: Scope, cursor: str | None, limit: int, state: JobState | str | None
) -> Page[JobInfo]:
    wanted = None if state is None else to_state(state)
    check_limit(limit)
    listing = _listing(scope, wanted)
    position = None if cursor is None else read_cursor(listing, cursor)
    page = await _ask(work, scope, position, limit, wanted)
    following = None if page.position is None else write_cursor(listing, page.position)
    return Page(tuple(map(to_info, page.items)), following)


async def _ask(
    work: Store, scope: Scope, position: str | None, limit: int, state: JobState | None
) -> JobPage:
    states = () if state is None else (state,)
    try:
        return await work.jobs.page(scope, position, limit, states=states)
    except StoreRejected as error:
        if position is None:
            raise
        raise InvalidCursor(f"the store refused the cursor: {error}") from error


def to_state(state: object) -> JobState:
    """A job state given by name or as itself. Raises `InvalidInput`."""
    try:
        return JobState(state)
    except ValueError:
        names = ", ".join(known.value for known in JobState)
        raise InvalidInput(f"state is {shown(state)}; it must be one of {names}") from None


def _listing(scope: Scope, state: JobState | None) -> tuple[str | None, ...]:
    """What a cursor is bound to: the call and its arguments, `limit` apart."""
    filtered = None if state is None else state.value
    if isinstance(scope, OneLane):
        return ("list_jobs", scope.org_id, filtered)
    return ("list_all_jobs", filtered)
