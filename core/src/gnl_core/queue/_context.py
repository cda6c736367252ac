"""What a job's handler is given beside the payload."""

from __future__ import annotations

from datetime import datetime

from gnl_core._durations import to_datetime
from gnl_core.runtime import Signal
from gnl_core.spi import Grant


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
