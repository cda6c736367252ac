"""Scripts played on the store and on the reference, whose grants must agree one by one."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Protocol

from gnl_conformance._case import case
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._trial import LONG, Trial, job
from gnl_core.memory import MemoryStore
from gnl_core.spi import Dead, Done, Grant, NewJob, Outcome, Release, Retry, Store, Verdict

_LANES = (None, "a", "b", "c", "d")
_TYPES = ("x", "y", "z")
_VERDICTS: tuple[Verdict, ...] = (Done("1"), Retry(0, "again"), Release(), Dead("no"))


@dataclass
class _Player:
    """One store under the script; what it granted and not yet settled, by id."""

    store: Store | RecordedStore
    held: dict[str, Grant]


class _Step(Protocol):
    async def play(self, player: _Player) -> object: ...


@dataclass
class _Add:
    jobs: list[NewJob]

    async def play(self, player: _Player) -> object:
        return await player.store.jobs.add(self.jobs)


@dataclass
class _Claim:
    types: list[str]
    limit: int

    async def play(self, player: _Player) -> object:
        claimed = await player.store.jobs.claim(self.types, self.limit, LONG, "w", max_attempts=9)
        player.held.update({grant.id: grant for grant in claimed.grants})
        return [(grant.id, grant.attempt) for grant in claimed.grants]


@dataclass
class _Settle:
    ended: list[tuple[str, Verdict]]

    async def play(self, player: _Player) -> object:
        outcomes = [Outcome(player.held.pop(name).hold, verdict) for name, verdict in self.ended]
        return [one.state for one in await player.store.jobs.settle(outcomes)]


@dataclass
class _Change:
    action: str
    org_id: str | None
    id: str

    async def play(self, player: _Player) -> object:
        change = player.store.jobs.cancel if self.action == "cancel" else player.store.jobs.revive
        return await change(self.org_id, self.id)


@case("lane.order")
async def scripts_are_played_as_the_reference_plays_them(t: Trial) -> None:
    for seed in range(6):
        async with t.elsewhere() as store:
            await _play(t, seed, _Player(store, {}), _Player(MemoryStore(), {}))


async def _play(t: Trial, seed: int, *players: _Player) -> None:
    rng = random.Random(seed)  # noqa: S311 - a script to repeat, not a secret
    names: list[tuple[str | None, str]] = []
    for number in range(60):
        step = _next_step(rng, number, players[-1], names)
        ours, reference = [await step.play(player) for player in players]
        t.check(ours == reference, f"script {seed}: {step} gave {ours}, the reference {reference}")


def _next_step(
    rng: random.Random, number: int, reference: _Player, names: list[tuple[str | None, str]]
) -> _Step:
    action = rng.choice(("add", "add", "claim", "claim", "settle", "cancel", "revive"))
    if action == "settle" and reference.held:
        some = rng.sample(sorted(reference.held), rng.randint(1, len(reference.held)))
        return _Settle([(name, rng.choice(_VERDICTS)) for name in some])
    if action in ("cancel", "revive") and names:
        return _Change(action, *rng.choice(names))
    if action == "claim":
        return _Claim(rng.sample(_TYPES, rng.randint(1, 3)), rng.randint(1, 4))
    new = _new_jobs(rng, number)
    names += [(one.org_id, one.id) for one in new]
    return _Add(new)


def _new_jobs(rng: random.Random, number: int) -> list[NewJob]:
    delays = (0, 0, 0, LONG)
    return [
        job(f"{number}-{n}", rng.choice(_LANES), rng.choice(_TYPES), delay=rng.choice(delays))
        for n in range(rng.randint(1, 6))
    ]
