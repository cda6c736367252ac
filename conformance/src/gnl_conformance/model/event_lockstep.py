"""Asks a store for events and the reference the same, at random, and compares every answer.

Both have a clock that stands still between moves, so instants are compared to the microsecond.
Numbers that a store makes up (of consumers, tokens, runs) only have to be used in the same way.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from gnl_core.memory import MemoryStore
from gnl_core.spi import (
    SECOND,
    Ack,
    Delivered,
    Duration,
    Edge,
    EventGrant,
    EventHold,
    EventOutcome,
    EventStore,
    EventVerdict,
    Instant,
    NewEvent,
    Quarantine,
    Release,
    Retry,
    Start,
    TopicRefused,
)

T = TypeVar("T")

TOPICS: Final = ("t", "T", "t ")
NAMES: Final = ("c", "C")
ORGS: Final = (None, "a", "A")
KEYS: Final = (None, "k", "k", "K", "k ")
_LATEST_HOLDS: Final = 30
_HISTORY: Final = 25


class OtherAnswer(AssertionError):
    """The store's answer is not the reference's."""


@dataclass
class _Side:
    events: EventStore
    holds: list[EventHold] = field(default_factory=list)


class _Same:
    """Tells whether made-up numbers stand for the same things on both sides."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, object], object] = {}
        self._theirs: dict[tuple[str, object], object] = {}
        self._token = 0

    def grant(self, ours: EventGrant, theirs: EventGrant) -> EventGrant:
        """Our grant, with the reference's numbers where ours mean the same."""
        self._link("consumer", ours.consumer, theirs.consumer)
        self._link("run", ours.run_id, theirs.run_id)
        if ours.token <= self._token:
            raise OtherAnswer(f"token {ours.token} after {self._token}")
        self._token = ours.token
        return replace(ours, consumer=theirs.consumer, run_id=theirs.run_id, token=theirs.token)

    def _link(self, what: str, ours: object, theirs: object) -> None:
        known = self._ours.setdefault((what, ours), theirs)
        back = self._theirs.setdefault((what, theirs), ours)
        if (known, back) != (theirs, ours):
            raise OtherAnswer(f"{what} {ours} stands for {known} and {theirs}")


class EventLockstep:
    """Two stores for events under one random script.

    `store` is empty and its clock stands at `now`; `move` moves it on.
    """

    def __init__(
        self,
        store: EventStore,
        *,
        now: Instant,
        move: Callable[[Duration], Awaitable[Instant]],
        seed: int,
    ) -> None:
        self._now = now
        self._move = move
        self._rng = random.Random(seed)  # noqa: S311 - a script that can be repeated
        self._ours = _Side(store)
        self._reference = _Side(MemoryStore(lambda: self._now).events)
        self._same = _Same()
        self._said: list[str] = []
        self._known: list[NewEvent] = []
        self._by_key = self._rng.random() < 0.6

    async def play(self, steps: int) -> None:
        """Raises `OtherAnswer` for the first answer that is another one."""
        calls = (
            [self._append] * 4
            + [self._deliver] * 6
            + [self._settle] * 4
            + [self._extend, self._pass, self._pass, self._dead, self._release, self._release]
            + [self._look]
        )
        rare = (self._rewind, self._remove, self._prune, self._prune)
        for _ in range(steps):
            await self._rng.choice(rare if self._rng.random() < 0.06 else calls)()
        for _ in range(3):
            await self._look()
            await self._dead()
            await self._deliver()

    async def play_crowd(self) -> None:
        """As `play`, for what happens at the limits of one call: thousands of events at once."""
        keys = [KEYS[1] if number % 700 else None for number in range(12_000)]
        events = [NewEvent(f"e{n}", None, "t", "0", key) for n, key in enumerate(keys)]
        await self._compare("append", lambda s: s.events.append(events))
        await self._deliver_to("c", 1, by_key=True, start=Edge.LATEST)
        await self._compare("rewind", lambda s: s.events.rewind("t", "c", Edge.EARLIEST))
        for limit in (1, 3, 1, 2, 1):
            await self._deliver_to("c", limit, by_key=True)
        for limit in (1_500, 400, 100):
            await self._deliver_to("C", limit, by_key=False)
        for _ in range(3):
            self._now = await self._move(SECOND)
            await self._deliver_to("C", 100, by_key=False)
            await self._deliver_to("c", 2, by_key=True)
        await self._look()
        await self._compare("prune", lambda s: s.events.prune("t", limit=11_000))

    async def _ask(self, what: str, call: Callable[[_Side], Awaitable[T]]) -> tuple[T, T]:
        expected = await call(self._reference)
        self._said.append(f"{what} -> {expected}")
        ours = await call(self._ours)
        return ours, expected

    async def _compare(self, what: str, call: Callable[[_Side], Awaitable[object]]) -> None:
        self._check(what, *(await self._ask(what, call)))

    def _check(self, what: str, ours: object, expected: object) -> None:
        if ours != expected:
            said = "\n".join(self._said[-_HISTORY:])
            raise OtherAnswer(f"{what}:\n  ours      {ours}\n  reference {expected}\n{said}")

    def _new(self, number: int) -> NewEvent:
        rng = self._rng
        org_id, topic, key = rng.choice(ORGS), rng.choice(TOPICS[: rng.choice((1, 3))]), None
        key = rng.choice(KEYS)
        if self._known and rng.random() < 0.1:
            old = rng.choice(self._known)
            return NewEvent(old.id, rng.choice((old.org_id, org_id)), old.topic, '"again"', key)
        return NewEvent(f"e{len(self._known) + number}", org_id, topic, f"{number}", key)

    async def _append(self) -> None:
        rng = self._rng
        made = [self._new(n) for n in range(rng.choice((1, 1, 2, 7)))]
        events = list({(e.topic, e.org_id, e.id): e for e in made}.values())
        limit = rng.choice((None, None, 0, 4, 20))
        what = f"append({events}, {limit})"
        ours, expected = await self._ask(what, lambda s: s.events.append(events, max_depth=limit))
        if isinstance(expected, TopicRefused):
            if ours not in await self._refusals(events, expected.limit):
                self._check(what, ours, expected)
        else:
            self._check(what, ours, expected)
        self._known += events

    async def _refusals(self, events: list[NewEvent], limit: int) -> list[TopicRefused]:
        """What a refusal may say: any topic and organization that would have got too many."""
        found: list[TopicRefused] = []
        for of in dict.fromkeys((event.topic, event.org_id) for event in events):
            these = [event for event in events if (event.topic, event.org_id) == of]
            # With this limit all that would append is refused: it counts, and appends nothing.
            counted = await self._reference.events.append(these, max_depth=0)
            if isinstance(counted, TopicRefused) and counted.depth + counted.new > limit:
                found.append(replace(counted, limit=limit))
        return found

    def _start(self) -> Start:
        return self._rng.choice((Edge.EARLIEST, Edge.EARLIEST, Edge.LATEST, 3, 2**63 - 1))

    async def _deliver(self) -> None:
        rng = self._rng
        topic, name = rng.choice(TOPICS[: rng.choice((1, 1, 3))]), rng.choice(NAMES)
        limit, ttl = rng.choice((1, 1, 2, 3, 10)), rng.choice((SECOND, 3 * SECOND, 60 * SECOND))
        attempts, start = rng.choice((None, 1, 2, 3)), self._start()
        by_key = self._by_key if rng.random() < 0.9 else not self._by_key
        await self._deliver_to(
            name, limit, topic=topic, ttl=ttl, attempts=attempts, start=start, by_key=by_key
        )

    async def _deliver_to(
        self,
        name: str,
        limit: int,
        *,
        by_key: bool,
        topic: str = "t",
        ttl: Duration = SECOND,
        attempts: int | None = 2,
        start: Start = Edge.EARLIEST,
    ) -> None:
        def deliver(side: _Side) -> Awaitable[Delivered]:
            return side.events.deliver(
                topic, name, limit, ttl, "w", max_attempts=attempts, start=start, by_key=by_key
            )

        what = f"deliver({topic!r}, {name!r}, {limit}, {attempts=}, {start=}, {by_key=})"
        ours, expected = await self._ask(what, deliver)
        if len(ours.grants) == len(expected.grants):
            pairs = zip(ours.grants, expected.grants, strict=True)
            same = tuple(self._same.grant(mine, theirs) for mine, theirs in pairs)
            self._check(what, replace(ours, grants=same), expected)
        else:
            self._check(what, ours, expected)
        self._ours.holds += [grant.hold for grant in ours.grants]
        self._reference.holds += [grant.hold for grant in expected.grants]

    def _places(self) -> list[int]:
        count = min(_LATEST_HOLDS, len(self._ours.holds))
        few = self._rng.choice((1, 2, 5, 12))
        return [-self._rng.randint(1, count) for _ in range(few)] if count else []

    async def _extend(self) -> None:
        places, ttl = self._places(), self._rng.choice((SECOND, 5 * SECOND))
        await self._compare(
            f"extend({places}, {ttl})",
            lambda s: s.events.extend([s.holds[place] for place in places], ttl),
        )

    def _verdict(self) -> EventVerdict:
        delay = self._rng.choice((0, SECOND, 2 * SECOND))
        return self._rng.choice(
            (Ack(), Ack(), Ack(), Retry(delay, "again"), Quarantine("broken"), Release(delay))
        )

    async def _settle(self) -> None:
        ends = [(place, self._verdict()) for place in self._places()]
        await self._compare(
            f"settle({ends})",
            lambda s: s.events.settle([EventOutcome(s.holds[p], v) for p, v in ends]),
        )

    async def _dead(self) -> None:
        topic, name = self._rng.choice(TOPICS), self._rng.choice(NAMES)
        position, limit = self._rng.choice((None, 0, 3)), self._rng.choice((1, 2, 50))
        await self._compare(
            f"dead({topic!r}, {name!r}, {position}, {limit})",
            lambda s: s.events.dead(topic, name, position, limit),
        )

    async def _release(self) -> None:
        if not self._known:
            return
        rng, name = self._rng, self._rng.choice(NAMES)
        event = rng.choice(self._known[-40:])
        topic, org_id, id_ = event.topic, event.org_id, event.id
        dead = (await self._reference.events.dead(topic, name, None, 20)).items
        if dead and rng.random() < 0.7:
            org_id, id_ = (one := rng.choice(dead)).org_id, one.id
        await self._compare(
            f"release({topic!r}, {name!r}, {org_id!r}, {id_!r})",
            lambda s: s.events.release(topic, name, org_id, id_),
        )

    async def _look(self) -> None:
        topic = self._rng.choice((None, *TOPICS))
        await self._compare(f"consumers({topic!r})", lambda s: s.events.consumers(topic))
        await self._compare("topics()", lambda s: s.events.topics())

    async def _rewind(self) -> None:
        topic, name, start = self._rng.choice(TOPICS), self._rng.choice(NAMES), self._start()
        await self._compare(
            f"rewind({topic!r}, {name!r}, {start})",
            lambda s: s.events.rewind(topic, name, start),
        )

    async def _remove(self) -> None:
        topic, name = self._rng.choice(TOPICS), self._rng.choice(NAMES)
        await self._compare(f"remove({topic!r}, {name!r})", lambda s: s.events.remove(topic, name))

    async def _prune(self) -> None:
        topic = self._rng.choice((None, *TOPICS))
        age, limit = self._rng.choice((None, 0, 5 * SECOND)), self._rng.choice((1, 5, 1_000))
        await self._compare(
            f"prune({topic!r}, {age}, {limit})",
            lambda s: s.events.prune(topic, older_than=age, limit=limit),
        )

    async def _pass(self) -> None:
        by = self._rng.choice((1, SECOND, SECOND, 3 * SECOND))
        self._now = await self._move(by)
        self._said.append(f"the clock is moved by {by}")
