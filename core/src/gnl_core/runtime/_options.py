"""What the engine is told about pace and patience."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gnl_core._counts import to_count
from gnl_core._durations import Seconds, to_duration
from gnl_core._shown import shown
from gnl_core.errors import InvalidInput
from gnl_core.runtime._pace import IdleWait
from gnl_core.spi import SECOND

OnRevoke: TypeAlias = Literal["cancel", "signal"]

TROUBLE_SHORTEST: Final = 0.1
TROUBLE_LONGEST: Final = 5.0
"""Seconds between calls to a store that does not answer."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Seconds and counts, checked."""

    concurrency: int
    ttl: float
    claim_ahead: int
    max_hold: float | None
    grace: float
    poll_shortest: float
    poll_longest: float
    on_revoke: OnRevoke


MILLISECOND: Final = 1_000


def engine_options(
    *,
    concurrency: int,
    ttl: Seconds,
    ttl_name: str,
    claim_ahead: int,
    max_hold: Seconds | None,
    grace: Seconds,
    poll_shortest: Seconds,
    poll_longest: Seconds,
    on_revoke: OnRevoke,
) -> EngineOptions:
    """The options as users give them, checked. Raises `InvalidInput` that names the option."""
    if on_revoke not in ("cancel", "signal"):
        raise InvalidInput(f"on_revoke is {shown(on_revoke)}; give 'cancel' or 'signal'")
    options = EngineOptions(
        concurrency=to_count(concurrency, "concurrency", least=1),
        ttl=to_duration(ttl, ttl_name, least=100 * MILLISECOND) / SECOND,
        claim_ahead=to_count(claim_ahead, "claim_ahead", least=0),
        max_hold=None if max_hold is None else _seconds(max_hold, "max_hold"),
        grace=to_duration(grace, "grace") / SECOND,
        poll_shortest=_seconds(poll_shortest, "poll_shortest"),
        poll_longest=_seconds(poll_longest, "poll_longest"),
        on_revoke=on_revoke,
    )
    if options.poll_longest < options.poll_shortest:
        raise InvalidInput(
            f"poll_longest ({poll_longest}) is shorter than poll_shortest ({poll_shortest})"
        )
    return options


def _seconds(value: Seconds, what: str) -> float:
    return to_duration(value, what, least=MILLISECOND) / SECOND


def trouble_wait(options: EngineOptions, random: Callable[[], float]) -> IdleWait:
    """The waits after errors of the store; short beside a lease, which an outcome waits for."""
    longest = max(TROUBLE_SHORTEST, min(TROUBLE_LONGEST, options.ttl / 3))
    return IdleWait(TROUBLE_SHORTEST, longest, random)
