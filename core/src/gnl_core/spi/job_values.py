"""What goes in and out of a store for jobs.

Units: an `Instant` is microseconds since the Unix epoch on the store's clock, a `Duration`
is microseconds. Payloads, results and errors are opaque text, free of NUL characters, that
the store keeps and gives back unchanged. Ids, organizations, types and names of workers are
text of 1 to 255 characters, compared byte for byte.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from gnl_core._value import value

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


@value
class NewJob:
    """A job to add. It is due at `run_at` if given, also in the past, else `delay` after now."""

    id: str
    org_id: str | None
    type: str
    payload: str
    max_attempts: int | None = None
    delay: Duration = 0
    run_at: Instant | None = None


@value
class Known:
    """What a job that already had the id was enqueued with."""

    type: str
    payload: str


@value
class Added:
    """All jobs of the call are in the store. One entry a job, in call order.

    None: this call created it. `Known`: the id was there before, in whatever state.
    """

    known: tuple[Known | None, ...]


@value
class DepthRefused:
    """Nothing was written: the call would have left more live jobs than the limit.

    `org_id` is one of the organizations that would have got too many; any of them is right.
    `depth` counts the live jobs of `org_id` before the call, `new` those the call would add.
    """

    org_id: str | None
    depth: int
    new: int
    limit: int


@value
class Hold:
    """A held job, named by its sequence number and the fencing token of one grant."""

    seq: int
    token: int


@value
class Grant:
    """One job, leased to the caller until `expires_at`.

    `token` is new for every grant and grows, at least from grant to grant of one job, through
    retries, releases and revivals. `run_id` is text that the store made up when it added the job,
    unlike that of any other job of the store, and never changes.
    `attempt` counts grants since enqueuing or since the last revival, this one included;
    `max_attempts` is the job's own budget or else the claim's. `due_at` is when this attempt
    fell due. `reclaimed` says that what ended the grant before was an expired lease, and nothing
    else: not a settlement, nor a revival since.
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


@value
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


@value
class Extension:
    """Answer for one hold: CANCELED is kept as well, but its job is to be stopped.

    `expires_at` is None for LOST.
    """

    state: HoldState
    expires_at: Instant | None


@value
class Done:
    """The handler returned; `result` is encoded."""

    result: str


@value
class Retry:
    """The attempt failed; the job is due again after `delay`.

    The store does not compare attempts with the budget here: who has used it up says `Dead`.
    """

    delay: Duration
    error: str


@value
class Dead:
    """The attempt failed for good; the job becomes a dead letter."""

    error: str


@value
class Release:
    """The job is given back: due after `delay`, the attempt restored, no failure recorded."""

    delay: Duration = 0


Verdict: TypeAlias = Done | Retry | Dead | Release


@value
class Outcome:
    """How one hold ends."""

    hold: Hold
    verdict: Verdict


@value
class Settlement:
    """`state` the job is in after an applied outcome; None: the hold was lost, nothing changed.

    An outcome for a job that was canceled while running is applied as CANCELED, whatever it
    says.
    """

    state: JobState | None


@value
class Failure:
    """One failed attempt of a job's history."""

    attempt: int
    error: str
    failed_at: Instant


@value
class JobRecord:
    """A job as it is now.

    `attempts` counts grants since enqueuing or the last revival. `due_at` is meant for waiting
    jobs (in other states it is None or when the job was last due), `worker` and `expires_at` for
    running ones, `result` for done ones, `finished_at` for finished ones; elsewhere these are
    None. `cancel_requested` is true for a running job that was canceled, and for no other.
    `error` is the last failure's text, also when the job was revived or done since.
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


@value
class Lane:
    """One lane with live jobs: how many are ready, delayed and running.

    A job that has fallen due counts as delayed until a claim makes it ready.
    """

    org_id: str | None
    ready: int
    delayed: int
    running: int


@value
class OneLane:
    """Listing scope: the jobs of one organization, or those that have none."""

    org_id: str | None


@value
class EveryLane:
    """Listing scope: jobs without organization, then every organization's by name, byte order."""


Scope: TypeAlias = OneLane | EveryLane


@value
class JobPage:
    """Some jobs in listing order, and where the next page begins (None: this was the last).

    `position` is the store's own text. It holds whatever fixes the listing at its first page.
    With `states` a page may be shorter than its limit, even empty, and still not be the last.
    Without, only the last one is shorter; it may be empty.
    """

    items: tuple[JobRecord, ...]
    position: str | None
