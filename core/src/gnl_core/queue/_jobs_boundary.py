"""The queue's words for the shared engine: jobs are claimed, extended and settled like this."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gnl_core.backoff import Backoff, next_delay
from gnl_core.codec import decode, encode
from gnl_core.errortext import describe
from gnl_core.queue._context import JobContext
from gnl_core.queue._handlers import Handler
from gnl_core.runtime import DeadLetter, GiveBack, Invocation, Retry, Settled, Signal, Taken, blocks
from gnl_core.spi import (
    SECOND,
    Dead,
    Done,
    Duration,
    Grant,
    HoldState,
    JobState,
    Outcome,
    Release,
    Store,
    Verdict,
)
from gnl_core.spi import Retry as RetryVerdict

_FATES: Final = {
    None: Settled.LOST,
    JobState.WAITING: Settled.WAITS,
    JobState.DONE: Settled.ENDED,
    JobState.DEAD: Settled.ENDED,
    JobState.CANCELED: Settled.ENDED,
}


class JobsBoundary:
    """Jobs of the types in `handlers`, through the shared engine."""

    def __init__(
        self,
        store: Store,
        handlers: Mapping[str, Handler],
        *,
        ttl: Duration,
        worker: str,
        max_attempts: int,
        backoff: Backoff,
        random: Callable[[], float],
    ) -> None:
        self._jobs = store.jobs
        self._handlers = {type_: (h, blocks(h)) for type_, h in handlers.items()}
        self._types = tuple(handlers)
        self._ttl = ttl
        self._worker = worker
        self._max_attempts = max_attempts
        self._backoff = backoff
        self._random = random

    async def claim(self, limit: int) -> Taken[Grant]:
        claimed = await self._jobs.claim(
            self._types, limit, self._ttl, self._worker, max_attempts=self._max_attempts
        )
        due = claimed.next_due_in
        return Taken(claimed.grants, None if due is None else due / SECOND)

    async def extend(self, store: Store, grants: Sequence[Grant]) -> Sequence[HoldState]:
        extensions = await store.jobs.extend([grant.hold for grant in grants], self._ttl)
        return [extension.state for extension in extensions]

    async def settle(self, outcomes: Sequence[tuple[Grant, Verdict]]) -> Sequence[Settled]:
        settlements = await self._jobs.settle(
            [Outcome(grant.hold, verdict) for grant, verdict in outcomes]
        )
        return [_FATES[settlement.state] for settlement in settlements]

    def prepare(self, grant: Grant, signal: Signal) -> Invocation:
        handler, threaded = self._handlers[grant.type]
        payload = decode(grant.payload)
        return Invocation(
            functools.partial(handler, payload, JobContext(grant, signal)), threaded=threaded
        )

    def returned(self, grant: Grant, value: object) -> Verdict:
        return Done("null" if value is None else encode(value, what="result"))

    def raised(self, grant: Grant, error: BaseException) -> Verdict:
        if isinstance(error, GiveBack):
            return Release(error.delay)
        if isinstance(error, DeadLetter) or grant.attempt >= grant.max_attempts:
            return Dead(describe(error))
        if isinstance(error, Retry):
            return RetryVerdict(error.delay, describe(error))
        delay = next_delay(self._backoff, grant.attempt, self._random)
        return RetryVerdict(delay, describe(error))

    def given_back(self, grant: Grant) -> Verdict:
        return Release()

    def on_its_last_chance(self, grant: Grant) -> bool:
        return grant.reclaimed and grant.attempt >= grant.max_attempts

    def name(self, grant: Grant) -> str:
        org = "" if grant.org_id is None else f" of {grant.org_id!r}"
        return f"job {grant.id!r} ({grant.type}){org}"
