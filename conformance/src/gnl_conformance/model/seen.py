"""What of an answer can be compared: a store's own numbers are taken out, and linked instead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from gnl_conformance.model.difference import Difference
from gnl_core.spi import Claimed, Extension, Failure, Grant, JobPage, JobRecord, JobState

Key: TypeAlias = tuple[str | None, str]
"""Organization and id of a job."""


@dataclass
class Links:
    """Which number of the store belongs to which number of the reference."""

    seqs: dict[int, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    tokens: dict[int, int] = field(default_factory=dict)

    def job(self, ours: Grant | JobRecord, reference: Grant | JobRecord) -> None:
        """Two views of one job: its number stays, follows call order, and so does its run."""
        known = self.seqs.setdefault(reference.seq, ours.seq)
        if known != ours.seq:
            sentence = f"{_key(ours)} had sequence number {known} and now has {ours.seq}"
            raise Difference("enqueue.once", sentence)
        for theirs, mine in self.seqs.items():
            if (theirs < reference.seq) != (mine < ours.seq) and theirs != reference.seq:
                raise Difference(
                    "enqueue.order", f"sequence numbers {mine} and {ours.seq} are not in call order"
                )
        if self.runs.setdefault(ours.run_id, ours.seq) != ours.seq:
            raise Difference("attempt.run", f"two jobs have the run id {ours.run_id!r}")
        if sum(seq == ours.seq for seq in self.runs.values()) > 1:
            raise Difference("attempt.run", f"{_key(ours)} has a second run id, {ours.run_id!r}")

    def token(self, grant: Grant) -> None:
        """Tokens grow from grant to grant of a job."""
        before = self.tokens.get(grant.seq)
        if before is not None and grant.token <= before:
            sentence = f"{_key(grant)} got token {grant.token} after {before}"
            raise Difference("lease.token", sentence)
        self.tokens[grant.seq] = grant.token


@dataclass(frozen=True)
class View:
    """Takes out of answers what cannot be compared; without `instants`, instants as well."""

    instants: bool

    def grants(self, claimed: Claimed) -> list[Grant]:
        """Grants without numbers; where instants do not count, a lease is seen as its length."""
        return [self._grant(grant) for grant in claimed.grants]

    def due_in(self, claimed: Claimed) -> int | bool | None:
        """When the next job is due; where instants do not count, whether that lies ahead."""
        due_in = claimed.next_due_in
        return due_in if self.instants or due_in is None else due_in > 0

    def extension(self, answer: Extension) -> Extension:
        """An answer to extend."""
        return replace(answer, expires_at=self._at(answer.expires_at))

    def record(self, record: JobRecord, *, listed: bool = False) -> JobRecord:
        """A record with what is meant for its state; a listing shows no failures."""
        waiting, running = record.state is JobState.WAITING, record.state is JobState.RUNNING
        failures = () if listed else tuple(self._failure(one) for one in record.failures)
        return replace(
            record,
            seq=0,
            run_id="",
            enqueued_at=self._at(record.enqueued_at) or 0,
            due_at=self._at(record.due_at) if waiting else None,
            worker=record.worker if running else None,
            expires_at=self._at(record.expires_at) if running else None,
            result=record.result if record.state is JobState.DONE else None,
            finished_at=self._at(record.finished_at),
            failures=failures,
        )

    def page(self, page: JobPage) -> list[JobRecord]:
        """The records of a page."""
        return [self.record(one, listed=True) for one in page.items]

    def _grant(self, grant: Grant) -> Grant:
        bare = replace(grant, seq=0, token=0, run_id="")
        if self.instants:
            return bare
        lasts = grant.expires_at - grant.granted_at
        return replace(bare, enqueued_at=0, due_at=0, granted_at=0, expires_at=lasts)

    def _failure(self, one: Failure) -> Failure:
        return replace(one, failed_at=self._at(one.failed_at) or 0)

    def _at(self, instant: int | None) -> int | None:
        return instant if self.instants or instant is None else 0


def _key(one: Grant | JobRecord) -> Key:
    return one.org_id, one.id
