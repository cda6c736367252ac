"""Listings: snapshots in order, page by page."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import fields

from gnl_conformance._case import case
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._trial import LONG, Trial, ids, job, jobs
from gnl_conformance.cases._states import bring_to
from gnl_core.spi import (
    Dead,
    Done,
    EveryLane,
    JobPage,
    JobRecord,
    JobState,
    OneLane,
    Retry,
    Scope,
    Verdict,
)

_MOST_PAGES = 60


async def _rest(
    t: Trial,
    scope: Scope,
    position: str | None,
    limit: int = 4,
    *,
    states: Collection[JobState] = (),
    on: RecordedStore | None = None,
) -> list[JobRecord]:
    """All items of the pages from `position` on."""
    found: list[JobRecord] = []
    for _ in range(_MOST_PAGES):
        page = await (on or t.store).jobs.page(scope, position, limit, states=states)
        t.check(len(page.items) <= limit, f"a page of up to {limit} has {len(page.items)} jobs")
        found += page.items
        position = page.position
        if position is None:
            return found
    t.check(False, f"a listing did not end after {_MOST_PAGES} pages")
    return found


async def _whole(t: Trial, scope: Scope, first: JobPage, limit: int = 4) -> list[JobRecord]:
    """All items of a listing whose first page was read before."""
    if first.position is None:
        return list(first.items)
    return [*first.items, *await _rest(t, scope, first.position, limit)]


def _names(records: Collection[JobRecord]) -> list[tuple[str | None, str]]:
    return [(record.org_id, record.id) for record in records]


@case("list.snapshot")
async def jobs_added_between_pages_are_not_listed(t: Trial) -> None:
    await t.add(*jobs(5, "b"), *jobs(5), *jobs(5, "d"))
    first = await t.jobs.page(EveryLane(), None, 4)
    await t.add(*jobs(3, prefix="new"), *jobs(3, "a"), *jobs(3, "d", prefix="new"), *jobs(3, "z"))
    whole = await _whole(t, EveryLane(), first)
    expected = [(org, f"{org or 'none'}-{n}") for org in (None, "b", "d") for n in range(1, 6)]
    t.equal(_names(whole), expected, "jobs listed")


@case("list.snapshot")
async def jobs_that_move_on_are_listed_once_as_they_are(t: Trial) -> None:
    await t.add(*jobs(12))
    first = await t.jobs.page(OneLane(None), None, 4)
    grants = await t.claim(12)
    verdicts: tuple[Verdict, ...] = (Done("1"), Dead("no"), Retry(0, "x"))
    for grant, verdict in zip(grants, verdicts * 4, strict=True):
        await t.settle(grant, verdict)
    whole = await _whole(t, OneLane(None), first)
    t.equal(ids(whole), [f"none-{n}" for n in range(1, 13)], "jobs listed")
    states = [record.state.value for record in whole[4:]]
    expected = ["dead", "waiting", "done"] * 2 + ["dead", "waiting"]
    t.equal(states, expected, "states on the pages after the first")


@case("list.snapshot")
async def every_field_is_listed_as_it_is_read(t: Trial) -> None:
    for state in JobState:
        await bring_to(t, state, state.value, payload='{"a": [1, "\U0001f600"]}')
    for record in await _rest(t, OneLane(None), None):
        one = await t.get(record.id)
        pairs = {
            name: (getattr(record, name), getattr(one, name))
            for name in (field.name for field in fields(JobRecord))
            if name != "failures" and getattr(record, name) != getattr(one, name)
        }
        t.check(not pairs, f"{record.id}: listed and read differ in {pairs}")


@case("list.snapshot", time_limit=120)
async def adds_at_the_same_time_are_listed_whole_or_not_at_all(t: Trial) -> None:
    async with t.handle() as other:
        for turn in range(6):
            lane = f"lane {turn}"
            await t.add(*jobs(3, lane, prefix="before"))
            adding = asyncio.create_task(other.jobs.add(jobs(60, lane, prefix="during")))
            await asyncio.sleep(0.001 * turn)
            first = await t.jobs.page(OneLane(lane), None, 20)
            await adding
            await t.add(*jobs(3, lane, prefix="after"))
            found = ids(await _whole(t, OneLane(lane), first, 20))
            kinds = [sum(name.startswith(kind) for name in found) for kind in ("be", "du", "af")]
            t.check(kinds in ([3, 0, 0], [3, 60, 0]), f"listed before, during, after: {kinds}")
            t.equal(len(set(found)), len(found), "different jobs listed")


@case("list.lane")
async def a_lane_lists_its_own_jobs_only(t: Trial) -> None:
    await t.add(*jobs(3, "a"), *jobs(3), *jobs(3, "b"), *jobs(3, "a", prefix="again"))
    for lane, expected in ((None, 3), ("a", 6), ("b", 3), ("c", 0)):
        found = await _rest(t, OneLane(lane), None, 2)
        t.equal({r.org_id for r in found} - {lane}, set(), f"other lanes listed for {lane!r}")
        t.equal(len(found), expected, f"jobs listed for {lane!r}")
        seqs = [record.seq for record in found]
        t.check(seqs == sorted(seqs), f"lane {lane!r} is listed in the order {seqs}")


@case("list.all")
async def organizations_follow_in_byte_order(t: Trial) -> None:
    lanes = [
        "b",
        None,
        "a",
        "Z",
        "\u00e9",
        "\U0001f600",
        "\ufb00",
        "ab",
        "a b",
        "a\u0301",
        "A",
        "a ",
    ]
    await t.add(*[job(f"{n}", lane) for n in (1, 2) for lane in lanes])
    named = sorted((lane for lane in lanes if lane is not None), key=lambda name: name.encode())
    expected = [(lane, f"{n}") for lane in (None, *named) for n in (1, 2)]
    t.equal(_names(await _rest(t, EveryLane(), None, 5)), expected, "jobs listed")
    t.equal(_names(await _rest(t, EveryLane(), None, 1)), expected, "jobs listed one a page")


@case("list.all")
async def an_empty_store_is_an_empty_page(t: Trial) -> None:
    page = await t.jobs.page(EveryLane(), None, 5)
    t.equal((page.items, page.position), ((), None), "the first page of nothing")


@case("list.states")
async def a_filter_leaves_out_other_states(t: Trial) -> None:
    for n in range(4):
        for state in JobState:
            await bring_to(t, state, f"{state.value}-{n}")
    for wanted in ([JobState.DEAD], [JobState.DONE, JobState.RUNNING], list(JobState)):
        found = await _rest(t, OneLane(None), None, 3, states=wanted)
        t.equal({record.state for record in found}, set(wanted), "states listed")
        t.equal(len(found), 4 * len(wanted), f"jobs listed for {[s.value for s in wanted]}")
    found = await _rest(t, EveryLane(), None, 3, states=[JobState.CANCELED])
    t.equal(len(found), 4, "canceled jobs listed over every lane")


@case("list.cursor")
async def a_position_survives_a_new_handle(t: Trial) -> None:
    await t.add(*jobs(5, "b"), *jobs(5), *jobs(5, "caf\u00e9 \U0001f600:/%"))
    for scope in (EveryLane(), OneLane("b"), OneLane("caf\u00e9 \U0001f600:/%")):
        whole = _names(await _rest(t, scope, None, 2))
        found: list[tuple[str | None, str]] = []
        position: str | None = None
        while len(found) < len(whole):
            async with t.handle() as other:
                page = await other.jobs.page(scope, position, 2)
            found += _names(page.items)
            position = page.position
            if position is None:
                break
        t.equal(found, whole, f"pages read by a new handle each, for {scope}")


@case("list.ends")
async def a_listing_ends_under_endless_producers(t: Trial) -> None:
    await t.add(*jobs(9, "a"), *jobs(9, "b"))
    for scope, expected in ((EveryLane(), 18), (OneLane("b"), None)):
        found: list[JobRecord] = []
        position: str | None = None
        depth = expected or await t.jobs.depth("b")
        for number in range(_MOST_PAGES):
            page = await t.jobs.page(scope, position, 3)
            found += page.items
            position = page.position
            if position is None:
                break
            await t.add(*[job(f"{scope}{number}{n}", lane) for n in range(4) for lane in "abc"])
        t.check(position is None, f"a listing did not end after {_MOST_PAGES} pages")
        t.equal(len(found), depth, "jobs listed")


@case("list.pruned")
async def only_pruned_jobs_are_missing(t: Trial) -> None:
    await t.add(*jobs(12))
    first = await t.jobs.page(OneLane(None), None, 3)
    done = await t.claim(8)
    await t.finish(*done[:3], *done[5:8])
    t.equal(await t.jobs.prune([JobState.DONE], keep=0), 6, "jobs pruned")
    rest = ids(await _whole(t, OneLane(None), first, 3))[3:]
    t.equal(rest, [f"none-{n}" for n in (4, 5, 9, 10, 11, 12)], "jobs on the pages after a prune")


@case("list.pruned")
async def a_listing_goes_on_when_its_last_job_is_pruned(t: Trial) -> None:
    await t.add(*jobs(6))
    first = await t.jobs.page(OneLane(None), None, 2)
    await t.finish(*await t.claim(2))
    await t.jobs.prune([JobState.DONE], keep=0)
    rest = ids(await _whole(t, OneLane(None), first, 2))[2:]
    t.equal(rest, [f"none-{n}" for n in (3, 4, 5, 6)], "jobs after those of page 1 were pruned")


@case("list.pruned")
async def an_id_used_again_after_a_prune_is_a_new_job(t: Trial) -> None:
    await t.add(*jobs(4))
    first = await t.jobs.page(OneLane(None), None, 2)
    await t.finish(*await t.claim(4, ttl=LONG))
    await t.jobs.prune([JobState.DONE], keep=0)
    await t.add(*jobs(4))
    rest = ids(await _whole(t, OneLane(None), first, 2))[2:]
    t.equal(rest, [], "jobs listed whose add came after page 1")
