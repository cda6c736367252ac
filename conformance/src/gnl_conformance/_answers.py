"""What kind of value each method of a store answers, so that another kind is told in one line."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Final, TypeVar

from gnl_conformance._notes import brief
from gnl_conformance._violation import WrongAnswer
from gnl_core.spi import (
    Added,
    Appended,
    Claimed,
    ConsumerRecord,
    DeadEvent,
    DeadPage,
    Delivered,
    DeliveryState,
    DepthRefused,
    EventGrant,
    EventSettlement,
    Extension,
    Grant,
    JobPage,
    JobRecord,
    JobState,
    Known,
    KnownEvent,
    Lane,
    SchemaVersion,
    Settlement,
    TopicRecord,
    TopicRefused,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape:
    """The kinds that an answer may have; of what, if it is or holds (as `held`) a tuple."""

    kinds: tuple[type, ...]
    held: str = ""
    each: tuple[type, ...] = ()
    one_a: str = ""

    def fits(self, answer: object) -> bool:
        """Whether an answer is of this shape."""
        if not isinstance(answer, self.kinds):
            return False
        held = getattr(answer, self.held, ()) if self.held else answer
        return not self.each or (
            isinstance(held, tuple) and all(isinstance(one, self.each) for one in held)
        )

    def __str__(self) -> str:
        of = f"a tuple of {_either(self.each)}" if self.each else ""
        text = of if of and not self.held else _either(self.kinds)
        if self.held:
            text += f", with `{self.held}` {of}"
        return f"{text}, one {self.one_a}" if self.one_a else text


def _either(kinds: tuple[type, ...]) -> str:
    return " or ".join("None" if kind is NoneType else kind.__name__ for kind in kinds)


def _tuple(each: type, one_a: str = "") -> Shape:
    return Shape((tuple,), each=(each,), one_a=one_a)


_INT: Final = Shape((int,))
_BOOL: Final = Shape((bool,))
_STATE: Final = Shape((JobState, NoneType))
_EXTENSIONS: Final = _tuple(Extension, "a hold")

OF_STORE: Final = {
    "now": _INT,
    "schema": Shape((SchemaVersion,)),
    "upgrade": Shape((SchemaVersion,)),
    "listen": Shape((object,)),
    "sibling": Shape((object,)),
}
OF_JOBS: Final = {
    "add": Shape((Added, DepthRefused), "known", (Known, NoneType), "a job"),
    "claim": Shape((Claimed,), "grants", (Grant,)),
    "extend": _EXTENSIONS,
    "settle": _tuple(Settlement, "an outcome"),
    "cancel": _STATE,
    "revive": _STATE,
    "get": Shape((JobRecord, NoneType)),
    "page": Shape((JobPage,), "items", (JobRecord,)),
    "depth": _INT,
    "lanes": _tuple(Lane),
    "prune": _INT,
}
OF_EVENTS: Final = {
    "append": Shape((Appended, TopicRefused), "known", (KnownEvent, NoneType), "an event"),
    "deliver": Shape((Delivered,), "grants", (EventGrant,)),
    "extend": _EXTENSIONS,
    "settle": _tuple(EventSettlement, "an outcome"),
    "dead": Shape((DeadPage,), "items", (DeadEvent,)),
    "release": Shape((DeliveryState, NoneType)),
    "consumers": _tuple(ConsumerRecord),
    "topics": _tuple(TopicRecord),
    "rewind": _BOOL,
    "remove": _BOOL,
    "prune": _INT,
}


async def answer_of(shapes: Mapping[str, Shape], method: str, given: Awaitable[T]) -> T:
    """What was `given` to await. Raises `WrongAnswer` if it is not of the method's shape."""
    if not inspect.isawaitable(given):
        raise WrongAnswer(
            f"{method} answered {brief(given)} at once: it has to be `async def` in the store"
        )
    answer = await given
    if not shapes[method].fits(answer):
        raise WrongAnswer(f"{method} answered {brief(answer)}: expected {shapes[method]}")
    return answer
