"""Plays a script on the store and on the reference at once, and compares every answer."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gnl_conformance.model import judge
from gnl_conformance.model.difference import Difference
from gnl_conformance.model.listings import Listings
from gnl_conformance.model.script import (
    FINISHED,
    HOUR,
    TYPES,
    Add,
    Browse,
    Change,
    Claim,
    Extend,
    Look,
    Move,
    NewOne,
    Prune,
    Script,
    Settle,
    Step,
    Turn,
)
from gnl_conformance.model.seen import Key, Links, View
from gnl_conformance.model.sides import Side, Sides
from gnl_core.memory import MemoryStore
from gnl_core.spi import (
    Added,
    Claimed,
    DepthRefused,
    Done,
    Duration,
    EveryLane,
    Instant,
    NewJob,
    OneLane,
    Outcome,
    Release,
    Retry,
    Scope,
    Store,
    Verdict,
)

WORKER: Final = "w"
_TAKE_TIME: Final = (Add, Claim, Extend, Settle, Change, Move)
"""Steps whose instant decides what is due or expired later, and in which order."""
_LAST_CLAIM: Final = 100
_PAGE: Final = 8
_CLOCK_LIMIT: Final = 10.0
"""Seconds after which a clock that runs must have moved."""


class Lockstep:
    """Two stores under one script.

    `move` moves the store's clock. With `still` that clock stands between moves, and instants
    are compared to the microsecond; otherwise only what does not depend on time is.
    """

    def __init__(
        self, store: Store, *, still: bool, move: Callable[[Duration], Awaitable[Instant]]
    ) -> None:
        self._move = move
        self._view = View(instants=still)
        self._links = Links()
        self._now = 0
        reference = MemoryStore(lambda: self._now)
        self._store = store
        self._ours = Side(store.jobs, store.now)
        self._reference = Side(reference.jobs, reference.now)
        self._sides = Sides(self._ours, self._reference)
        self._listings = Listings(self._sides, self._view)
        self._keys: list[Key] = []
        self._latest = 0
        self._plays: dict[type[Step], Callable[[Any], Awaitable[None]]] = {
            Add: self._add,
            Claim: self._claim,
            Extend: self._extend,
            Settle: self._settle,
            Change: self._change,
            Look: self._look,
            Browse: self._browse,
            Turn: self._turn,
            Prune: self._prune,
            Move: self._pass,
        }

    async def play(self, script: Script) -> None:
        """The script, and then everything there is. Raises `Difference`."""
        self._now = await self._store.now()
        for step in script:
            await self._step(step)
        await self._compare_all()

    async def clear(self) -> bool:
        """Take all jobs out of the store; true if it is empty then, and may be played on again."""
        jobs = self._ours.jobs
        latest = {hold.seq: hold for hold in self._ours.holds}
        if latest:
            await jobs.settle([Outcome(hold, Done("null")) for hold in latest.values()])
        for key in self._keys:
            await jobs.cancel(*key)
        await jobs.prune(FINISHED, keep=0)
        left = await jobs.page(EveryLane(), None, 1)
        return not left.items and not await jobs.lanes()

    async def _step(self, step: Step) -> None:
        if not self._view.instants:
            self._now += 1
        if self._view.instants or not isinstance(step, _TAKE_TIME):
            await self._plays[type(step)](step)
            return
        # On a clock that runs, no two of these share an instant, as coarse as it may be. It is
        # read on both sides of a step: either reading alone may be the instant of a neighbour.
        await self._later_than(self._latest)
        await self._plays[type(step)](step)
        self._latest = await self._store.now()

    async def _later_than(self, latest: Instant) -> None:
        end = time.monotonic() + _CLOCK_LIMIT
        while (now := await self._store.now()) <= latest:
            if time.monotonic() > end:
                sentence = f"the clock showed {latest}, and {now} {_CLOCK_LIMIT:g} s later"
                raise Difference("store.clock", sentence)

    async def _add(self, step: Add) -> None:
        news = {self._key_of(number, one): one for number, one in enumerate(step.jobs)}
        self._keys += [key for key in news if key not in self._keys]

        async def jobs(side: Side) -> list[NewJob]:
            now = await side.now()
            return [_new_job(key, one, now) for key, one in news.items()]

        async def add(side: Side) -> Added | DepthRefused:
            return await side.jobs.add(await jobs(side), max_depth=step.max_depth)

        ours, reference = await self._sides.ask(add)
        refusals: list[DepthRefused] = []
        if isinstance(reference, DepthRefused):
            refusals = await self._refusals(await jobs(self._reference), reference.limit)
        judge.compare_add(ours, reference, refusals)

    async def _refusals(self, jobs: Sequence[NewJob], limit: int) -> list[DepthRefused]:
        """What a refusal may say: any organization that would have got too many."""
        found: list[DepthRefused] = []
        for org in dict.fromkeys(job.org_id for job in jobs):
            of_org = [job for job in jobs if job.org_id == org]
            # With this limit all that would create a job is refused: it counts, and adds nothing.
            counted = await self._reference.jobs.add(of_org, max_depth=0)
            if isinstance(counted, DepthRefused) and counted.depth + counted.new > limit:
                found.append(replace(counted, limit=limit))
        return found

    def _key_of(self, number: int, one: NewOne) -> Key:
        if one.again is None or one.again >= len(self._keys):
            return one.lane, f"j{len(self._keys) + number}"
        lane, id_ = self._keys[-1 - one.again]
        kinds: dict[str, Key] = {
            "same": (lane, id_),
            "elsewhere": (one.lane, id_),
            "upper": (lane, id_.upper()),
            "blank": (lane, f"{id_} "),
        }
        return kinds[one.like]

    async def _claim(self, step: Claim) -> None:
        def claim(side: Side) -> Awaitable[Claimed]:
            return side.jobs.claim(
                step.types, step.limit, step.ttl, WORKER, max_attempts=step.max_attempts
            )

        ours, reference = await self._sides.ask(claim)
        standing = {
            (one.org_id, one.id): await self._reference.jobs.get(one.org_id, one.id)
            for one in ours.grants
        }
        asked = judge.Asked(step.types, step.limit)
        judge.compare_grants(asked, self._view.grants(ours), self._view.grants(reference), standing)
        judge.compare_due(self._view.due_in(ours), self._view.due_in(reference))
        for mine, expected in zip(ours.grants, reference.grants, strict=True):
            self._links.job(mine, expected)
            self._links.token(mine)
        self._ours.holds += [grant.hold for grant in ours.grants]
        self._reference.holds += [grant.hold for grant in reference.grants]

    def _there(self, places: Sequence[int]) -> list[int]:
        return [place for place in places if place < len(self._reference.holds)]

    async def _extend(self, step: Extend) -> None:
        places = self._there(step.holds)
        if not places:
            return
        ours, reference = await self._sides.ask(
            lambda side: side.jobs.extend([side.hold(place) for place in places], step.ttl)
        )
        judge.compare_extensions(
            [self._view.extension(one) for one in ours],
            [self._view.extension(one) for one in reference],
        )

    async def _settle(self, step: Settle) -> None:
        known = len(self._reference.holds)
        ends = [(place, verdict) for place, verdict in step.ends if place < known]
        if not self._view.instants:
            # A clock that runs may move within a call: which of two falls due first is open.
            ends = [end for end in ends if not _delayed(end[1])] or ends[:1]
        if not ends:
            return
        answers = await self._sides.ask(
            lambda side: side.jobs.settle([Outcome(side.hold(place), v) for place, v in ends])
        )
        judge.compare_settlements([verdict for _, verdict in ends], *answers)

    async def _change(self, step: Change) -> None:
        if step.job >= len(self._keys):
            return
        key = self._keys[-1 - step.job]
        if step.revive:
            answers = await self._sides.ask(lambda side: side.jobs.revive(*key))
            judge.compare_found(f"a revival of {key}", *answers)
        else:
            answers = await self._sides.ask(lambda side: side.jobs.cancel(*key))
            judge.compare_found(f"a cancel of {key}", *answers)

    async def _look(self, step: Look) -> None:
        if step.job < len(self._keys):
            key = self._keys[-1 - step.job]
            await self._compare_job(key)
            await self._compare_lanes(key[0])

    async def _compare_lanes(self, *deep: str | None) -> None:
        lanes = await self._sides.ask(lambda side: side.jobs.lanes())
        judge.compare_plain("store.lanes", "lanes", *lanes)
        for org in deep:
            depths = await self._sides.ask(partial(_depth, org=org))
            judge.compare_plain("store.depth", f"depth of lane {org!r}", *depths)

    async def _compare_job(self, key: Key) -> None:
        ours, reference = await self._sides.ask(lambda side: side.jobs.get(*key))
        view = self._view.record
        judge.compare_records(key, ours and view(ours), reference and view(reference))
        if ours is not None and reference is not None:
            self._links.job(ours, reference)

    async def _prune(self, step: Prune) -> None:
        counts = await self._sides.ask(
            lambda side: side.jobs.prune(
                step.states, older_than=step.older_than, keep=step.keep, limit=step.limit
            )
        )
        judge.compare_plain("store.prune", "how many jobs were pruned", *counts)

    async def _browse(self, step: Browse) -> None:
        if step.states:
            await self._listings.whole(step.scope, step.limit, step.states)
        else:
            await self._listings.begin(step.scope, step.limit)

    async def _turn(self, _: Turn) -> None:
        await self._listings.turn()

    async def _pass(self, step: Move) -> None:
        now = await self._move(step.by)
        self._now = now if self._view.instants else self._now + step.by

    async def _compare_all(self) -> None:
        """Every job, lane and listing, and then the order of all that can be claimed."""
        while await self._listings.turn():
            pass
        for key in self._keys:
            await self._compare_job(key)
        lanes = list(dict.fromkeys(lane for lane, _ in self._keys))
        await self._compare_lanes(*lanes)
        scopes: list[Scope] = [EveryLane(), *map(OneLane, lanes)]
        for scope in scopes:
            await self._listings.whole(scope, _PAGE)
        await self._step(Claim(TYPES, _LAST_CLAIM, 60 * HOUR, 3))


def _depth(side: Side, org: str | None) -> Awaitable[int]:
    return side.jobs.depth(org)


def _delayed(verdict: Verdict) -> bool:
    return isinstance(verdict, Retry | Release) and verdict.delay > 0


def _new_job(key: Key, one: NewOne, now: Instant) -> NewJob:
    run_at = None if one.run_at is None else max(0, now + one.run_at)
    return NewJob(key[1], key[0], one.type, one.payload, one.max_attempts, one.delay, run_at)
