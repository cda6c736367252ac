from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnl_core import Job, Page, cancel_job, enqueue, enqueue_many, list_all_jobs, list_jobs
from gnl_core._cursor import read_cursor, write_cursor
from gnl_core.errors import InvalidCursor, InvalidInput
from gnl_core.memory import MemoryStore


@pytest.fixture
def work() -> MemoryStore:
    return MemoryStore()


async def fill(work: MemoryStore) -> None:
    orgs = [None, "globex", "acme", None, "acme", "ACME", None]
    await enqueue_many(work, [Job("a", id=f"{n}", org_id=org) for n, org in enumerate(orgs)])


async def ids(page: Page) -> list[str]:
    return [job.id for job in page.items]


async def every_page(call, *args, **options) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        page = await call(*args, cursor=cursor, **options)
        pages.append(await ids(page))
        cursor = page.next_cursor
        if cursor is None:
            return pages


async def test_a_listing_without_organization_holds_the_jobs_that_have_none(work) -> None:
    await fill(work)
    assert await ids(await list_jobs(work)) == ["0", "3", "6"]
    assert await ids(await list_jobs(work, "acme")) == ["2", "4"]
    assert await ids(await list_jobs(work, "nobody")) == []


async def test_all_jobs_come_by_organization_in_byte_order(work) -> None:
    await fill(work)
    assert await every_page(list_all_jobs, work, limit=2) == [
        ["0", "3"], ["6", "5"], ["2", "4"], ["1"]
    ]  # fmt: skip


async def test_a_listing_is_fixed_at_its_first_page(work) -> None:
    await fill(work)
    page = await list_jobs(work, limit=1)
    await enqueue(work, "a", id="late")
    page = await list_jobs(work, limit=5, cursor=page.next_cursor)
    assert await ids(page) == ["3", "6"]
    assert page.next_cursor is None


async def test_a_state_leaves_out_the_others(work) -> None:
    await fill(work)
    await cancel_job(work, "3")
    assert await every_page(list_jobs, work, state="canceled", limit=1) == [[], ["3"], []]
    assert await every_page(list_all_jobs, work, state="dead") == [[]]


@pytest.mark.parametrize("limit", [0, -1, 1001, True, 1.5, None, 10**5000], ids=range(7))
async def test_the_limit_is_checked(work, limit) -> None:
    with pytest.raises(InvalidInput, match="limit is"):
        await list_jobs(work, limit=limit)


async def test_organization_and_state_are_checked(work) -> None:
    with pytest.raises(InvalidInput, match="org_id is empty"):
        await list_jobs(work, "")
    with pytest.raises(InvalidInput, match="one of waiting, running, done, dead, canceled"):
        await list_jobs(work, state="failed")


async def test_a_cursor_belongs_to_its_call(work) -> None:
    await fill(work)
    cursor = (await list_jobs(work, "acme", limit=1)).next_cursor
    assert cursor is not None
    foreign = [
        list_jobs(work, "globex", cursor=cursor),
        list_jobs(work, cursor=cursor),
        list_jobs(work, "acme", cursor=cursor, state="done"),
        list_all_jobs(work, cursor=cursor),
    ]
    for call in foreign:
        with pytest.raises(InvalidCursor, match="belongs to another listing"):
            await call
    assert await ids(await list_jobs(work, "acme", cursor=cursor, limit=7)) == ["4"]


async def test_a_cursor_is_text_for_urls_and_hides_nothing_of_other_lanes(work) -> None:
    await enqueue_many(work, [Job("a", org_id="\U0001f378 /%?")] * 2)
    cursor = (await list_all_jobs(work, limit=1)).next_cursor
    assert cursor is not None
    assert cursor.isascii()
    assert set("+/=?&%#") & set(cursor) == set()


async def test_a_position_that_the_store_refuses_is_a_bad_cursor(work) -> None:
    cursor = write_cursor(("list_jobs", None, None), "nonsense")
    with pytest.raises(InvalidCursor, match="the store refused the cursor"):
        await list_jobs(work, cursor=cursor)


LISTING = ("list_jobs", "acme", None)
WHOLE = write_cursor(LISTING, "17:23:1acme")


@pytest.mark.parametrize(
    "damaged",
    ["", "x", "AAAA", "\u00e9", WHOLE + "A", WHOLE + "=", " " + WHOLE, WHOLE + "\n", "A" * 10_000,
     base64.urlsafe_b64encode(b"1" * 40).decode(), 5, b"abc"],
    ids=range(12),
)  # fmt: skip
def test_a_forged_cursor_is_refused(damaged) -> None:
    with pytest.raises(InvalidCursor):
        read_cursor(LISTING, damaged)


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_cursor_cut_short_is_refused(length: int) -> None:
    with pytest.raises(InvalidCursor, match="damaged"):
        read_cursor(LISTING, WHOLE[:length])


@given(st.integers(0, len(WHOLE) - 1), st.characters(codec="ascii"))
def test_a_cursor_changed_anywhere_is_refused(at: int, character: str) -> None:
    changed = WHOLE[:at] + character + WHOLE[at + 1 :]
    if changed != WHOLE:
        with pytest.raises(InvalidCursor):
            read_cursor(LISTING, changed)


text = st.text(st.characters(exclude_categories=("Cs",)))
listings = st.tuples(text, st.none() | text, st.none() | text)


@given(listings, listings, text.filter(bool))
def test_a_cursor_is_read_by_its_own_listing_only(mine, other, position: str) -> None:
    cursor = write_cursor(mine, position)
    assert read_cursor(mine, cursor) == position
    if other != mine:
        with pytest.raises(InvalidCursor):
            read_cursor(other, cursor)
