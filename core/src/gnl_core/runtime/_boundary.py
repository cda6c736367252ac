"""What a boundary (queue, events, scheduler) tells the shared engine: its words, not its loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from gnl_core._value import value
from gnl_core.runtime._signal import Signal
from gnl_core.spi import HoldState, Store

GrantT = TypeVar("GrantT")
VerdictT = TypeVar("VerdictT")


@value
class Taken(Generic[GrantT]):
    """What a claim brought. `next_due` is seconds until more falls due, None if nothing waits."""

    grants: Sequence[GrantT]
    next_due: float | None


@value
class Invocation:
    """A handler with its arguments. `threaded`: `call` blocks; else it answers an awaitable."""

    call: Callable[[], Any]
    threaded: bool


class Settled(Enum):
    """What became of an outcome."""

    ENDED = "ended"
    WAITS = "waits"
    """Written, and the work is or will be due again."""
    LOST = "lost"
    """Not written: the lease was lost."""


class Boundary(Protocol[GrantT, VerdictT]):
    """One kind of held work: how it is claimed, renewed, settled, and what its handlers are."""

    async def claim(self, limit: int) -> Taken[GrantT]:
        """Take up to `limit` pieces of work under a lease."""
        ...

    async def extend(self, store: Store, grants: Sequence[GrantT]) -> Sequence[HoldState]:
        """Renew leases through `store`, which may be a handle of the lease keeper's own."""
        ...

    async def settle(self, outcomes: Sequence[tuple[GrantT, VerdictT]]) -> Sequence[Settled]:
        """Write outcomes, fenced; one answer for each."""
        ...

    def prepare(self, grant: GrantT, signal: Signal) -> Invocation:
        """The handler to call; what this raises is the failure of the attempt."""
        ...

    def returned(self, grant: GrantT, value: object) -> VerdictT:
        """The handler returned; what this raises is the failure of the attempt."""
        ...

    def raised(self, grant: GrantT, error: BaseException) -> VerdictT:
        """The attempt failed, or asked for something by raising. Must not raise."""
        ...

    def given_back(self, grant: GrantT) -> VerdictT:
        """The attempt does not count: hand the work back."""
        ...

    def on_its_last_chance(self, grant: GrantT) -> bool:
        """Its holder died and no attempt is left after this one: it may be what killed it."""
        ...

    def name(self, grant: GrantT) -> str:
        """What logs call it."""
        ...
