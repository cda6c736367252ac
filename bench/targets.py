"""What we aim at, as ratios within one run, and whether it is met."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from samples import Samples

GNL, FLOOR = "gnl", "floor"


@dataclass(frozen=True)
class Target:
    """`measured` answers the value from the samples, None if it was not measured."""

    title: str
    bound: float
    at_least: bool
    measured: Callable[[Samples], float | None]

    def line(self, samples: Samples) -> str:
        value = self.measured(samples)
        sign = "≥" if self.at_least else "≤"
        if value is None:
            return f"| {self.title} | {sign} {self.bound:g} | - | not measured |"
        met = value >= self.bound if self.at_least else value <= self.bound
        return f"| {self.title} | {sign} {self.bound:g} | {value:.2f} | {'met' if met else 'no'} |"


def _ratio(
    operation: str,
    other: str,
    *,
    ours: str = GNL,
    key: str = "per_s",
    inverse: bool = False,
) -> Callable[[Samples], float | None]:
    def measured(samples: Samples) -> float | None:
        mine, its = (ours, operation), (other, operation)
        found = samples.ratio(its, mine, key) if inverse else samples.ratio(mine, its, key)
        return None if found is None else found[0]

    return measured


def _growth(operation: str) -> Callable[[Samples], float | None]:
    def measured(samples: Samples) -> float | None:
        found = samples.ratio((GNL, operation), (GNL, "empty"))
        return None if found is None else found[0]

    return measured


def _median(operation: str, key: str) -> Callable[[Samples], float | None]:
    return lambda samples: samples.median(GNL, operation, key)


TARGETS = (
    Target("drain, to the floor", 0.6, True, _ratio("drain", FLOOR)),
    Target("drain, to PgQueuer in batches of 100", 1.5, True, _ratio("drain", "pgqueuer-100")),
    Target("drain, to Procrastinate", 30, True, _ratio("drain", "procrastinate")),
    Target("handlers that wait, of what 100 slots can do", 0.9, True, _ratio("awaited", "slots")),
    Target("enqueue one by one, to the floor", 0.8, True, _ratio("one", FLOOR)),
    Target("time of bulk enqueue, to the floor", 2, False, _ratio("bulk", FLOOR, inverse=True)),
    Target("pickup p50, to the floor", 2, False, _ratio("pickup", FLOOR, key="p50_ms")),
    Target("20 idle workers, statements/s", 10, False, _median("idle", "statements_per_s")),
    Target("drain with 1,000,000 finished, to empty", 0.9, True, _growth("finished")),
    Target("drain with 200,000 waiting, to empty", 0.9, True, _growth("waiting")),
    Target("drain with 16 lanes, to one", 0.9, True, _growth("lanes-16")),
    Target("drain with 10,000 lanes, to one", 0.9, True, _growth("lanes-10000")),
    Target("drain under a held snapshot, to empty", 0.9, True, _growth("snapshot")),
    Target("drain beside an open transaction, to empty", 0.9, True, _growth("transaction")),
    Target("eight workers on one lane, to the floor's", 0.6, True, _ratio("workers-8", FLOOR)),
    Target(
        "SQLite drain, to the floor", 0.2, True, _ratio("drain", "floor-sqlite", ours="gnl-sqlite")
    ),
    Target("SQLite drain, to Huey", 5, True, _ratio("drain", "huey", ours="gnl-sqlite")),
)


def target_lines(samples: Samples) -> Iterator[str]:
    """The table of targets."""
    yield "| target | bound | measured | |"
    yield "|---|---|---|---|"
    for target in TARGETS:
        yield target.line(samples)
