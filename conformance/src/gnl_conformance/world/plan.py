"""The knobs of a world, drawn from its seed: who is there, what they do, what goes wrong.

Each trouble is left out of some worlds, so that no trouble always hides behind another one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

LANES: Final = (None, "a", "b")
TYPES: Final = ("x", "y")


@dataclass(frozen=True, slots=True)
class Plan:
    """Times are seconds, chances are from 0 to 1."""

    calm: bool
    """No trouble of any kind, and handlers, some of which block, one at a time."""
    workers: int
    producers: int
    listers: int
    concurrency: int
    claim_ahead: int
    ttl: float
    max_attempts: int
    poll_longest: float
    retry_delay: float
    signal_only: bool
    grace: float
    max_hold: float | None
    wake_ups: bool
    lanes: tuple[str | None, ...]
    jobs: int
    """For each producer, in all its calls together."""
    delayed: float
    max_depth: int | None
    labour: float
    """How long a handler works, on average."""
    failing: float
    blocking: float
    canceled: float
    revived: float
    pruned: float
    shared_ids: float
    storm: float
    """How long things go wrong."""
    crashes: int
    pauses: int
    restarts: int
    absences: int
    skew: float
    drift: float
    lost_requests: float
    lost_replies: float
    lost_hints: float
    slow: float
    slowest: float
    patience: float
    """After so long, at most, a caller gives up waiting for a reply."""


def draw(rng: random.Random) -> Plan:
    """A plan for one world."""
    calm = rng.random() < 0.08
    ttl = rng.choice((0.6, 1.0, 2.0))
    some = _Some(rng, calm)
    pruned = rng.choice((0.0, 0.0, 0.3))
    return Plan(
        calm=calm,
        workers=rng.choice((1, 2, 2, 3)),
        producers=rng.choice((1, 1, 2)),
        listers=rng.choice((0, 1)),
        concurrency=1 if calm else rng.choice((1, 1, 2, 4)),
        claim_ahead=0 if calm else rng.choice((0, 0, 5)),
        ttl=ttl,
        max_attempts=rng.choice((1, 3, 3, 5)),
        poll_longest=rng.choice((0.4, 1.6, 6.4)),
        retry_delay=rng.choice((0.0, 0.1, 1.0)),
        signal_only=rng.random() < 0.2,
        grace=rng.choice((0.05, 0.5)),
        max_hold=rng.choice((None, None, None, ttl)),
        wake_ups=rng.random() < 0.5,
        lanes=LANES[: rng.randint(1, len(LANES))],
        jobs=rng.randint(2, 6),
        delayed=rng.choice((0.0, 0.3)),
        max_depth=rng.choice((None, None, 3)),
        labour=ttl * rng.choice((0.02, 0.5, 2.0)),
        failing=rng.choice((0.0, 0.2, 0.5)),
        blocking=0.5 if calm else rng.choice((0.0, 0.0, 0.3)),
        canceled=rng.choice((0.0, 0.3, 0.6)),
        revived=rng.choice((0.3, 1.0)),
        pruned=pruned,
        # A pruned id is free again: then it could not be told who is who.
        shared_ids=0.0 if pruned else rng.choice((0.0, 0.3)),
        storm=rng.choice((3.0, 5.0)),
        crashes=some.count(),
        pauses=some.count() + some.count(),
        restarts=some.count(),
        absences=some.count(),
        skew=rng.choice((0.0, 0.7, 3_600.0)),
        drift=rng.choice((0.0, 0.1)),
        lost_requests=some.chance(),
        lost_replies=some.chance(),
        lost_hints=some.chance(),
        slow=some.chance(),
        slowest=ttl * rng.choice((0.5, 2.0)),
        patience=ttl * rng.choice((0.1, 1.0)),
    )


class _Some:
    """Draws troubles: often none."""

    def __init__(self, rng: random.Random, calm: bool) -> None:
        self._rng = rng
        self._calm = calm

    def count(self) -> int:
        found = self._rng.choice((0, 0, 1, 3))
        return 0 if self._calm else found

    def chance(self) -> float:
        found = self._rng.choice((0.0, 0.02, 0.1, 0.3))
        return 0.0 if self._calm else found
