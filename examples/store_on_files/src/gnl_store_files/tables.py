"""Every job in memory, with the orders that decisions need, and the changes to be written.

A decision reads, and calls `put`, `drop` and `stamp`; nothing else changes the tables. What it
changed is one line of the log, which `replay` takes in again, here or in any other process.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeAlias, TypeVar, cast

from gnl_core.spi import Instant, JobState
from gnl_store_files.lines import Json
from gnl_store_files.rows import Job, from_json, to_json

Pair: TypeAlias = tuple[str | None, str]
"""A lane and a job type: what has a turn."""

Entry = TypeVar("Entry", int, tuple[int, int])


class Tables:
    """The data of one space, as of the last line read."""

    def __init__(self) -> None:
        self.at: Instant = 0
        self.last_seq = 0
        self.last_stamp = 0
        self.jobs: dict[int, Job] = {}
        self.ids: dict[Pair, int] = {}
        self.lanes: dict[str | None, list[int]] = {}
        self.live: Counter[str | None] = Counter()
        self.ready: dict[Pair, list[int]] = {}
        self.turns: dict[Pair, int] = {}
        self.delayed: defaultdict[str, list[tuple[Instant, int]]] = defaultdict(list)
        self.leases: list[tuple[Instant, int]] = []
        self.finished: defaultdict[JobState, list[tuple[Instant, int]]] = defaultdict(list)
        self._touched: dict[int, bool] = {}
        self._stamped: set[Pair] = set()

    def find(self, org_id: str | None, id: str) -> Job | None:
        """The job of this name, at the cost of one look."""
        seq = self.ids.get((org_id, id))
        return None if seq is None else self.jobs[seq]

    def next_seq(self) -> int:
        """A number for a new job. Never given twice, also when its job is pruned."""
        self.last_seq += 1
        return self.last_seq

    def put(self, job: Job) -> None:
        """Write a row, new or changed. A pair that had no ready job and gets one is stamped."""
        self._touched.setdefault(job.seq, job.seq not in self.jobs)
        self._replace(job)
        pair = (job.org_id, job.type)
        if job.ready and pair not in self.turns:
            self.stamp([pair])

    def drop(self, job: Job) -> None:
        """Delete a row."""
        self._touched[job.seq] = False
        self._forget(job)

    def stamp(self, pairs: Iterable[Pair]) -> None:
        """Give all these pairs the next turn, one and the same."""
        self.last_stamp += 1
        for pair in pairs:
            self.turns[pair] = self.last_stamp
            self._stamped.add(pair)

    def changes(self, now: Instant) -> dict[str, Json] | None:
        """What was changed since the last call, as one line of the log; None if nothing was."""
        if not self._touched and not self._stamped:
            return None
        rows = [self.jobs[seq] for seq in self._touched if seq in self.jobs]
        pairs = self._stamped | {(job.org_id, job.type) for job in rows}
        line = self._line(now, self._touched, pairs)
        self._touched, self._stamped = {}, set()
        self.at = now
        return line

    def everything(self) -> dict[str, Json]:
        """All the tables as one line."""
        return self._line(self.at, dict.fromkeys(self.jobs, True), self.turns)

    def _line(self, at: Instant, rows: dict[int, bool], pairs: Iterable[Pair]) -> dict[str, Json]:
        jobs: list[Json] = [
            [seq, to_json(self.jobs[seq], whole=whole) if seq in self.jobs else None]
            for seq, whole in rows.items()
        ]
        turns: list[Json] = [[*p, self.turns[p]] for p in pairs if p in self.turns]
        return {"at": at, "seq": self.last_seq, "jobs": jobs, "turns": turns}

    def replay(self, line: dict[str, Json]) -> None:
        """Take in a line that another handle, or an earlier process, has written."""
        self.at = cast("int", line["at"])
        self.last_seq = cast("int", line["seq"])
        for seq, fields in cast("list[tuple[int, dict[str, Json] | None]]", line["jobs"]):
            before = self.jobs.get(seq)
            if fields is not None:
                self._replace(from_json(seq, fields, before))
            elif before is not None:
                self._forget(before)
        for org_id, type_, stamp in cast("list[tuple[str | None, str, int]]", line["turns"]):
            self.turns[org_id, type_] = stamp
            self.last_stamp = max(self.last_stamp, stamp)

    def _replace(self, job: Job) -> None:
        before = self.jobs.get(job.seq)
        if before is None:
            self.ids[job.org_id, job.id] = job.seq
            insort(self.lanes.setdefault(job.org_id, []), job.seq)
        else:
            self._unplace(before)
        self.jobs[job.seq] = job
        self._place(job)

    def _forget(self, job: Job) -> None:
        self._unplace(job)
        del self.jobs[job.seq]
        del self.ids[job.org_id, job.id]
        _take_out(self.lanes, job.org_id, job.seq)

    def _place(self, job: Job) -> None:
        self.live[job.org_id] += job.state.live
        if job.ready:
            insort(self.ready.setdefault((job.org_id, job.type), []), job.seq)
        elif job.state is JobState.WAITING:
            insort(self.delayed[job.type], (job.due_at, job.seq))
        elif job.expires_at is not None:
            insort(self.leases, (job.expires_at, job.seq))
        elif job.finished_at is not None:
            insort(self.finished[job.state], (job.finished_at, job.seq))

    def _unplace(self, job: Job) -> None:
        self.live[job.org_id] -= job.state.live
        if job.ready:
            pair = (job.org_id, job.type)
            _take_out(self.ready, pair, job.seq)
            if pair not in self.ready:
                self.turns.pop(pair, None)
        elif job.state is JobState.WAITING:
            _remove(self.delayed[job.type], (job.due_at, job.seq))
        elif job.expires_at is not None:
            _remove(self.leases, (job.expires_at, job.seq))
        elif job.finished_at is not None:
            _remove(self.finished[job.state], (job.finished_at, job.seq))


Key = TypeVar("Key")


def _remove(entries: list[Entry], entry: Entry) -> None:
    del entries[bisect_left(entries, entry)]


def _take_out(lists: dict[Key, list[int]], key: Key, seq: int) -> None:
    """Remove a number from one of these lists, and the list if it was the last."""
    _remove(lists[key], seq)
    if not lists[key]:
        del lists[key]
