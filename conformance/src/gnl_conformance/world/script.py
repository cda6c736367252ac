"""What the store of a world was asked, as a script that any store can be asked as well.

A store that cannot live in a world, because its calls wait for a real database, is so asked what
a world's processes asked: the same calls in the same order, at the same times. The model tier
plays the script on the store and on the reference, and compares every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from gnl_conformance.history import Key
from gnl_conformance.model import script as steps
from gnl_conformance.model.script import Script, Step
from gnl_conformance.world.batch import errors_logged
from gnl_conformance.world.loop import SECOND
from gnl_conformance.world.play import Parts, play
from gnl_conformance.world.wire import Effect
from gnl_core.memory import MemoryStore
from gnl_core.spi import Claimed, Hold, NewJob

_GRAIN: Final = SECOND // 64
"""Microseconds; times are multiples of it, since a float of seconds holds those exactly."""

_LANES: Final = dict(zip((None, "a", "b"), steps.LANES, strict=False))
_TYPES: Final = dict(zip(("x", "y"), steps.TYPES, strict=True))


def script_of(seed: int) -> Script:
    """Everything that the world of a seed asks of the reference and that has an effect."""
    with errors_logged():
        world = play(seed, Parts(MemoryStore))
    return tuple(_Translation().of(world.effects))


class _Translation:
    """Scripts name jobs and holds by their place, counted from the latest."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self._holds: list[Hold] = []
        self._at = 0
        self._by_name: dict[str, Callable[..., Step]] = {
            "add": self._add,
            "claim": self._claim,
            "extend": self._extend,
            "settle": self._settle,
            "cancel": lambda *key: steps.Change(revive=False, job=self._place(key)),
            "revive": lambda *key: steps.Change(revive=True, job=self._place(key)),
            "page": self._page,
            "prune": steps.Prune,
        }

    def of(self, effects: tuple[Effect, ...]) -> Iterator[Step]:
        for effect in effects:
            at = effect.at // _GRAIN * _GRAIN
            if at > self._at:
                yield steps.Move(at - self._at)
                self._at = at
            if effect.op in self._by_name:
                yield self._by_name[effect.op](*effect.arguments)
            if isinstance(effect.answer, Claimed):
                self._holds += [grant.hold for grant in effect.answer.grants]

    def _place(self, key: tuple[Any, ...]) -> int:
        return len(self._keys) - 1 - self._keys.index((key[0], key[1])) if key in self._keys else 0

    def _hold(self, hold: Hold) -> int:
        return len(self._holds) - 1 - self._holds.index(hold)

    def _add(self, jobs: tuple[NewJob, ...], max_depth: int | None) -> Step:
        news = tuple(self._new(job) for job in jobs)
        self._keys += [key for job in jobs if (key := (job.org_id, job.id)) not in self._keys]
        return steps.Add(news, max_depth)

    def _new(self, job: NewJob) -> steps.NewOne:
        key = job.org_id, job.id
        return steps.NewOne(
            _LANES[job.org_id],
            _TYPES[job.type],
            job.payload,
            again=self._place(key) if key in self._keys else None,
            max_attempts=job.max_attempts,
            delay=job.delay,
            run_at=None,
        )

    def _claim(self, types: tuple[str, ...], limit: int, ttl: int, _: str, most: int) -> Step:
        return steps.Claim(tuple(_TYPES[one] for one in types), limit, ttl, most)

    def _extend(self, holds: tuple[Hold, ...], ttl: int) -> Step:
        return steps.Extend(tuple(map(self._hold, holds)), ttl)

    def _settle(self, outcomes: tuple[Any, ...]) -> Step:
        return steps.Settle(tuple((self._hold(one.hold), one.verdict) for one in outcomes))

    def _page(self, scope: Any, position: str | None, limit: int, _: object) -> Step:
        return steps.Turn() if position is not None else steps.Browse(scope, limit, ())
