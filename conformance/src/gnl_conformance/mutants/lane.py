"""Stores that grant in the wrong order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._ready import Pair, ReadyJobs
from gnl_core.memory._store import MemoryJobs, _Data
from gnl_core.spi import Added, Claimed, DepthRefused, Duration, Instant, JobState, NewJob


class _OtherOrder(JobTable):
    """A table with another idea of which job is next."""

    ready: type[ReadyJobs] = ReadyJobs

    def __init__(self, clock: Callable[[], Instant]) -> None:
        super().__init__(clock)
        self._ready = self.ready()


class _OldestFirst(ReadyJobs):
    def first(self, types: Collection[str]) -> tuple[Pair, int] | None:
        heads = [(w.seqs[0], pair) for pair, w in self._pairs.items() if pair[1] in types]
        seq, pair = min(heads, default=(0, None), key=lambda head: head[0])
        return None if pair is None else (pair, seq)


@breaks("lane.fair", "five grants with five lanes ready")
class GlobalFifo(_OtherOrder):
    """Grants by age alone, whatever the lane."""

    ready = _OldestFirst


class _Sticky(ReadyJobs):
    def grant(self, pair: Pair, stamp: int) -> None:
        super().grant(pair, self._pairs[pair].turn)


@breaks("lane.fair", "lanes of the first four grants")
class StickyLane(_OtherOrder):
    """Stays with a lane until it is empty."""

    ready = _Sticky


class _NewFirst(ReadyJobs):
    def add(self, pair: Pair, seq: int, stamp: int) -> bool:
        return super().add(pair, seq, -stamp)


@breaks("lane.late", "lanes served after a late one came")
class NewLaneFirst(_OtherOrder):
    """Puts a lane that arrives before all others."""

    ready = _NewFirst


class _NewLast(ReadyJobs):
    def add(self, pair: Pair, seq: int, stamp: int) -> bool:
        return super().add(pair, seq, stamp + 1_000)


@breaks("lane.late", "two grants with two lanes ready")
class NewLaneWaits(_OtherOrder):
    """Makes a lane that arrives wait for what others had before."""

    ready = _NewLast


class _StickyForABatch(ReadyJobs):
    batch = False

    def grant(self, pair: Pair, stamp: int) -> None:
        super().grant(pair, self._pairs[pair].turn if self.batch else stamp)


@breaks("lane.batch", "grants in batches")
class BatchFromOneLane(_OtherOrder):
    """Takes all grants of a claim from one lane, if it has enough."""

    def __init__(self, clock: Callable[[], Instant]) -> None:
        super().__init__(clock)
        self._ready = self._batches = _StickyForABatch()

    def claim(
        self, types: Collection[str], limit: int, ttl: Duration, worker: str, max_attempts: int
    ) -> Claimed:
        self._batches.batch = limit > 1
        return super().claim(types, limit, ttl, worker, max_attempts)


@breaks("lane.burst", "first ten grants")
class BurstKeepsItsOldTurn(JobTable):
    """Gives jobs that fall due a turn from long ago."""

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        stamp, self._stamp, self._latest = self._stamp, 0, 0
        super()._wake_delayed(types, now)
        self._stamp, self._latest = stamp, now


@breaks("lane.turn", "claim order of a batch")
class BatchByName(JobTable):
    """Makes the jobs of a call ready lane by lane, sorted by name."""

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        order = sorted(range(len(jobs)), key=lambda n: jobs[n].org_id or "")
        answer = super().add([jobs[n] for n in order], max_depth)
        if isinstance(answer, DepthRefused):
            return answer
        known = dict(zip(order, answer.known, strict=True))
        return Added(tuple(known[n] for n in range(len(jobs))))


class _ByArrival(ReadyJobs):
    def add(self, pair: Pair, seq: int, stamp: int) -> bool:
        waiting = list(self._pairs[pair].seqs) if pair in self._pairs else []
        fresh = super().add(pair, seq, stamp)
        self._pairs[pair].seqs[:] = [*waiting, seq]
        return fresh

    def grant(self, pair: Pair, stamp: int) -> None:
        rest = self._pairs[pair].seqs[1:]
        super().grant(pair, stamp)
        if rest:
            self._pairs[pair].seqs[:] = rest


@breaks("lane.place", "order after the first job was retried")
@breaks("lane.place", "order after the first job was released")
@breaks("lane.place", "order after the first job was revived")
class BackToTheEnd(_OtherOrder):
    """Puts a job that comes back behind the others of its lane."""

    ready = _ByArrival


class _EveryType(ReadyJobs):
    def first(self, types: Collection[str]) -> tuple[Pair, int] | None:
        return super().first(types and list(self._turns))


@breaks("lane.types", "grants of type x")
class GrantsEveryType(_OtherOrder):
    """Grants whatever is next."""

    ready = _EveryType


class _OwnTurn(ReadyJobs):
    def grant(self, pair: Pair, stamp: int) -> None:
        turns = {
            other: self._pairs[pair[0], other].turn
            for other in self._types_of_lane[pair[0]]
            if other != pair[1]
        }
        super().grant(pair, stamp)
        for other, turn in turns.items():
            self._pairs[pair[0], other].turn = turn
            self._announce((pair[0], other), turn)


@breaks("lane.types", "order of two types in two lanes")
class EachTypeHasItsTurn(_OtherOrder):
    """Lets a lane with two types be served twice as often."""

    ready = _OwnTurn


class _PassedOver(ReadyJobs):
    def first(self, types: Collection[str]) -> tuple[Pair, int] | None:
        for pair, waiting in self._pairs.items():
            if pair[1] not in types and self._pairs:
                waiting.turn += 10**7
                self._announce(pair, waiting.turn)
        return super().first(types)


@breaks("lane.types", "grants of type y then")
class PassedOverLosesItsTurn(_OtherOrder):
    """Sends a lane to the back because a worker did not know its type."""

    ready = _PassedOver


@breaks("lane.order", "the reference")
class RevivedJumps(JobTable):
    """Puts the lane of a revived job before all others."""

    def revive(self, org_id: str | None, id: str) -> JobState | None:
        found = super().revive(org_id, id)
        if found is JobState.DEAD:
            pair = self._by_id[org_id, id].pair
            self._ready._pairs[pair].turn = -self._seq
            self._ready._announce(pair, -self._seq)
        return found


class _NullIsNotNull(ReadyJobs):
    def add(self, pair: Pair, seq: int, stamp: int) -> bool:
        return super().add(_own_lane(pair, seq), seq, stamp)

    def remove(self, pair: Pair, seq: int) -> None:
        super().remove(_own_lane(pair, seq), seq)


def _own_lane(pair: Pair, seq: int) -> Pair:
    return (f"\0{seq}", pair[1]) if pair[0] is None else pair


@breaks("lane.none", "lanes served")
class EachJobWithoutOrganizationIsALane(_OtherOrder):
    """Takes one missing organization for another than the next."""

    ready = _NullIsNotNull


@breaks("lane.shared", "eight claims at once")
class OneClaimerAtATime(MemoryJobs):
    """Answers a claim with nothing while another is under way."""

    def __init__(self, data: _Data) -> None:
        super().__init__(data)
        self._busy = False

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        if self._busy:
            return Claimed((), None)
        self._busy = True
        await asyncio.sleep(0)
        self._busy = False
        return await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)


@breaks("lane.limit", "grants of a claim of up to 20")
class TenAtMost(JobTable):
    """Grants ten jobs at most."""

    def claim(
        self, types: Collection[str], limit: int, ttl: Duration, worker: str, max_attempts: int
    ) -> Claimed:
        return super().claim(types, min(limit, 10), ttl, worker, max_attempts)


@breaks("lane.poll", "an empty claim took")
class AsksLaneByLane(MemoryStore):
    """Sends a statement for every lane that there is."""

    def _open(self, data: _Data) -> None:
        super()._open(data)
        self.statements = 0
        store = self

        class Counting(MemoryJobs):
            async def claim(
                self,
                types: Collection[str],
                limit: int,
                ttl: Duration,
                worker: str,
                *,
                max_attempts: int,
            ) -> Claimed:
                store.statements += 1 + len(self._table.lanes())
                return await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)

        self._jobs = Counting(data)
