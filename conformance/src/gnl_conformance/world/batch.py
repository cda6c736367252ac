"""Plays many worlds, judges each, and keeps the first that breaks each property."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from gnl_conformance import checker
from gnl_conformance._violation import Violation
from gnl_conformance.checker import Property
from gnl_conformance.world.play import Parts, Played, play
from gnl_conformance.world.properties import PROPERTIES

WORLD_PROPERTIES: Final = (
    # Of one world nobody can ask that everything was seen; `SOMETIMES` asks it of a batch.
    *(one for one in checker.PROPERTIES if not one.witness),
    *PROPERTIES,
)


@dataclass(slots=True)
class Batch:
    """What came of some worlds."""

    worlds: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    violations: dict[str, Violation] = field(default_factory=dict)
    """By property, that of the first world which broke it."""
    surprise: str | None = None
    """The first error where there must be none."""

    def judge(self, world: Played) -> None:
        """Count a world, and judge it by all properties that are not broken yet."""
        self.worlds += 1
        self.seen += world.seen
        for one in WORLD_PROPERTIES:
            if one.name not in self.violations:
                self._judge(world, one)
        if world.surprises and self.surprise is None:
            self.surprise = f"world {world.seed}: {world.surprises[0]}"

    def _judge(self, world: Played, one: Property) -> None:
        for history in (world.history, world.truth):
            for violation in one.holds(history):
                self.violations[one.name] = violation.placed(seed=world.seed)
                return


def play_batch(seeds: Iterable[int], parts: Parts, stop: threading.Event | None = None) -> Batch:
    """Play the worlds of some seeds, until `stop` is set."""
    batch = Batch()
    with errors_logged() as logged:
        for seed in seeds:
            if stop is not None and stop.is_set():
                break
            batch.judge(play(seed, parts))
            if logged and batch.surprise is None:
                batch.surprise = f"world {seed}: {logged[0]}"
    return batch


@contextlib.contextmanager
def errors_logged() -> Iterator[list[str]]:
    """Keep the workers' logs silent; the list fills with what they log with a traceback."""
    logger, keep = logging.getLogger("gnl"), _Keep()
    before = logger.level, logger.propagate
    logger.addHandler(keep)
    logger.propagate = False
    logger.setLevel(logging.ERROR)
    try:
        yield keep.unexpected
    finally:
        logger.removeHandler(keep)
        logger.setLevel(before[0])
        logger.propagate = before[1]


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.unexpected: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.unexpected.append(f"{record.getMessage()}: {record.exc_info[1]!r}")
