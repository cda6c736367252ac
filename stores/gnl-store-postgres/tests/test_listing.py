"""Listings are fixed at their first page, in whatever order transactions commit."""

from __future__ import annotations

from typing import Any

import pytest

from gnl_core.spi import EveryLane, JobStore, NewJob, OneLane, Scope, StoreRejected


def job(id: str, org: str | None = None) -> NewJob:
    return NewJob(id, org, "t", "0")


async def rest(jobs: JobStore, scope: Scope, position: str | None, size: int) -> list[str]:
    found: list[str] = []
    while position is not None:
        page = await jobs.page(scope, position, size)
        found += [record.id for record in page.items]
        position = page.position
    return found


@pytest.mark.parametrize("org", [None, "org"])
@pytest.mark.parametrize("every", [True, False])
async def test_a_transaction_open_over_the_first_page_is_left_out(
    every: bool, org: str | None, space: Any
) -> None:
    scope = EveryLane() if every else OneLane(org)
    async with space.opened() as store, space.connected() as connection:
        await store.jobs.add([job("a", org), job("b", org)])
        transaction = connection.transaction()
        await transaction.start()
        await store.jobs.add([job("open", org)], connection=connection)
        await store.jobs.add([job("c", org), job("d", org)])
        page = await store.jobs.page(scope, None, 1)
        assert [record.id for record in page.items] == ["a"]
        # Its number lies in the middle of the listing.
        await transaction.commit()
        await store.jobs.add([job("e", org), job("f", "other")])
        assert await rest(store.jobs, scope, page.position, 1) == ["b", "c", "d"]
        again = await store.jobs.page(scope, None, 10)
        assert [record.id for record in again.items][:6] == ["a", "b", "open", "c", "d", "e"]


async def test_a_database_restored_elsewhere_lists_everything(space: Any) -> None:
    """Numbers of transactions of another cluster may lie in this one's future."""
    async with space.opened() as store, space.connected() as control:
        await store.schema()
        await store.jobs.add([job(str(n)) for n in range(3)])
        await control.execute("update gnl_meta set value = 'other' where name = 'cluster'")
        await control.execute("update gnl_jobs set xact = '9000000000000'")
        page = await store.jobs.page(OneLane(None), None, 10)
        assert page.items == ()
        await store.schema()
        page = await store.jobs.page(OneLane(None), None, 1)
        assert [record.id for record in page.items] == ["0"]
        await store.jobs.add([job("new")])
        assert await rest(store.jobs, OneLane(None), page.position, 1) == ["1", "2"]


@pytest.mark.parametrize("position", ["", "x", "[1]", '[1, "x", "", 0]', '[1, "1:2:9", "", -1]'])
async def test_a_forged_position_is_refused(position: str, space: Any) -> None:
    async with space.opened() as store:
        await store.jobs.add([job("a")])
        with pytest.raises(StoreRejected):
            await store.jobs.page(OneLane(None), position, 10)
