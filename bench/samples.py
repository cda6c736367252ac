"""Every single measurement, kept as it was, and the medians and ratios made from them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Sample:
    """One measurement. `load` is the machine's load average after it; `error` if it failed."""

    contender: str
    operation: str
    round: int
    load: float
    seconds: float
    values: dict[str, float]
    error: str | None = None


class Samples:
    """What was measured, in order."""

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        self.all = list(samples)

    def values(self, contender: str, operation: str, key: str) -> dict[int, float]:
        """One number by round."""
        return {
            s.round: s.values[key]
            for s in self.all
            if s.contender == contender and s.operation == operation and key in s.values
        }

    def median(self, contender: str, operation: str, key: str) -> float | None:
        found = self.values(contender, operation, key)
        return median(found.values()) if found else None

    def ratio(
        self, ours: tuple[str, str], theirs: tuple[str, str], key: str = "per_s"
    ) -> tuple[float, float, float] | None:
        """Median, least and largest of the ratios within rounds; both as (contender, operation)."""
        mine, others = self.values(*ours, key), self.values(*theirs, key)
        ratios = [mine[r] / others[r] for r in mine.keys() & others.keys() if others[r]]
        return (median(ratios), min(ratios), max(ratios)) if ratios else None

    def next_round(self) -> int:
        return max((s.round for s in self.all), default=-1) + 1

    def contenders(self) -> list[str]:
        return list(dict.fromkeys(s.contender for s in self.all))

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps([asdict(s) for s in self.all], indent=1) + "\n")


def load(path: Path) -> Samples:
    return Samples(Sample(**sample) for sample in json.loads(path.read_text()))
