"""What must be true of a store whose connections are cut between a request and its reply."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Final, TypeVar

from gnl_conformance._case import Body, Tier, case
from gnl_conformance._harness import StoreConformance, behind_a_proxy
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._trial import LONG, Trial, job
from gnl_conformance._violation import NotApplicable, NotRun
from gnl_conformance.checker import PROPERTIES, Property
from gnl_conformance.process.cuts import check_that_it_is_used, run_cuts
from gnl_conformance.process.driver import Storm
from gnl_conformance.process.judging import check_that_time_passes, judge_storm
from gnl_conformance.process.lost import LOST
from gnl_conformance.process.proxy import Address, Proxy, Strike
from gnl_core.spi import (
    SECOND,
    Added,
    Capability,
    Done,
    EveryLane,
    Grant,
    JobState,
    Outcome,
    Retry,
    StoreUnavailable,
)

T = TypeVar("T")

CUTS: Final = (Strike.LOSE_REPLY, Strike.LOSE_REQUEST, Strike.TEAR_REQUEST)
TURNS: Final = 12
"""A call is cut at its first turn, at its second, and so on; at most at this one."""
PATIENCE: Final = 10.0


def server_of(t: Trial) -> Address:
    """Where the store's server is. Raises `NotApplicable` or `NotRun` if nobody says."""
    found = t.harness.server()
    if found is not None:
        return found
    if t.has(Capability.SERVER_CLOCK):
        raise NotRun(
            "the store has SERVER_CLOCK, hence a server, but the harness does not say where it "
            "listens: override `server`, and open the store at `self.address` in `connect`"
        )
    raise NotApplicable("the harness names no server: there is no connection that could be cut")


class Cut:
    """Handles that go through a proxy, each to be cut off in one call."""

    def __init__(self, t: Trial, proxy: Proxy) -> None:
        self.t = t
        self.proxy = proxy
        self.store: RecordedStore
        self.hit = True
        self.took = 0
        """How many calls had an effect behind a reply that was lost on the way."""

    @asynccontextmanager
    async def handle(self) -> AsyncIterator[RecordedStore]:
        """A new handle: one that was cut before may send more or less the next time."""
        harness = behind_a_proxy(type(self.t.harness)(), self.proxy.address)
        async with harness.connect(self.t.space) as store:
            self.store = RecordedStore(store, [])
            await self.again(self.store.now)
            yield self.store

    async def call(self, strike: Strike, turn: int, ask: Callable[[], Awaitable[T]]) -> T | None:
        """Make a call that is struck at one of its turns; None if it got no answer by that.

        `hit` says afterwards whether it had so many turns.
        """
        self.proxy.aim(strike, turn)
        try:
            answer = await ask()
        except StoreUnavailable:
            self.hit = self.proxy.hit()
            return None
        self.hit = self.proxy.hit()
        # Struck and answered: the store has repeated the call by itself.
        self.took += self.hit and strike is Strike.LOSE_REPLY
        return answer

    async def again(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call until it is answered."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return await ask()
            except StoreUnavailable as error:
                late = time.monotonic() > deadline
                self.t.check(not late, f"{PATIENCE:g} s after a cut a handle still says: {error}")
                await asyncio.sleep(0.02)

    def turns(self, strike: Strike) -> Iterator[tuple[int, int]]:
        """Numbers of calls, from 1, each with the turn at which it is to be cut, from 1.

        Ends after a call that had not so many turns. If no lost reply had an effect behind it
        by then, the turns begin anew, once: what a store prepares at a server when it first
        needs it (a script, a procedure) takes turns of its own and is there by now.
        """
        turn, fresh = 1, strike is Strike.LOSE_REPLY
        for number in range(1, TURNS + 1):
            yield number, turn
            if self.hit:
                turn += 1
            elif fresh and not self.took:
                turn, fresh = 1, False
            else:
                return

    def prove(self) -> None:
        """Refuse a run in which no lost reply had an effect behind it."""
        check_that_it_is_used(self.proxy, self.t.harness)
        if not self.took:
            raise NotRun(
                "no call whose reply was lost had taken effect: the lost reply belonged to a "
                "message without effect (a handshake, a preparation): prepare in `upgrade` or "
                f"when the connection is opened; {self.proxy}"
            )


@contextmanager
def cut_off(t: Trial) -> Iterator[Cut]:
    """What is needed to cut off handles on the space of a trial."""
    with Proxy(server_of(t), t.harness.seeds.start, stall=t.tick / SECOND) as proxy:
        yield Cut(t, proxy)


_by_processes = partial(case, tier=Tier.PROCESS)


@_by_processes("enqueue.once")
async def an_add_repeated_after_a_cut_is_one_job(t: Trial) -> None:
    names: list[str] = []
    with cut_off(t) as cut:
        for strike in CUTS:
            for number, turn in cut.turns(strike):
                names.append(f"{strike.name}-{number}")
                await _add_once(t, cut, strike, turn, names[-1])
        page = await t.jobs.page(EveryLane(), None, 1_000)
        t.equal([record.id for record in page.items], names, "jobs whose add was repeated")
        cut.prove()


async def _add_once(t: Trial, cut: Cut, strike: Strike, turn: int, name: str) -> None:
    async with cut.handle() as store:
        ask = partial(store.jobs.add, [job(name)])
        if await cut.call(strike, turn, ask) is not None:
            return
        there = await t.jobs.get(None, name) is not None
        cut.took += there
        answer = await cut.again(ask)
        known = isinstance(answer, Added) and answer.known != (None,)
        t.check(known or not there, f"{name} was there, and its repeated add said that it was not")


async def _grants(t: Trial, strike: Strike) -> list[Grant]:
    """One job for each call, each of its own type so that it is claimed alone."""
    types = [f"{strike.name}-{number}" for number in range(1, TURNS + 1)]
    await t.add(*[job(f"of-{name}", type=name) for name in types])
    return [await t.claim_one(name, ttl=t.tick) for name in types]


@_by_processes("lease.fenced")
async def a_settlement_repeated_after_a_cut_counts_once(t: Trial) -> None:
    with cut_off(t) as cut:
        for strike in CUTS:
            grants = await _grants(t, strike)
            for number, turn in cut.turns(strike):
                await _settle_once(t, cut, strike, turn, grants[number - 1])
        cut.prove()


async def _settle_once(t: Trial, cut: Cut, strike: Strike, turn: int, grant: Grant) -> None:
    async with cut.handle() as store:
        ask = partial(store.jobs.settle, [Outcome(grant.hold, Retry(LONG, "again"))])
        if await cut.call(strike, turn, ask) is None:
            taken = (await t.get(grant.id)).state is not JobState.RUNNING
            cut.took += taken
            (again,) = await cut.again(ask)
            sentence = f"a settlement of {grant.id} was taken twice, the second time as"
            t.check(not taken or again.state is None, f"{sentence} {again.state}")
    record = await t.get(grant.id)
    told = [record.state.value, record.attempts, len(record.failures)]
    expected = [JobState.WAITING.value, 1, 1]
    t.equal(told, expected, "state, attempts and failures after one retry")


@_by_processes("lease.fenced")
async def a_stale_settlement_repeated_after_a_cut_is_refused(t: Trial) -> None:
    with cut_off(t) as cut:
        stale = await _grants(t, Strike.LOSE_REPLY)
        await t.age()
        for number, turn in cut.turns(Strike.LOSE_REPLY):
            grant = stale[number - 1]
            fresh = await t.claim_one(f"{Strike.LOSE_REPLY.name}-{number}")
            async with cut.handle() as store:
                ask = partial(store.jobs.settle, [Outcome(grant.hold, Done('"stale"'))])
                answer = await cut.call(Strike.LOSE_REPLY, turn, ask)
                (settlement,) = await cut.again(ask) if answer is None else answer
            sentence = f"a stale settlement of {grant.id} was answered"
            t.check(settlement.state is None, f"{sentence} {settlement.state} after a cut")
            t.equal(await t.settle(fresh, Done("null")), JobState.DONE, "the holder's own")
        check_that_it_is_used(cut.proxy, t.harness)


@_by_processes("attempt.bounded")
async def a_claim_whose_reply_was_lost_is_one_attempt(t: Trial) -> None:
    with cut_off(t) as cut:
        types = [f"type-{number}" for number in range(1, TURNS + 1)]
        await t.add(*[job(f"of-{name}", type=name) for name in types])
        counted: dict[str, int] = {}
        for number, turn in cut.turns(Strike.LOSE_REPLY):
            name = types[number - 1]
            async with cut.handle() as store:
                ask = partial(store.jobs.claim, [name], 1, t.tick, "cut", max_attempts=5)
                answer = await cut.call(Strike.LOSE_REPLY, turn, ask)
            counted[name] = (await t.get(f"of-{name}")).attempts
            cut.took += answer is None and counted[name] > 0
            t.check(counted[name] <= 1, f"one claim counted {counted[name]} attempts")
        await t.age()
        for name, attempts in counted.items():
            grant = await t.claim_one(name)
            failures = (await t.get(grant.id)).failures
            found = [grant.attempt, grant.reclaimed, len(failures)]
            expected = [attempts + 1, attempts == 1, attempts]
            t.equal(found, expected, "attempt, reclaimed and failures after a lost claim")
        cut.prove()


@_by_processes("store.errors")
async def a_lost_connection_is_unavailable(t: Trial) -> None:
    with cut_off(t) as cut:
        for strike in CUTS:
            for _, turn in cut.turns(strike):
                async with cut.handle() as store:
                    try:
                        await cut.call(strike, turn, partial(store.jobs.depth, None))
                    except Exception as error:
                        t.check(False, f"a lost connection raised {type(error).__name__}: {error}")
        check_that_it_is_used(cut.proxy, t.harness)


_STORMS: dict[tuple[type[StoreConformance], float, int], Storm] = {}


async def _judge(t: Trial, prop: Property) -> None:
    server, harness = server_of(t), t.harness
    key = type(harness), harness.seconds, harness.seeds.start
    if key not in _STORMS:
        space = f"gnl{uuid.uuid4().hex[:12]}"
        await check_that_time_passes(harness, space)
        _STORMS[key] = await run_cuts(harness, server, space)
    judge_storm(harness, _STORMS[key], prop)


def _body(prop: Property) -> Body:
    return partial(_judge, prop=prop)


_BESIDE_THE_POINT = ("adds_are_whole", "a_cancel_is_final", "listings_are_snapshots")

for _property in (*PROPERTIES, *LOST):
    if _property.name not in _BESIDE_THE_POINT:
        case(
            _property.rule,
            tier=Tier.PROCESS,
            needs=[Capability.MULTI_PROCESS],
            time_limit=600,
            name=f"{_property.name}_when_replies_are_lost",
        )(_body(_property))
