"""What a store does for jobs: value types, answers and the protocol `JobStore`.

Units: an `Instant` is microseconds since the Unix epoch on the store's clock, a `Duration`
is microseconds. Payloads, results and errors are opaque text, free of NUL characters, that
the store keeps and gives back unchanged.

The total claim order
---------------------
*Ready* is a job that waits and is due. Every pair of lane (``org_id``) and job type that has
ready jobs has a *turn*, a stamp from one strictly growing sequence (any sequence: only its
order counts; all stores at hand use ``max(now, last stamp + 1)``).

* A pair that had no ready job and gets one takes the next stamp. Jobs added in one call become
  ready in call order; `JobStore.claim` makes jobs ready in the order given there.
* A pair without ready jobs has no turn.
* A claim asks for some types. Again and again, up to its limit, it serves the lane with the
  smallest turn among its pairs of those types, grants the ready job with the smallest sequence
  number (order of enqueuing) among those types in that lane, and then gives all pairs of that
  lane, whatever their type, one new stamp.

A batch of n grants is therefore the same sequence as n claims of one. The order is exact for
claims that do not overlap in time. With W claims at once a lane may wait for W - 1 grants more;
a store may also let claims wait for each other, never for an open transaction of a producer.

What a store may not assume
---------------------------
Sequence numbers are taken before the commit, grow in the order of taking, and have gaps: they
say nothing about what is visible. An id, a lock or a lane seen by one statement may have
changed by the next one, so each method is one transaction, or one conditional write.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias

Instant: TypeAlias = int
Duration: TypeAlias = int

SECOND: Final = 1_000_000

CLAIM_SWEEP_LIMIT: Final = 1_000
"""How many expired leases, and how many delayed jobs, one claim makes ready at the most."""

LEASE_EXPIRED: Final = "lease expired: its worker stopped renewing it"
"""The error that a store records for an attempt whose lease ran out."""


class JobState(Enum):
    """Where a job is. Waiting and running jobs are *live*, the others *finished*."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELED = "canceled"

    @property
    def live(self) -> bool:
        """True while the job has work ahead of it."""
        return self in (JobState.WAITING, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add. It is due at `run_at` if given, else `delay` after the store's now."""

    id: str
    org_id: str | None
    type: str
    payload: str
    max_attempts: int | None = None
    delay: Duration = 0
    run_at: Instant | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What a job that already had the id was enqueued with."""

    type: str
    payload: str


@dataclass(frozen=True, slots=True)
class Added:
    """All jobs of the call are in the store. One entry a job, in call order.

    None: this call created it. `Known`: the id was there before, in whatever state.
    """

    known: tuple[Known | None, ...]


@dataclass(frozen=True, slots=True)
class DepthRefused:
    """Nothing was written: the call would have left more live jobs than the limit.

    `depth` counts the live jobs of `org_id` before the call, `new` those the call would add.
    """

    org_id: str | None
    depth: int
    new: int
    limit: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A held job, named by its sequence number and the fencing token of one grant."""

    seq: int
    token: int


@dataclass(frozen=True, slots=True)
class Grant:
    """One job, leased to the caller until `expires_at`.

    `token` is new for every grant and grows, at least from grant to grant of one job.
    `attempt` counts grants since enqueuing or since the last revival, this one included;
    `max_attempts` is the job's own budget or else the claim's. `due_at` is when this attempt
    fell due. `reclaimed` says that the attempt before ended with an expired lease.
    """

    seq: int
    token: int
    id: str
    org_id: str | None
    type: str
    payload: str
    run_id: str
    attempt: int
    max_attempts: int
    enqueued_at: Instant
    due_at: Instant
    granted_at: Instant
    expires_at: Instant
    reclaimed: bool = False

    @property
    def hold(self) -> Hold:
        """The name under which this grant is extended and settled."""
        return Hold(self.seq, self.token)


@dataclass(frozen=True, slots=True)
class Claimed:
    """Grants in claim order, and how long until the next delayed job of these types is due.

    `next_due_in` is None when no job of these types is delayed, 0 when more is due already.
    """

    grants: tuple[Grant, ...]
    next_due_in: Duration | None


class HoldState(Enum):
    """What became of a hold that was to be extended."""

    KEPT = "kept"
    CANCELED = "canceled"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Extension:
    """Answer for one hold: CANCELED is kept as well, but its job is to be stopped."""

    state: HoldState
    expires_at: Instant | None


@dataclass(frozen=True, slots=True)
class Done:
    """The handler returned; `result` is encoded."""

    result: str


@dataclass(frozen=True, slots=True)
class Retry:
    """The attempt failed; the job is due again after `delay`."""

    delay: Duration
    error: str


@dataclass(frozen=True, slots=True)
class Dead:
    """The attempt failed for good; the job becomes a dead letter."""

    error: str


@dataclass(frozen=True, slots=True)
class Release:
    """The job is given back: due after `delay`, the attempt restored, no failure recorded."""

    delay: Duration = 0


Verdict: TypeAlias = Done | Retry | Dead | Release


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one hold ends."""

    hold: Hold
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Settlement:
    """`state` the job is in after an applied outcome; None: the hold was lost, nothing changed.

    An outcome for a job that was canceled while running is applied as CANCELED, whatever it
    says.
    """

    state: JobState | None


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt of a job's history."""

    attempt: int
    error: str
    failed_at: Instant


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job as it is now.

    `attempts` counts grants since enqueuing or the last revival. `due_at` is meant for waiting
    jobs, `worker` and `expires_at` for running ones, `result` for done ones. `cancel_requested`
    is true for a running job that was canceled. `error` is the last failure's text.
    `failures` (oldest first, kept across revivals) is filled by `JobStore.get` only.
    """

    seq: int
    id: str
    org_id: str | None
    type: str
    payload: str
    state: JobState
    run_id: str
    attempts: int
    max_attempts: int | None
    enqueued_at: Instant
    due_at: Instant | None = None
    worker: str | None = None
    expires_at: Instant | None = None
    cancel_requested: bool = False
    result: str | None = None
    error: str | None = None
    finished_at: Instant | None = None
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane with live jobs: how many are ready, delayed and running."""

    org_id: str | None
    ready: int
    delayed: int
    running: int


@dataclass(frozen=True, slots=True)
class OneLane:
    """Listing scope: the jobs of one organization, or those that have none."""

    org_id: str | None


@dataclass(frozen=True, slots=True)
class EveryLane:
    """Listing scope: jobs without organization, then every organization's by name, byte order."""


Scope: TypeAlias = OneLane | EveryLane


@dataclass(frozen=True, slots=True)
class JobPage:
    """Some jobs in listing order, and where the next page begins (None: this was the last).

    `position` is the store's own text. It holds whatever fixes the listing at its first page.
    With `states` a page may be shorter than its limit, even empty, and still not be the last.
    """

    items: tuple[JobRecord, ...]
    position: str | None


class JobStore(Protocol):
    """Jobs in a store. Every method is one decision, taken atomically on the store's clock.

    Methods raise `StoreUnavailable` (outcome unknown, safe to repeat) and `StoreRejected`
    (no effect), nothing else. A lost race is an answer, never an error.
    """

    async def add(
        self,
        jobs: Sequence[NewJob],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Added | DepthRefused:
        """Add all of `jobs` or none.

        Ids in one call are distinct within an organization (the caller has seen to that). An id
        known in its organization, in any state, stays what it is and answers `Known`.
        `max_depth` refuses the call when, for some organization in it, live jobs before plus
        jobs it would create are more than the limit.

        `connection` is the caller's own open transaction, in a form that the store documents:
        the jobs are committed with it and not visible before. A kind the store does not know
        raises `StoreRejected`. Producers never wait for each other's open transactions, except
        for the same new id. The answer is provisional until the caller commits. Nothing is
        retried inside a caller's transaction: when the database gave it up, `StoreUnavailable`
        says so, and the caller runs all of it again.
        """
        ...

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        """Grant up to `limit` ready jobs of `types`, in the total claim order.

        Before granting, and in this order:

        1. Expired leases (``now >= expires_at``; any type; by ``(expires_at, seq)``; at most
           `CLAIM_SWEEP_LIMIT`) end. A job whose cancel was requested becomes CANCELED. Otherwise
           a failure `LEASE_EXPIRED` is recorded, and the job is dead if its attempt was the last
           of the budget it was granted with, else ready again (due when its lease ran out).
        2. Delayed jobs of `types` that are due (by ``(due_at, seq)``; at most
           `CLAIM_SWEEP_LIMIT`) become ready.

        The budget of a grant is the job's own `max_attempts`, else the claim's.
        Work is constant on an empty or fully held queue.

        The steps before granting may commit by themselves. No grants means "nothing to be had
        now", not "the queue is empty": the caller polls.
        """
        ...

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        """Move the expiry of each hold to now + `ttl`; one answer a hold, in order.

        A hold whose token is no longer the job's is LOST. One that has expired but was not
        ended by a claim is still held, and kept.
        """
        ...

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        """End each hold with its verdict; one answer an outcome, in order.

        Each is fenced by its token; one that lost changes nothing and hinders no other.
        A job made ready takes its old place in its lane (its sequence number stays).
        """
        ...

    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        """Cancel a job; answers the state it was found in (None: unknown).

        WAITING becomes CANCELED. RUNNING is marked: its holder learns of it at the next
        `extend`, and whatever it settles becomes CANCELED. A finished job is left alone.
        """
        ...

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        """Make a dead job ready again, attempts 0, history kept; answers the state it was in.

        Any other state is left alone.
        """
        ...

    async def get(self, org_id: str | None, id: str) -> JobRecord | None:
        """One job with its failures, at a cost that does not depend on the queue."""
        ...

    async def page(
        self,
        scope: Scope,
        position: str | None,
        limit: int,
        *,
        states: Collection[JobState] = (),
    ) -> JobPage:
        """One page of a snapshot listing, at the cost of the page.

        The first page (no `position`) fixes the listing: over all its pages, every job whose
        add had committed by then appears exactly once with its state of the moment, and none
        that committed later. Jobs pruned meanwhile are missing. `states` leaves out others.

        Membership is fixed, the state shown is that of the moment the page is read. The call
        may write. A position that a store can no longer serve raises `StoreRejected`.
        """
        ...

    async def depth(self, org_id: str | None) -> int:
        """How many live jobs one lane has."""
        ...

    async def lanes(self) -> tuple[Lane, ...]:
        """Every lane with live jobs: the one without organization first, then by name."""
        ...

    async def prune(
        self,
        states: Collection[JobState],
        *,
        older_than: Duration | None = None,
        keep: int | None = None,
        limit: int = 10_000,
    ) -> int:
        """Delete finished jobs of `states`, oldest finished first, at most `limit`; the count.

        Jobs that finished at the same instant go by sequence number.

        Deletes those finished at least `older_than` ago, and those beyond the `keep` latest
        finished of these states; a job that matches either goes. Its id is free again.
        """
        ...
