"""The queue's rules in plain Python: the reference that every other store is compared with.

One lock makes each operation atomic; nothing here waits, so the lock is only ever held for
as long as the operation computes.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from gnl_core.memory._job import Job
from gnl_core.memory._listing import page_of
from gnl_core.memory._ready import Pair, ReadyJobs
from gnl_core.spi import (
    CLAIM_SWEEP_LIMIT,
    LEASE_EXPIRED,
    Added,
    Claimed,
    Dead,
    DepthRefused,
    Done,
    Duration,
    Extension,
    Failure,
    Grant,
    Hold,
    HoldState,
    Instant,
    JobPage,
    JobRecord,
    JobState,
    Known,
    Lane,
    NewJob,
    Outcome,
    Release,
    Retry,
    Scope,
    Settlement,
    Verdict,
)


class JobTable:
    """All jobs of one memory store, shared by its handles."""

    def __init__(self, clock: Callable[[], Instant]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self._latest: Instant = 0
        self._settled_at: Instant = 0  # one instant for all outcomes of a call
        self._stamp = 0
        self._token = 0
        self._seq = 0
        self._by_seq: dict[int, Job] = {}
        self._by_id: dict[tuple[str | None, str], Job] = {}
        self._live: dict[str | None, int] = {}
        self._ready = ReadyJobs()
        self._delayed: set[int] = set()
        self._held: set[int] = set()
        self._finished: dict[int, None] = {}

    def now(self) -> Instant:
        """The store's clock: the given one, kept from running back."""
        with self._lock:
            self._latest = max(self._latest, self._clock())
            return self._latest

    def add(self, jobs: Sequence[NewJob], max_depth: int | None) -> Added | DepthRefused:
        with self._lock:
            known = [self._by_id.get((job.org_id, job.id)) for job in jobs]
            created = [job for job, old in zip(jobs, known, strict=True) if old is None]
            if max_depth is not None:
                refused = self._too_deep(jobs, created, max_depth)
                if refused is not None:
                    return refused
            now = self.now()
            for job in created:
                self._create(job, now)
            return Added(tuple(_content(old) for old in known))

    def claim(
        self, types: Collection[str], limit: int, ttl: Duration, worker: str, max_attempts: int
    ) -> Claimed:
        with self._lock:
            now = self.now()
            self._end_expired_leases(now)
            self._wake_delayed(types, now)
            grants: list[Grant] = []
            while len(grants) < limit and (head := self._ready.first(types)) is not None:
                grants.append(
                    self._grant(*head, now, ttl=ttl, worker=worker, max_attempts=max_attempts)
                )
            return Claimed(tuple(grants), self._next_due_in(types, now))

    def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        with self._lock:
            expires_at = self.now() + ttl
            return tuple(self._extend(hold, expires_at) for hold in holds)

    def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        with self._lock:
            self._settled_at = self.now()
            return tuple(Settlement(self._settle(o.hold, o.verdict)) for o in outcomes)

    def cancel(self, org_id: str | None, id: str) -> JobState | None:
        with self._lock:
            job = self._by_id.get((org_id, id))
            if job is None:
                return None
            found = job.record.state
            if found is JobState.WAITING:
                self.now()
                self._stop_waiting(job)
                self._finish(job, JobState.CANCELED)
            elif found is JobState.RUNNING:
                job.record = replace(job.record, cancel_requested=True)
            return found

    def revive(self, org_id: str | None, id: str) -> JobState | None:
        with self._lock:
            job = self._by_id.get((org_id, id))
            if job is None:
                return None
            found = job.record.state
            if found is JobState.DEAD:
                del self._finished[job.record.seq]
                self._live[org_id] = self._live.get(org_id, 0) + 1
                job.record = replace(job.record, attempts=0, finished_at=None)
                self._wait(job, self.now())
            return found

    def get(self, org_id: str | None, id: str) -> JobRecord | None:
        with self._lock:
            job = self._by_id.get((org_id, id))
            return None if job is None else replace(job.record, failures=tuple(job.failures))

    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> JobPage:
        with self._lock:
            records = (job.record for job in self._by_seq.values())
            return page_of(records, scope, position, limit, states=states, newest=self._seq)

    def depth(self, org_id: str | None) -> int:
        with self._lock:
            return self._live.get(org_id, 0)

    def lanes(self) -> tuple[Lane, ...]:
        with self._lock:
            ready = Counter(
                job.record.org_id
                for job in self._by_seq.values()
                if job.record.state is JobState.WAITING and job.ready
            )
            delayed = Counter(self._by_seq[seq].record.org_id for seq in self._delayed)
            running = Counter(self._by_seq[seq].record.org_id for seq in self._held)
            names = {*ready, *delayed, *running}
            return tuple(
                Lane(org, ready[org], delayed[org], running[org])
                for org in sorted(names, key=lambda org: (org is not None, org or ""))
            )

    def prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> int:
        with self._lock:
            latest = -1 if older_than is None else self.now() - older_than
            oldest_first = sorted(
                (seq for seq in self._finished if self._by_seq[seq].record.state in states),
                key=lambda seq: (self._by_seq[seq].record.finished_at, seq),
            )
            beyond = len(oldest_first) - keep if keep is not None else 0
            doomed = [
                seq
                for rank, seq in enumerate(oldest_first)
                if rank < beyond or self._by_seq[seq].finished_by(latest)
            ][:limit]
            for seq in doomed:
                self._delete(seq)
            return len(doomed)

    # Adding, and becoming ready

    def _too_deep(
        self, jobs: Sequence[NewJob], created: Sequence[NewJob], limit: int
    ) -> DepthRefused | None:
        new = Counter(job.org_id for job in created)
        for org_id in dict.fromkeys(job.org_id for job in jobs):
            depth = self._live.get(org_id, 0)
            if new[org_id] and depth + new[org_id] > limit:
                return DepthRefused(org_id, depth, new[org_id], limit)
        return None

    def _create(self, new: NewJob, now: Instant) -> None:
        self._seq += 1
        due_at = new.run_at if new.run_at is not None else now + new.delay
        record = JobRecord(
            seq=self._seq,
            id=new.id,
            org_id=new.org_id,
            type=new.type,
            payload=new.payload,
            state=JobState.WAITING,
            run_id=f"job-{self._seq}",
            attempts=0,
            max_attempts=new.max_attempts,
            enqueued_at=now,
        )
        job = Job(record)
        self._by_seq[self._seq] = self._by_id[new.org_id, new.id] = job
        self._live[new.org_id] = self._live.get(new.org_id, 0) + 1
        self._wait(job, due_at)

    def _wait(self, job: Job, due_at: Instant) -> None:
        """Ready if `due_at` has come, else delayed."""
        job.record = replace(
            job.record,
            state=JobState.WAITING,
            due_at=due_at,
            worker=None,
            expires_at=None,
            cancel_requested=False,
        )
        if due_at <= self._latest:
            self._make_ready(job)
        else:
            job.ready = False
            self._delayed.add(job.record.seq)

    def _make_ready(self, job: Job) -> None:
        job.ready = True
        self._ready.add(job.pair, job.record.seq, self._next_stamp())

    def _stop_waiting(self, job: Job) -> None:
        if job.ready:
            self._ready.remove(job.pair, job.record.seq)
        else:
            self._delayed.discard(job.record.seq)

    def _next_stamp(self) -> int:
        self._stamp = max(self._latest, self._stamp + 1)
        return self._stamp

    # Claiming

    def _end_expired_leases(self, now: Instant) -> None:
        expired = sorted(
            (expires_at, seq)
            for seq in self._held
            if (expires_at := self._by_seq[seq].record.expires_at) is not None and expires_at <= now
        )
        for expires_at, seq in expired[:CLAIM_SWEEP_LIMIT]:
            job = self._by_seq[seq]
            self._held.discard(seq)
            if job.record.cancel_requested:
                self._finish(job, JobState.CANCELED)
                continue
            self._record_failure(job, LEASE_EXPIRED)
            if job.record.attempts >= job.budget:
                self._finish(job, JobState.DEAD)
            else:
                job.reclaimed = True
                self._wait(job, expires_at)

    def _wake_delayed(self, types: Collection[str], now: Instant) -> None:
        due = sorted(
            (due_at, seq)
            for seq in self._delayed
            if (due_at := self._by_seq[seq].record.due_at) is not None
            and due_at <= now
            and self._by_seq[seq].record.type in types
        )
        for _, seq in due[:CLAIM_SWEEP_LIMIT]:
            self._delayed.discard(seq)
            self._make_ready(self._by_seq[seq])

    def _grant(
        self, pair: Pair, seq: int, now: Instant, *, ttl: Duration, worker: str, max_attempts: int
    ) -> Grant:
        self._ready.grant(pair, self._next_stamp())
        job = self._by_seq[seq]
        self._token += 1
        due_at = job.record.due_at
        assert due_at is not None, "a ready job fell due at some time"
        job.token = self._token
        job.budget = max_attempts if job.record.max_attempts is None else job.record.max_attempts
        job.record = replace(
            job.record,
            state=JobState.RUNNING,
            attempts=job.record.attempts + 1,
            worker=worker,
            expires_at=now + ttl,
        )
        self._held.add(seq)
        reclaimed, job.reclaimed = job.reclaimed, False
        return Grant(
            seq=seq,
            token=job.token,
            id=job.record.id,
            org_id=job.record.org_id,
            type=job.record.type,
            payload=job.record.payload,
            run_id=job.record.run_id,
            attempt=job.record.attempts,
            max_attempts=job.budget,
            enqueued_at=job.record.enqueued_at,
            due_at=due_at,
            granted_at=now,
            expires_at=now + ttl,
            reclaimed=reclaimed,
        )

    def _next_due_in(self, types: Collection[str], now: Instant) -> Duration | None:
        records = (self._by_seq[seq].record for seq in self._delayed)
        dues = [r.due_at for r in records if r.due_at is not None and r.type in types]
        return max(0, min(dues) - now) if dues else None

    # Holding and settling

    def _holder(self, hold: Hold) -> Job | None:
        job = self._by_seq.get(hold.seq)
        held = job is not None and hold.seq in self._held and job.token == hold.token
        return job if held else None

    def _extend(self, hold: Hold, expires_at: Instant) -> Extension:
        job = self._holder(hold)
        if job is None:
            return Extension(HoldState.LOST, None)
        job.record = replace(job.record, expires_at=expires_at)
        canceled = job.record.cancel_requested
        return Extension(HoldState.CANCELED if canceled else HoldState.KEPT, expires_at)

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        job = self._holder(hold)
        if job is None:
            return None
        self._held.discard(hold.seq)
        if job.record.cancel_requested:
            return self._finish(job, JobState.CANCELED)
        match verdict:
            case Done(result):
                return self._finish(job, JobState.DONE, result=result)
            case Dead(error):
                self._record_failure(job, error)
                return self._finish(job, JobState.DEAD)
            case Retry(delay, error):
                self._record_failure(job, error)
                self._wait(job, self._settled_at + delay)
            case Release(delay):
                job.record = replace(job.record, attempts=job.record.attempts - 1)
                self._wait(job, self._settled_at + delay)
        return JobState.WAITING

    def _record_failure(self, job: Job, error: str) -> None:
        job.failures.append(Failure(job.record.attempts, error, self._latest))
        job.record = replace(job.record, error=error)

    def _finish(self, job: Job, state: JobState, *, result: str | None = None) -> JobState:
        self._finished[job.record.seq] = None
        self._live[job.record.org_id] -= 1
        job.record = replace(
            job.record,
            state=state,
            due_at=None,
            worker=None,
            expires_at=None,
            cancel_requested=False,
            result=result,
            finished_at=self._latest,
        )
        return state

    def _delete(self, seq: int) -> None:
        record = self._by_seq.pop(seq).record
        del self._by_id[record.org_id, record.id]
        del self._finished[seq]


def _content(job: Job | None) -> Known | None:
    return None if job is None else Known(job.record.type, job.record.payload)
