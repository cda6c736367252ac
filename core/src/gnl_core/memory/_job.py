"""One job in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from gnl_core.memory._ready import Pair
from gnl_core.spi import Failure, Instant, JobRecord


@dataclass(slots=True)
class Job:
    """A job's record, and what only the store knows of it."""

    record: JobRecord
    failures: list[Failure] = field(default_factory=list)
    token: int = 0
    budget: int = 0
    ready: bool = False
    reclaimed: bool = False

    @property
    def pair(self) -> Pair:
        return self.record.org_id, self.record.type

    def finished_by(self, latest: Instant) -> bool:
        """True if it had finished at that instant."""
        return self.record.finished_at is not None and self.record.finished_at <= latest
