"""What a job's handler is given beside the payload, and what it may raise to ask for something."""

from __future__ import annotations

from datetime import datetime

from gnl_core._durations import Seconds, to_datetime, to_duration
from gnl_core.runtime import Signal
from gnl_core.spi import SECOND, Grant


class JobContext:
    """One attempt at a job, as its handler sees it."""

    __slots__ = ("_grant", "signal")

    signal: Signal
    """Says when and why this attempt may not go on."""

    def __init__(self, grant: Grant, signal: Signal) -> None:
        self._grant = grant
        self.signal = signal

    @property
    def id(self) -> str:
        """The job's id, unique in its organization."""
        return self._grant.id

    @property
    def org_id(self) -> str | None:
        """The job's organization, None if it has none."""
        return self._grant.org_id

    @property
    def type(self) -> str:
        """The job's type."""
        return self._grant.type

    @property
    def run_id(self) -> str:
        """Names the job's run: the same for all its attempts, never that of another job."""
        return self._grant.run_id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return self._grant.attempt

    @property
    def max_attempts(self) -> int:
        """The last attempt that will be made."""
        return self._grant.max_attempts

    @property
    def enqueued_at(self) -> datetime:
        """When the job was enqueued, by the store's clock."""
        return to_datetime(self._grant.enqueued_at)

    @property
    def due_at(self) -> datetime:
        """When this attempt fell due, by the store's clock."""
        return to_datetime(self._grant.due_at)

    def __repr__(self) -> str:
        return (
            f"<JobContext {self.type} {self.id!r} org_id={self.org_id!r}"
            f" attempt={self.attempt}/{self.max_attempts}>"
        )


class Retry(Exception):
    """Raise it to fail this attempt and be tried again after `delay` instead of the usual wait.

    The attempt counts: after the last one the job is dead all the same. The text, or else the
    error it was raised from, is kept as the failure.
    """

    def __init__(self, delay: Seconds, reason: str = "the handler asked for a retry") -> None:
        super().__init__(reason)
        self.delay = to_duration(delay, "delay")


class GiveBack(Exception):
    """Raise it to hand the job back, due again after `delay`, without spending an attempt."""

    def __init__(self, delay: Seconds = 1.0) -> None:
        self.delay = to_duration(delay, "delay")
        super().__init__(f"the handler gave the job back for {self.delay / SECOND:g} s")


class DeadLetter(Exception):
    """Raise it to declare the job dead at once: trying again would be of no use."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
