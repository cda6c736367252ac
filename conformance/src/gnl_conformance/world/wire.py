"""The network between the processes of a world and their store: slow, lossy, sometimes cut."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

from gnl_conformance._entries import Entry
from gnl_conformance.world.book import Book, Line
from gnl_conformance.world.loop import SECOND, Loop, VirtualTime
from gnl_conformance.world.plan import Plan
from gnl_core.spi import Instant, StoreUnavailable

T = TypeVar("T")

EPOCH: Final[Instant] = 1_700_000_000 * SECOND
"""The store's clock when a world begins."""

_NEAR: Final = 2_000
"""Microseconds that a message takes at most when nothing is wrong."""

_set_running_loop = asyncio._set_running_loop


@dataclass(slots=True)
class Message:
    """One call on its way to the store and back."""

    op: str
    loop: Loop
    reply: asyncio.Future[Any]
    ask: Callable[[], Coroutine[Any, Any, Any]]
    arguments: tuple[Any, ...]
    line: Line | None
    view: Callable[[Any], Entry] | None


@dataclass(frozen=True, slots=True)
class Effect:
    """A call as the store took it: when, what, and its answer or error."""

    at: int
    op: str
    arguments: tuple[Any, ...]
    answer: object


class Wire:
    """Carries calls. A request or a reply may be lost, be late, or find the store away."""

    def __init__(
        self, time: VirtualTime, plan: Plan, rng: random.Random, book: Book, seen: Counter[str]
    ) -> None:
        self._time = time
        self._plan = plan
        self._rng = rng
        self._book = book
        self._seen = seen
        self._server = time.loop()
        self._away_until = 0
        self._last_answered = 0
        self.calm = False
        """True once nothing goes wrong any more."""
        self.over = False
        self.on_their_way = 0
        """Requests that the store has yet to deal with, also of processes that are no more."""
        self.effects: list[Effect] = []

    def cut(self, duration: int) -> None:
        """Let the store be unreachable for so long."""
        self._away_until = self._time.now + duration

    def lost_hint(self) -> bool:
        """Whether a wake-up does not arrive."""
        return self._chance(self._plan.lost_hints)

    def latency(self) -> int:
        """How long a message takes."""
        if self._chance(self._plan.slow):
            return self._rng.randrange(round(self._plan.slowest * SECOND))
        return self._rng.randrange(100, _NEAR)

    async def call(
        self,
        who: str,
        op: str,
        ask: Callable[[], Coroutine[Any, Any, T]],
        *,
        arguments: tuple[Any, ...] = (),
        asked: Entry = MappingProxyType({}),
        view: Callable[[T], Entry] | None = None,
    ) -> T:
        """Send a call and wait for its reply. Without a `view` it stays out of the history."""
        if self.over:
            raise StoreUnavailable("the world is over")
        loop = asyncio.get_running_loop()
        assert isinstance(loop, Loop), "processes of a world run on its loops"
        line = self._book.began(who, op, asked) if view is not None else None
        reply: asyncio.Future[T] = loop.create_future()
        self._send(Message(op, loop, reply, ask, arguments, line, view))
        try:
            answer = await reply
        except Exception as error:
            if line is not None:
                self._book.failed(line, error)
            raise
        if line is not None and view is not None:
            self._book.ended(line, view(answer))
        return answer

    def _send(self, message: Message) -> None:
        if self._chance(self._plan.lost_requests):
            self._seen["a request was lost"] += 1
            self._give_up(message, "the request was lost")
            return
        self.on_their_way += 1
        self._server.at(self._time.now + self.latency(), self._arrive, message)

    def _arrive(self, message: Message) -> None:
        self.on_their_way -= 1
        if self.over:
            return
        if self._time.now < self._away_until and not self.calm:
            self._seen["the store was away"] += 1
            self._reply(message, StoreUnavailable("the store is away"), failed=True)
            return
        self._act(message, message.ask())

    def _act(self, message: Message, work: Coroutine[Any, Any, Any]) -> None:
        """Have the store do it. Its code belongs to the client's process, and sees its clock."""
        _set_running_loop(message.loop)
        try:
            waits = work.send(None)
        except StopIteration as end:
            self._done(message, end.value)
        except Exception as error:
            self._reply(message, error, failed=True)
        else:
            if waits is not None:
                raise RuntimeError("the store waits for something that is not of this world")
            self.on_their_way += 1
            self._server.at(self._time.now + self.latency(), self._go_on, message, work)
        finally:
            _set_running_loop(self._server)

    def _go_on(self, message: Message, work: Coroutine[Any, Any, Any]) -> None:
        """Another step of a store that takes several: it dies with its process in between."""
        self.on_their_way -= 1
        if message.loop.dead or self.over:
            work.close()
        else:
            self._act(message, work)

    def _done(self, message: Message, answer: object) -> None:
        self.effects.append(Effect(self._time.now, message.op, message.arguments, answer))
        if message.line is not None and message.view is not None:
            self._book.happened(message.line, message.view(answer))
        if self._chance(self._plan.lost_replies):
            self._seen["a reply was lost after its effect"] += 1
            self._give_up(message, "the reply was lost")
        else:
            self._reply(message, answer)

    def _reply(self, message: Message, answer: object, *, failed: bool = False) -> None:
        due = self._time.now + self.latency()
        if due < self._last_answered:
            self._seen["a reply was overtaken"] += 1
        self._last_answered = max(due, self._last_answered)
        message.loop.at(due, _settle, message.reply, answer, failed)

    def _give_up(self, message: Message, why: str) -> None:
        due = self._time.now + self._rng.randrange(round(self._plan.patience * SECOND))
        message.loop.at(due, _settle, message.reply, StoreUnavailable(why), True)

    def _chance(self, part: float) -> bool:
        return not self.calm and part > 0 and self._rng.random() < part


def _settle(reply: asyncio.Future[Any], answer: object, failed: bool) -> None:
    if reply.done():
        return
    if failed:
        assert isinstance(answer, Exception), "what failed is an error"
        reply.set_exception(answer)
    else:
        reply.set_result(answer)
