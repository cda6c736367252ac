"""What the engine is told about pace and patience."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gnl_core.runtime._pace import IdleWait

OnRevoke: TypeAlias = Literal["cancel", "signal"]

TROUBLE_SHORTEST: Final = 0.1
TROUBLE_LONGEST: Final = 5.0
"""Seconds between calls to a store that does not answer."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Seconds and counts; checked by whoever takes them from a user."""

    concurrency: int
    ttl: float
    claim_ahead: int
    max_hold: float | None
    grace: float
    poll_shortest: float
    poll_longest: float
    on_revoke: OnRevoke


def trouble_wait(options: EngineOptions, random: Callable[[], float]) -> IdleWait:
    """The waits after errors of the store; short beside a lease, which an outcome waits for."""
    longest = max(TROUBLE_SHORTEST, min(TROUBLE_LONGEST, options.ttl / 3))
    return IdleWait(TROUBLE_SHORTEST, longest, random)
