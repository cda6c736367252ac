"""Broken stores, and broken workers, that simulated worlds must tell."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace

from gnl_conformance._case import Tier
from gnl_conformance.mutants.attempt import LateResultWins, ReclaimIsFree, ReleaseCounts
from gnl_conformance.mutants.enqueue import ForgetsFinishedIds, RowByRow
from gnl_conformance.mutants.lane import GlobalFifo
from gnl_conformance.mutants.lease import (
    ExtendIgnoresToken,
    NeverReclaims,
    SettleIgnoresToken,
    SettlesTwice,
    TokenIsTheAttempt,
    cut_short,
)
from gnl_conformance.mutants.list import ListsNewArrivals
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_conformance.mutants.registry import breaks
from gnl_conformance.world.process import Beside
from gnl_core import Worker
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._ready import Pair
from gnl_core.memory._store import MemoryJobs
from gnl_core.runtime import Engine, Settled
from gnl_core.runtime._execution import Execution
from gnl_core.spi import (
    SECOND,
    Claimed,
    Done,
    Duration,
    Extension,
    Grant,
    Hold,
    Instant,
    JobState,
    Retry,
    StoreUnavailable,
    Verdict,
)

for _rule, _fragment, _broken in (
    ("store.live", "did not end in the quiet phase", NeverReclaims),
    ("lease.fenced", "was taken from a stale token", SettleIgnoresToken),
    ("lease.fenced", "was taken from a stale token", ExtendIgnoresToken),
    ("lease.fenced", "settled it", SettlesTwice),
    ("lease.token", "got token", TokenIsTheAttempt),
    ("attempt.bounded", "got attempt", ReclaimIsFree),
    ("attempt.release", "in place of", ReleaseCounts),
    ("attempt.cancel", "after a cancel", LateResultWins),
    ("enqueue.once", "was created", ForgetsFinishedIds),
    ("list.snapshot", "added after page 1 and listed", ListsNewArrivals),
    ("lane.order", "grants of a claim", GlobalFifo),
):
    breaks(_rule, _fragment, tier=Tier.WORLD)(_broken)


@breaks("lease.exclusive", "before the lease before it ran out", tier=Tier.WORLD)
class EndsLeasesWithoutGrace(JobTable):
    """Ends a lease a quarter of a second before its time."""

    def _end_expired_leases(self, now: Instant) -> None:
        cut_short(self, now, SECOND // 4)
        super()._end_expired_leases(now)


@breaks("lease.exclusive", "before the lease before it ran out", tier=Tier.WORLD)
class ClientsJudgeLeases(JobTable):
    """Takes a claimer's word for whose lease has run out."""

    def _end_expired_leases(self, now: Instant) -> None:
        away = round(asyncio.get_running_loop().time() * SECOND) + 1_700_000_000 * SECOND
        super()._end_expired_leases(away)


@breaks("lease.clock", "is stamped", tier=Tier.WORLD)
class ClientsStampLeases(JobTable):
    """Writes down the claimer's time."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        away = round(asyncio.get_running_loop().time() * SECOND) + 1_700_000_000 * SECOND
        return super()._grant(pair, seq, away, ttl=ttl, worker=worker, max_attempts=max_attempts)


@breaks("attempt.bounded", "got attempt", tier=Tier.WORLD)
class ClaimsAgainForFree(JobTable):
    """Grants a worker what it holds already, as if it had not got the reply to its last claim."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        job = self._by_seq[seq]
        if job.reclaimed and self._last.get(seq) == worker:
            job.record = replace(job.record, attempts=job.record.attempts - 1)
        self._last[seq] = worker
        return super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)

    def __init__(self, clock: Callable[[], Instant]) -> None:
        super().__init__(clock)
        self._last: dict[int, str] = {}


@breaks("lease.fenced", "was taken from a stale token", tier=Tier.WORLD)
class ExtensionsRevive(JobTable):
    """Lets a former holder have its lease back by extending it."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._by_seq.get(hold.seq)
        if job is not None and hold.seq in self._held and hold.token < job.token:
            job.token = hold.token
        return super()._extend(hold, expires_at)


@breaks("enqueue.atomic", "of its own left", tier=Tier.WORLD)
class RowByRowAndSlowly(RowByRow):
    """Adds each job of a call for itself, and takes its time."""

    pauses = 300


@breaks("store.kept", "acknowledged and then lost", tier=Tier.WORLD)
class LosesDelayedJobs(JobTable):
    """Forgets a delayed job when it falls due behind another one."""

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        due = sorted(seq for seq in self._delayed if (self._by_seq[seq].record.due_at or 0) <= now)
        for seq in due[1:]:
            self._delayed.discard(seq)
            job = self._by_seq.pop(seq)
            del self._by_id[job.record.org_id, job.record.id]
            self._live[job.record.org_id] -= 1
        super()._wake_delayed(types, now)


@breaks("store.kept", "was done and was granted again", tier=Tier.WORLD)
class DoesDoneWorkAgain(JobTable):
    """Has every fifth job done once more."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        state = super()._settle(hold, verdict)
        if state is JobState.DONE and isinstance(verdict, Done) and hold.token % 5 == 0:
            job = self._by_seq[hold.seq]
            del self._finished[hold.seq]
            self._live[job.record.org_id] += 1
            self._wait(job, self.now())
        return state


@breaks("store.errors", "claim raised OSError", tier=Tier.WORLD)
class LetsErrorsOut(MemoryJobs):
    """Lets an error of its driver escape now and then."""

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        claimed = await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)
        if any(grant.token % 7 == 0 for grant in claimed.grants):
            raise OSError("connection reset by peer")
        return claimed


# Workers


class BrokenWorker(Worker):
    """A worker whose engine was tampered with."""

    @contextlib.contextmanager
    def _one_engine(self) -> Iterator[Engine[Grant, Verdict]]:
        with super()._one_engine() as engine:
            self.tamper(engine)
            yield engine

    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        """Break it."""


def _swap(part: object, name: str, by: Callable[..., object]) -> None:
    setattr(part, name, by)


class _WorkerConformance(ReferenceConformance):
    """A right store under a broken worker."""


class _CallsTwice(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        put, loop = engine._slots.put, engine._loop

        def twice(executions: Iterable[Execution[Grant]]) -> None:
            put(again for one in executions for again in (one, Execution(one.grant, loop)))

        _swap(engine._slots, "put", twice)


@breaks("worker.once", "times for token", tier=Tier.WORLD)
class CallsTwice(_WorkerConformance):
    """Calls a handler twice for one grant."""

    _worker = _CallsTwice


class _TellsNobody(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        _swap(engine._keeper, "answered", lambda *_: None)


@breaks("worker.told", "was not told", tier=Tier.WORLD)
class TellsNobody(_WorkerConformance):
    """Does not heed what a renewal says."""

    _worker = _TellsNobody


class _WritesAnyway(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        _swap(engine._runner, "_unless_revoked", lambda _, verdict: verdict)


@breaks("worker.silent", "by a worker that knew its lease was lost", tier=Tier.WORLD)
class WritesAnyway(_WorkerConformance):
    """Writes the outcome of a handler that lost its lease."""

    _worker = _WritesAnyway


class _WritesOnce(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        send = engine._settler._send

        async def once(batch: Sequence[tuple[Grant, Verdict]]) -> Sequence[Settled]:
            try:
                return await send(batch)
            except StoreUnavailable:
                return [Settled.LOST] * len(batch)

        _swap(engine._settler, "_send", once)


@breaks("worker.written", "was given up", tier=Tier.WORLD)
class WritesOnce(_WorkerConformance):
    """Takes no answer for an answer."""

    _worker = _WritesOnce


class _StopsAtACost(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        _swap(engine._boundary, "given_back", lambda _: Retry(0, "stopped"))


@breaks("attempt.release", "cost job", tier=Tier.WORLD)
class StopsAtACost(_WorkerConformance):
    """Counts an attempt that its worker ended because it was stopped."""

    _worker = _StopsAtACost


class _GivesUpRenewing(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        keeper = engine._keeper

        def give_up(_: object) -> None:
            keeper._held.clear()
            _swap(keeper, "add", lambda _: None)

        _swap(keeper, "_note_silence", give_up)


@breaks("worker.renews", "ran out though nothing was wrong", tier=Tier.WORLD)
class GivesUpRenewing(_WorkerConformance):
    """Renews nothing any more once a renewal was not answered."""

    _worker = _GivesUpRenewing


class _RenewsOnItsLoop(BrokenWorker):
    def tamper(self, engine: Engine[Grant, Verdict]) -> None:
        loop = engine._loop

        def beside(run: Callable[[], Coroutine[None, None, None]], _: str) -> Beside:
            return Beside(loop, run)  # type: ignore[arg-type] # a world's loops are all alike

        engine._machine = replace(engine._machine, aside=beside)


@breaks("worker.renews", "ran out though nothing was wrong", tier=Tier.WORLD)
class RenewsOnItsLoop(_WorkerConformance):
    """Renews leases on the event loop that runs the handlers."""

    _worker = _RenewsOnItsLoop
