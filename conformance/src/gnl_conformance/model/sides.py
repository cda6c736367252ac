"""The two stores of a lockstep run: each is asked the same, with its own numbers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from gnl_conformance._violation import WrongAnswer
from gnl_conformance.model.difference import Difference
from gnl_core.spi import Hold, Instant, JobStore, StoreError

T = TypeVar("T")


@dataclass
class Side:
    """One store, with its own numbers for the same things."""

    jobs: JobStore
    now: Callable[[], Awaitable[Instant]]
    holds: list[Hold] = field(default_factory=list)

    def hold(self, place: int) -> Hold:
        """The hold at this place, counted from the latest."""
        return self.holds[-1 - place]


@dataclass
class Sides:
    """The store under trial, and the reference."""

    ours: Side
    reference: Side

    async def ask(self, call: Callable[[Side], Awaitable[T]]) -> tuple[T, T]:
        """The answer of the store, and of the reference.

        Raises `Difference` for an error that the store interface does not name.
        """
        expected = await call(self.reference)
        try:
            return await call(self.ours), expected
        except (StoreError, WrongAnswer, Difference):
            raise
        except Exception as error:
            sentence = f"a call raised {type(error).__name__}: {error}"
            raise Difference("store.errors", sentence) from error
