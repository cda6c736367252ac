"""What the children do: produce, work and list, writing down every call."""

from __future__ import annotations

import asyncio
import os
import random
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from gnl_conformance import _entries as entries
from gnl_conformance._harness import Transaction
from gnl_conformance.history import Writer
from gnl_core.spi import (
    SECOND,
    Dead,
    Done,
    EveryLane,
    Grant,
    NewJob,
    Outcome,
    Release,
    Retry,
    Store,
    StoreError,
    Verdict,
)

TTL = SECOND // 2
MAX_ATTEMPTS = 6
TYPES = ("x", "y")
LANES = (None, "a", "b")
QUIET, STOP = "quiet", "stop"
"""Files by which the driver tells the children that the storm, and all, is over."""

_REPEATED = ("add", "extend", "settle", "cancel")

T = TypeVar("T")


class Player:
    """One child: a store, its own history, and a seeded choice of what to do.

    One that `insists` repeats a call that got no answer, as the interface allows; all but a
    claim, whose lost grants are left to their leases.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        who: str,
        seed: int,
        *,
        insists: bool = False,
        transaction: Callable[[], AbstractAsyncContextManager[Transaction]] | None = None,
    ) -> None:
        self.store = store
        self.transaction = transaction
        self.folder = folder
        self.who = who
        self.rng = random.Random(f"{seed} {who}")  # noqa: S311 - to be repeated, not to be secret
        self.writer = Writer(folder / f"{who}.jsonl", who)
        self._insists = insists
        self._driver = os.getppid()

    def told(self, signal: str) -> bool:
        """Whether the driver has said this, or can say nothing any more."""
        return (self.folder / signal).exists() or os.getppid() != self._driver

    async def call(
        self,
        op: str,
        asked: Mapping[str, Any],
        ask: Callable[[], Awaitable[T]],
        shown: Callable[[T], Mapping[str, Any]],
    ) -> T | None:
        """Make one call and write it down, each try for itself; None if it failed."""
        while True:
            number = self.writer.began(op, asked)
            try:
                answer = await ask()
            except Exception as error:
                self.writer.failed(number, error)
                await asyncio.sleep(0.05 if isinstance(error, StoreError) else 0.2)
                if self._insists and op in _REPEATED and not self.told(STOP):
                    continue
                return None
            self.writer.ended(number, shown(answer))
            return answer

    async def pause(self, most: float) -> None:
        """Sleep up to `most` seconds."""
        await asyncio.sleep(self.rng.uniform(0, most))


async def produce(player: Player) -> None:
    """Add jobs until the storm is over; cancel a few."""
    added: list[NewJob] = []
    while not player.told(QUIET):
        jobs = _new_jobs(player)
        answer = await player.call(
            "add", entries.adding(jobs), partial(player.store.jobs.add, jobs), entries.added
        )
        if answer is not None:
            added += jobs
        if added and player.rng.random() < 0.3:
            job = player.rng.choice(added[-8:])
            await _cancel(player, job.org_id, job.id)
        await player.pause(0.25)


def _new_jobs(player: Player) -> list[NewJob]:
    rng = player.rng
    jobs = []
    for _ in range(rng.choice((1, 1, 2, 2, 5, 25))):
        # Some ids are common to all producers, so that calls meet.
        shared = rng.random() < 0.2
        name = f"shared-{rng.randrange(12)}" if shared else uuid.UUID(int=rng.getrandbits(128)).hex
        delay = rng.choice((0, 0, 0, SECOND // 20))
        jobs.append(NewJob(name, rng.choice(LANES), rng.choice(TYPES), "null", None, delay))
    return list({(job.org_id, job.id): job for job in jobs}.values())


async def _cancel(player: Player, org_id: str | None, id: str) -> None:
    ask = partial(player.store.jobs.cancel, org_id, id)
    await player.call("cancel", entries.one_job(org_id, id), ask, entries.found)


async def oversleep(player: Player) -> None:
    """Work, but hold every job for longer than its lease while the storm lasts."""
    await work(player, late=1.0)


async def work(player: Player, late: float = 0.05) -> None:
    """Claim, hold, sometimes extend or oversleep, and settle, until all is over."""
    while not player.told(STOP):
        limit = player.rng.randint(1, 5)
        ask = partial(
            player.store.jobs.claim, TYPES, limit, TTL, player.who, max_attempts=MAX_ATTEMPTS
        )
        claimed = await player.call("claim", {"limit": limit}, ask, entries.claimed)
        if claimed is None or not claimed.grants:
            await player.pause(0.05)
            continue
        await _hold(player, claimed.grants, late)
        await _settle(player, claimed.grants)


async def _hold(player: Player, grants: tuple[Grant, ...], late: float) -> None:
    await player.pause(0.06)
    if player.rng.random() < 0.3:
        holds = [grant.hold for grant in grants]
        ask = partial(player.store.jobs.extend, holds, TTL)
        await player.call("extend", entries.extending(holds), ask, entries.extended)
    if player.rng.random() < 0.15 and not player.told(QUIET):
        await _cancel(player, grants[0].org_id, grants[0].id)
    if player.rng.random() < late and not player.told(QUIET):
        # Just past the end, when somebody else has the job and has not settled it yet.
        await asyncio.sleep(player.rng.uniform(0.95, 1.3) * TTL / SECOND)


async def _settle(player: Player, grants: tuple[Grant, ...]) -> None:
    ends = [Outcome(grant.hold, _verdict(player, grant)) for grant in grants]
    ask = partial(player.store.jobs.settle, ends)
    await player.call("settle", entries.settling(ends), ask, entries.settled)


def _verdict(player: Player, grant: Grant) -> Verdict:
    chance = player.rng.random()
    if chance < 0.8:
        return Done(f'"{player.who}"')
    if chance < 0.87:
        return Release()
    if chance < 0.97 and grant.attempt < grant.max_attempts:
        return Retry(SECOND // 20, "again")
    return Dead("broken")


async def browse(player: Player) -> None:
    """List every job, page by page, again and again."""
    while not player.told(STOP):
        listing, position = f"{player.who} {player.rng.random()}", None
        while True:
            ask = partial(player.store.jobs.page, EveryLane(), position, 60)
            page = await player.call("page", {"listing": listing}, ask, entries.paged)
            position = page.position if page else None
            if position is None or player.told(STOP):
                break
            await player.pause(0.02)
        await player.pause(0.3)


ROLES: dict[str, Callable[[Player], Awaitable[None]]] = {
    "producer": produce,
    "worker": work,
    "sleeper": oversleep,
    "lister": browse,
}
