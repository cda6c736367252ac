"""Draws scripts with Hypothesis: each step is read from a few bytes, which it draws and shrinks.

Of every choice the first is the simplest: a byte of 0 chooses it. Bytes, because Hypothesis mixes
constants of whatever modules are loaded into the numbers it draws: the same seed would give other
scripts after a change anywhere, or under pytest. No module has byte strings as long as these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

from gnl_conformance.model.script import (
    FINISHED,
    LANES,
    PAYLOADS,
    TYPES,
    Add,
    Browse,
    Change,
    Claim,
    Extend,
    Like,
    Look,
    Move,
    NewOne,
    Prune,
    Script,
    Settle,
    Step,
    Times,
    Turn,
)
from gnl_core.spi import Dead, Done, EveryLane, JobState, OneLane, Release, Retry, Scope, Verdict

T = TypeVar("T")

STEPS = 30
"""A script is this long, or ends before."""

_BYTES: Final = 61
"""More than the longest step needs: an add of five jobs."""

# The latest are named most often.
_PLACES: Final[tuple[int, ...]] = (*range(4), *range(13))
_LIKE: Final[tuple[Like, ...]] = ("same", "same", "elsewhere", "upper", "blank")
_SCOPES: Final[tuple[Scope, ...]] = (EveryLane(), *map(OneLane, LANES))
_FILTERS: Final[tuple[tuple[JobState, ...], ...]] = (
    *((),) * 14,
    *((state,) for state in JobState),
    (JobState.WAITING, JobState.RUNNING),
    FINISHED,
)
_SELDOM: Final = (False, False, False, False, True)


def scripts(times: Times) -> st.SearchStrategy[Script]:
    """Scripts that ask for no more than these times."""

    @st.composite
    def script(draw: st.DrawFn) -> Script:
        found: list[Step] = []
        # Not a list: those are short on average, and rarely as long as their limit.
        while len(found) < STEPS:
            reader = _Reader(draw(_STEP), times)
            if reader.byte() == 0:
                break
            found.append(reader.step())
        return tuple(found)

    return script()


_STEP: Final = st.binary(min_size=_BYTES, max_size=_BYTES)


class _Reader:
    """Reads one step; each choice takes the next byte."""

    def __init__(self, raw: bytes, times: Times) -> None:
        self._raw: Iterator[int] = iter(raw)
        self._times = times
        self._kinds: list[Callable[[], Step]] = [
            *[self._add] * 6,
            *[self._claim] * 8,
            *[self._settle] * 7,
            *[self._extend] * 3,
            *[self._change] * 4,
            *[self._move] * (6 if times.moves else 0),
            *[self._browse] * 2,
            *[Turn] * 2,
            self._look,
            self._prune,
        ]

    def byte(self) -> int:
        """The next byte."""
        return int(next(self._raw))

    def step(self) -> Step:
        """A step of any kind, each as often as it is worth."""
        return self._one(self._kinds)()

    def _one(self, values: Sequence[T]) -> T:
        return values[self.byte() % len(values)]

    def _place(self) -> int:
        return self._one(_PLACES)

    def _count(self, most: int) -> range:
        return range(1 + self.byte() % most)

    def _add(self) -> Add:
        depth = self._one((None, None, None, 1, 3, 6))
        return Add(tuple(self._new() for _ in self._count(5)), depth)

    def _new(self) -> NewOne:
        delays = self._times.delays
        again, timed = self._one(_SELDOM), self._one(_SELDOM)
        place, like = self._place(), self._one(_LIKE)
        run_at = self._one(self._times.run_ats)
        return NewOne(
            self._one(LANES),
            self._one(TYPES),
            self._one(PAYLOADS),
            place if again else None,
            self._one((None, None, 1, 2)),
            self._one((0, 0, *delays)),
            run_at if timed else None,
            like=like,
        )

    def _claim(self) -> Claim:
        types = self._one((TYPES, TYPES[:1], TYPES[1:]))
        limit, budget = self._one((1, 2, 3, 7)), self._one((3, 1, 2))
        return Claim(types, limit, self._one(self._times.ttls), budget)

    def _settle(self) -> Settle:
        return Settle(tuple((self._place(), self._verdict()) for _ in self._count(4)))

    def _verdict(self) -> Verdict:
        delay, error = self._one(self._times.delays), self._one(("e", "é"))
        done, retry = Done(' {"r":  1.0} '), Retry(delay, error)
        verdicts: tuple[Verdict, ...] = (done, retry, Dead("dead"), Release(delay))
        return self._one(verdicts)

    def _extend(self) -> Extend:
        return Extend(tuple(self._place() for _ in self._count(4)), self._one(self._times.ttls))

    def _change(self) -> Change:
        return Change(self._one((False, True)), self._place())

    def _move(self) -> Move:
        return Move(self._one(self._times.moves))

    def _browse(self) -> Browse:
        return Browse(self._one(_SCOPES), self._one((1, 2, 5)), self._one(_FILTERS))

    def _look(self) -> Look:
        return Look(self._place())

    def _prune(self) -> Prune:
        states = self._one((FINISHED, FINISHED[:1], FINISHED[1:]))
        ages = self._times.ages
        older = self._one((*[None] * len(ages), *ages))
        return Prune(states, older, self._one((None, 0, 1, 3)), self._one((10_000, 1, 2)))
