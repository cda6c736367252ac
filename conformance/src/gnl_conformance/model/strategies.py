"""Draws scripts with Hypothesis. Of every choice the first is the simplest, to which it shrinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

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
from gnl_core.spi import Dead, Done, EveryLane, JobState, OneLane, Release, Retry, Verdict

T = TypeVar("T")

STEPS = 30
"""A script is this long, or ends before."""

_MOST_PLACES = 12
_LIKE: tuple[Like, ...] = ("same", "same", "elsewhere", "upper", "blank")
_GO_ON = st.integers(0, 2**16 - 1)


@st.composite
def scripts(draw: st.DrawFn, times: Times) -> Script:
    """A script that asks for no more than these times."""
    steps = _steps(times)
    found: list[Step] = []
    # Not a list: those are short on average, and rarely as long as their limit.
    while len(found) < STEPS and (draw(_GO_ON) or draw(_GO_ON)):
        found.append(draw(steps))
    return tuple(found)


def _steps(times: Times) -> st.SearchStrategy[Step]:
    """Each kind as often as it is worth."""
    kinds: list[tuple[int, st.SearchStrategy[Step]]] = [
        (6, _adds(times)),
        (8, _claims(times)),
        (7, _settlements(times)),
        (3, _extensions(times)),
        (4, _changes()),
        (1, _looks()),
        (2, _browses()),
        (2, st.just(Turn())),
        (1, _prunes(times)),
    ]
    if times.moves:
        kinds.append((6, st.builds(Move, _one(times.moves))))
    return _weighed(kinds)


def _weighed(kinds: Sequence[tuple[int, st.SearchStrategy[T]]]) -> st.SearchStrategy[T]:
    """One of some strategies, by weight, which `st.one_of` takes out."""
    return _one(tuple(kind for often, kind in kinds for _ in range(often))).flatmap(lambda k: k)


def _adds(times: Times) -> st.SearchStrategy[Step]:
    one = st.builds(
        NewOne,
        _one(LANES),
        _one(TYPES),
        _one(PAYLOADS),
        _seldom(_places()),
        _one((None, None, 1, 2)),
        _one((0, 0, *times.delays)),
        _seldom(_one((*times.delays, *[-delay for delay in times.delays if delay]))),
        _one(_LIKE),
    )
    depth = _one((None, None, None, 1, 3, 6))
    return st.builds(Add, _some(one, 5), depth)


def _claims(times: Times) -> st.SearchStrategy[Step]:
    types = _one((TYPES, TYPES[:1], TYPES[1:]))
    return st.builds(Claim, types, _one((1, 2, 3, 7)), _one(times.ttls), _one((3, 1, 2)))


def _settlements(times: Times) -> st.SearchStrategy[Step]:
    delays = _one(times.delays)
    verdicts: st.SearchStrategy[Verdict] = st.one_of(
        st.just(Done(' {"r":  1.0} ')),
        st.builds(Retry, delays, _one(("e", "é"))),
        st.just(Dead("dead")),
        st.builds(Release, delays),
    )
    return st.builds(Settle, _some(st.tuples(_places(), verdicts), 4))


def _extensions(times: Times) -> st.SearchStrategy[Step]:
    return st.builds(Extend, _some(_places(), 4), _one(times.ttls))


def _changes() -> st.SearchStrategy[Step]:
    return st.builds(Change, st.booleans(), _places())


def _looks() -> st.SearchStrategy[Step]:
    return st.builds(Look, _places())


def _browses() -> st.SearchStrategy[Step]:
    scopes = _one((EveryLane(), *map(OneLane, LANES)))
    some = st.sets(_one(tuple(JobState)), max_size=3)
    filters = some.map(lambda found: tuple(sorted(found, key=lambda state: state.value)))
    states = _weighed([(2, st.just(())), (1, filters)])
    return st.builds(Browse, scopes, _one((1, 2, 5)), states)


def _prunes(times: Times) -> st.SearchStrategy[Step]:
    states = _one((FINISHED, FINISHED[:1], FINISHED[1:]))
    older = st.one_of(st.none(), _one(times.ages))
    return st.builds(Prune, states, older, _one((None, 0, 1, 3)), _one((10_000, 1, 2)))


def _places() -> st.SearchStrategy[int]:
    return st.one_of(st.integers(0, 3), st.integers(0, _MOST_PLACES))


def _one(values: tuple[T, ...]) -> st.SearchStrategy[T]:
    return st.sampled_from(values)


def _seldom(some: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    return _weighed([(4, st.none()), (1, some)])


def _some(one: st.SearchStrategy[T], most: int) -> st.SearchStrategy[tuple[T, ...]]:
    as_tuple: Callable[[list[T]], tuple[T, ...]] = tuple
    return st.lists(one, min_size=1, max_size=most).map(as_tuple)
