"""Stores that miscount attempts or end jobs wrongly."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._job import Job
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._ready import Pair
from gnl_core.memory._store import MemoryJobs
from gnl_core.spi import (
    LEASE_EXPIRED,
    Dead,
    Duration,
    Extension,
    Grant,
    Hold,
    HoldState,
    Instant,
    JobState,
    Release,
    Retry,
    Verdict,
)


@breaks("attempt.bounded", "attempt of the grant")
class ReclaimIsFree(JobTable):
    """Does not count an attempt whose worker died."""

    def _record_failure(self, job: Job, error: str) -> None:
        super()._record_failure(job, error)
        if error == LEASE_EXPIRED:
            job.record = replace(job.record, attempts=job.record.attempts - 1)


@breaks("attempt.bounded", "grants after the last attempt's lease ran out")
class NeverBuries(JobTable):
    """Grants a job whose workers die for ever."""

    def _end_expired_leases(self, now: Instant) -> None:
        for seq in self._held:
            self._by_seq[seq].budget = 10**9
        super()._end_expired_leases(now)


@breaks("attempt.bounded", "a claim granted nothing")
class BuriesOneEarly(JobTable):
    """Buries a job one attempt before its last."""

    def _end_expired_leases(self, now: Instant) -> None:
        for seq in self._held:
            self._by_seq[seq].budget -= 1
        super()._end_expired_leases(now)


@breaks("attempt.bounded", "its failures")
class BuriesWithoutHistory(JobTable):
    """Buries a job and does not say what happened."""

    def _record_failure(self, job: Job, error: str) -> None:
        super()._record_failure(job, error)
        if error == LEASE_EXPIRED:
            job.failures.pop()


@breaks("attempt.budget", "budgets granted")
class ClaimsBudgetWins(JobTable):
    """Forgets the budget that a job came with."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        job = self._by_seq[seq]
        job.record = replace(job.record, max_attempts=None)
        return super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)


@breaks("attempt.budget", "grants by a claim with a larger budget")
class JudgedByALaterClaim(JobTable):
    """Judges a lease that ran out by the budget of the claim that finds it."""

    def _end_expired_leases(self, now: Instant) -> None:
        for seq in self._held:
            self._by_seq[seq].budget = 9
        super()._end_expired_leases(now)


@breaks("attempt.retry", "is due at")
class RetriesAtOnce(JobTable):
    """Retries without waiting."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        if isinstance(verdict, Retry):
            verdict = replace(verdict, delay=0)
        return super()._settle(hold, verdict)


@breaks("attempt.release", "attempt after releases")
class ReleaseCounts(JobTable):
    """Counts an attempt that was given back."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        job = self._holder(hold)
        if job is not None and isinstance(verdict, Release):
            job.record = replace(job.record, attempts=job.record.attempts + 1)
        return super()._settle(hold, verdict)


@breaks("attempt.release", "what is left of it")
class ReleaseIsAFailure(JobTable):
    """Records a job that was given back as failed."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        job = self._holder(hold)
        if job is not None and isinstance(verdict, Release):
            self._record_failure(job, "released")
        return super()._settle(hold, verdict)


@breaks("attempt.dead", "the settlement")
class DeadIsRetried(JobTable):
    """Tries a job again that was declared dead, while it has attempts left."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        if isinstance(verdict, Dead):
            verdict = Retry(0, verdict.error)
        return super()._settle(hold, verdict)


@breaks("attempt.cancel", "state of a running job that was canceled")
class CancelMissesRunningJobs(JobTable):
    """Cancels waiting jobs only, and says otherwise."""

    def cancel(self, org_id: str | None, id: str) -> JobState | None:
        found = super().cancel(org_id, id)
        job = self._by_id.get((org_id, id))
        if job is not None and found is JobState.RUNNING:
            job.record = replace(job.record, cancel_requested=False)
        return found


@breaks("attempt.cancel", "settling a canceled job by")
class LateResultWins(JobTable):
    """Lets a result overwrite a cancel."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        job = self._holder(hold)
        if job is not None:
            job.record = replace(job.record, cancel_requested=False)
        return super()._settle(hold, verdict)


@breaks("attempt.cancel", "grants of a canceled job whose holder died")
class CanceledIsReclaimed(JobTable):
    """Forgets a cancel when the lease runs out."""

    def _end_expired_leases(self, now: Instant) -> None:
        for seq in self._held:
            job = self._by_seq[seq]
            if (job.record.expires_at or 0) <= now:
                job.record = replace(job.record, cancel_requested=False)
        super()._end_expired_leases(now)


@breaks("attempt.cancel", "answer to its holder")
class CancelIsASecret(JobTable):
    """Does not tell the holder."""

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        answer = super()._extend(hold, expires_at)
        return replace(answer, state=HoldState.KEPT) if answer.expires_at else answer


@breaks("attempt.cancel", "grants")
class CancelLeavesItDelayed(JobTable):
    """Forgets to take a delayed job out of the waiting ones."""

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        super()._wake_delayed(types, now)
        for job in self._by_seq.values():
            due = job.record.enqueued_at + 10_000_000 <= now
            if job.record.state is JobState.CANCELED and not job.ready and due:
                job.record = replace(job.record, due_at=now)
                self._make_ready(job)


@breaks("attempt.revive", "the job: expected")
class ReviveKeepsAttempts(JobTable):
    """Revives a job with its budget used up."""

    def revive(self, org_id: str | None, id: str) -> JobState | None:
        job = self._by_id.get((org_id, id))
        attempts = job.record.attempts if job is not None else 0
        found = super().revive(org_id, id)
        if job is not None and found is JobState.DEAD:
            job.record = replace(job.record, attempts=attempts)
        return found


@breaks("attempt.revive", "after a revival")
class RevivesAnything(JobTable):
    """Revives done jobs as well."""

    def revive(self, org_id: str | None, id: str) -> JobState | None:
        job = self._by_id.get((org_id, id))
        found = job.record.state if job is not None else None
        if job is not None and found is JobState.DONE:
            job.record = replace(job.record, state=JobState.DEAD)
            super().revive(org_id, id)
            return found
        return super().revive(org_id, id)


@breaks("attempt.revive", "calls that revived the job")
class ReviveLooksFirst(MemoryJobs):
    """Looks in one step and revives in the next."""

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        record = self._table.get(org_id, id)
        await asyncio.sleep(0)
        await super().revive(org_id, id)
        return None if record is None else record.state


@breaks("attempt.history", "failures")
class KeepsTheLastFailure(JobTable):
    """Overwrites a failure by the next."""

    def _record_failure(self, job: Job, error: str) -> None:
        job.failures.clear()
        super()._record_failure(job, error)


@breaks("attempt.history", "failures of a job that came through")
class ForgetsOnSuccess(JobTable):
    """Drops the history of a job that came through."""

    def _finish(self, job: Job, state: JobState, *, result: str | None = None) -> JobState:
        if state is JobState.DONE:
            job.failures.clear()
        return super()._finish(job, state, result=result)


@breaks("attempt.result", "came back as")
class TrimsResults(JobTable):
    """Drops blanks around a result."""

    def _finish(self, job: Job, state: JobState, *, result: str | None = None) -> JobState:
        return super()._finish(job, state, result=result and result.strip())


@breaks("attempt.run", "run id after a retry")
class RunPerAttempt(JobTable):
    """Gives every attempt a run of its own."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        grant = super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)
        return replace(grant, run_id=f"{grant.run_id}-{grant.attempt}")


@breaks("attempt.run", "run ids of three jobs")
class RunIsTheId(JobTable):
    """Takes the job's id for its run, which two organizations may share."""

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        grant = super()._grant(pair, seq, now, ttl=ttl, worker=worker, max_attempts=max_attempts)
        return replace(grant, run_id=grant.id)
