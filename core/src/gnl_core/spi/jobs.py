"""What a store does for jobs: the protocol `JobStore`. Its values are in `job_values`.

The total claim order
---------------------
*Delayed* is a job that waits to fall due. It becomes *ready* not by the clock alone, but when a
claim for its type finds it due. A job that is due at once (added, retried or released without
delay, revived) is ready at once. Every pair of lane (``org_id``) and job type that has
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
Sequence numbers are taken before the commit, grow in the order of taking, have gaps, and are
never used again, also not those of pruned jobs: they say nothing about what is visible. An id,
a lock or a lane seen by one statement may have changed by the next one, so each method is one
transaction, or one conditional write.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from gnl_core.spi.job_values import (
    Added,
    Claimed,
    DepthRefused,
    Duration,
    Extension,
    Hold,
    JobPage,
    JobRecord,
    JobState,
    Lane,
    NewJob,
    Outcome,
    Scope,
    Settlement,
)


class JobStore(Protocol):
    """Jobs in a store. Every method is one decision, taken atomically on the store's clock.

    All that one call writes has one instant, which is read once: two outcomes of one `settle`
    finish at the same time.

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
        `max_depth` refuses the call when, for some organization in which it would create jobs,
        live jobs before plus those are more than the limit. A call that creates nothing is never
        refused.

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

        Each is fenced by its token; one that lost changes nothing and hinders no other. A hold
        that has expired but was not ended by a claim is still held.
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
        """Make a dead job ready again; answers the state it was in (None: unknown).

        It is due now, with attempts 0; its sequence number, run and failures stay, and its
        tokens go on growing. Any other state is left alone.
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
        finished of these states; a job that matches either goes. Its id is free again. Live states
        in `states` are passed over; without `older_than` and `keep` nothing goes.
        """
        ...
