"""What the processes of a world asked and were answered, in the order in which it happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnl_conformance.history import Call, History
from gnl_conformance.world.loop import VirtualTime


class Line:
    """A call on its way."""

    __slots__ = ("answered", "asked", "began", "done", "effect", "ended", "error", "op", "who")

    def __init__(self, who: str, op: str, asked: Mapping[str, Any], began: int) -> None:
        self.who = who
        self.op = op
        self.asked = asked
        self.began = began
        self.ended: int | None = None
        self.answered: Mapping[str, Any] | None = None
        self.error: str | None = None
        self.done: int | None = None
        self.effect: Mapping[str, Any] | None = None


class Book:
    """The lines of a world, stamped with nanoseconds of virtual time, no two alike."""

    def __init__(self, time: VirtualTime) -> None:
        self._time = time
        self._last = 0
        self._lines: list[Line] = []
        self._closed = False

    def began(self, who: str, op: str, asked: Mapping[str, Any]) -> Line:
        """Write that a call begins."""
        line = Line(who, op, asked, self._stamp())
        self._lines.append(line)
        return line

    def ended(self, line: Line, answered: Mapping[str, Any]) -> None:
        """Write the answer."""
        if not self._closed:
            line.ended, line.answered = self._stamp(), answered

    def failed(self, line: Line, error: BaseException) -> None:
        """Write that the call raised."""
        if not self._closed:
            line.ended, line.error = self._stamp(), f"{type(error).__name__}: {error}"

    def happened(self, line: Line, effect: Mapping[str, Any]) -> None:
        """Write what the store did, which the caller may never learn."""
        if not self._closed:
            line.done, line.effect = self._stamp(), effect

    def truth(self, *notes: str) -> History:
        """What the store did, answered at that moment; calls that did nothing are left out."""
        return History(
            tuple(
                Call(one.who, one.op, one.asked, one.began, one.done, one.effect)
                for one in self._lines
                if one.done is not None
            ),
            notes,
        )

    def close(self, *notes: str) -> History:
        """The history; what comes later is not written down."""
        self._closed = True
        return History(
            tuple(
                Call(one.who, one.op, one.asked, one.began, one.ended, one.answered, one.error)
                for one in self._lines
            ),
            notes,
        )

    def _stamp(self) -> int:
        # What happens in one microsecond has an order nevertheless.
        self._last = max(self._last + 1, self._time.now * 1_000)
        return self._last
