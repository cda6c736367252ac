"""Stores that do not keep a lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._ready import Pair
from gnl_core.memory._store import MemoryJobs, _Data
from gnl_core.spi import (
    SECOND,
    Claimed,
    Duration,
    Extension,
    Grant,
    Hold,
    HoldState,
    Instant,
    JobState,
    Outcome,
    Settlement,
    Verdict,
)


@breaks("lease.exclusive", "grants of a job that is held")
class ClaimTakesLiveLeases(JobTable):
    """Ends every lease at the next claim, whether it ran out or not."""

    def _end_expired_leases(self, now: Instant) -> None:
        cut_short(self, now, 10**15)
        super()._end_expired_leases(now)


def cut_short(table: JobTable, now: Instant, by: Duration) -> None:
    """Let leases run out now that have no more than `by` to go."""
    for seq in table._held:
        job = table._by_seq[seq]
        if (job.record.expires_at or 0) <= now + by:
            job.record = replace(job.record, expires_at=min(job.record.expires_at or 0, now))


@breaks("lease.exclusive", "granted more than once while leased")
class ReadThenWriteClaim(MemoryJobs):
    """Lets claims that meet read the same rows."""

    def __init__(self, data: _Data) -> None:
        super().__init__(data)
        self._read: Claimed | None = None

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        if self._read is None:
            self._read = await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)
        read = self._read
        await asyncio.sleep(0)
        self._read = None
        return read


@breaks("lease.fenced", "a stale settlement by")
class SettleIgnoresToken(JobTable):
    """Settles a running job for whoever asks."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        job = self._by_seq.get(hold.seq)
        return super()._settle(hold if job is None else Hold(hold.seq, job.token), verdict)


@breaks("lease.fenced", "a stale extension")
class ExtendIgnoresToken(JobTable):
    """Extends a running job for whoever asks."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._by_seq.get(hold.seq)
        return super()._extend(hold if job is None else Hold(hold.seq, job.token), expires_at)


@breaks("lease.fenced", "a second settlement after")
class SettlesTwice(JobTable):
    """Takes a second settlement of a hold as well."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        state = super()._settle(hold, verdict)
        job = self._by_seq.get(hold.seq)
        mine = job is not None and job.token == hold.token
        return job.record.state if state is None and mine and job is not None else state


@breaks("lease.token", "tokens of one job")
class TokenIsTheAttempt(JobTable):
    """Takes the attempt's number for a token, which a release gives out again."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        self._token = self._by_seq[seq].record.attempts
        return super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)


@breaks("lease.reclaimed", "grants after the lease ran out")
class NeverReclaims(JobTable):
    """Leaves a job with a worker that died."""

    def _end_expired_leases(self, now: Instant) -> None:
        pass


@breaks("lease.reclaimed", "after a claim of another type")
class ReclaimsItsOwnTypes(JobTable):
    """Ends only the leases of the types that a claim asks for."""

    def claim(
        self, types: Collection[str], limit: int, ttl: Duration, worker: str, max_attempts: int
    ) -> Claimed:
        others = {s for s in self._held if self._by_seq[s].record.type not in types}
        self._held -= others
        try:
            return super().claim(types, limit, ttl, worker, max_attempts)
        finally:
            self._held |= others


@breaks("lease.reclaimed", "does not say that it was reclaimed")
class ReclaimsInSilence(JobTable):
    """Does not say that the attempt before ended with its lease."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        grant = super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)
        return replace(grant, reclaimed=False)


@breaks("lease.boundary", "although now was expires_at")
class ExpiresOneTickLate(JobTable):
    """Ends a lease only when its expiry lies behind."""

    def _end_expired_leases(self, now: Instant) -> None:
        super()._end_expired_leases(now - 1)


@breaks("lease.boundary", "before the lease ran out")
class ExpiresEarly(JobTable):
    """Ends a lease in the last quarter of its time."""

    def _end_expired_leases(self, now: Instant) -> None:
        cut_short(self, now, 4 * SECOND)
        super()._end_expired_leases(now)


@breaks("lease.extend", "the lease ends at")
class ExtendIsNoop(JobTable):
    """Says that a hold is kept and leaves its end where it was."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._holder(hold)
        until = job.record.expires_at if job is not None else None
        return super()._extend(hold, until or expires_at)


@breaks("lease.extend", "the lease ends at")
class ExtendAccumulates(JobTable):
    """Counts an extension from the end of the lease."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._holder(hold)
        until = job.record.expires_at if job is not None else None
        left = max(0, until - self._latest) if until is not None else 0
        return super()._extend(hold, expires_at + left)


@breaks("lease.extend", "grants after a lease was shortened")
class NeverShortens(JobTable):
    """Says that a lease ends sooner, and keeps the later end."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._holder(hold)
        until = (job.record.expires_at if job is not None else None) or 0
        answer = super()._extend(hold, expires_at)
        if job is not None and until > expires_at and expires_at - self._latest < 60 * SECOND:
            job.record = replace(job.record, expires_at=until)
        return answer


@breaks("lease.held", "extension of an expired lease nobody ended")
class ExpiredIsLost(JobTable):
    """Turns away a holder whose lease ran out though nobody has its job."""

    def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        now = self.now()
        expired = {s for s in self._held if (self._by_seq[s].record.expires_at or 0) <= now}
        lost = Extension(HoldState.LOST, None)
        answers = super().extend(holds, ttl)
        return tuple(
            lost if hold.seq in expired else answer
            for hold, answer in zip(holds, answers, strict=True)
        )


@breaks("lease.batch", "answers to settle")
class OneLostHoldFailsAll(JobTable):
    """Settles nothing of a batch in which one hold was lost."""

    def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        if any(self._holder(outcome.hold) is None for outcome in outcomes):
            return tuple(Settlement(None) for _ in outcomes)
        return super().settle(outcomes)


@breaks("lease.batch", "answers to extend")
class AnswersByJob(JobTable):
    """Answers in the order of the jobs, not of the holds."""

    def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        return super().extend(sorted(holds, key=lambda hold: hold.seq), ttl)


_OFFSET = time.time_ns() - time.monotonic_ns()


@breaks("lease.clock", "by a client whose clock is wrong")
class ClientClockJudges(JobTable):
    """Takes the client's word for what time it is."""

    def now(self) -> Instant:
        skew = time.time_ns() - time.monotonic_ns() - _OFFSET
        return max(0, super().now() + skew // 1_000)
