"""Changes that are the same on every SQL store: cancel, revive, prune.

Each is to be run in one transaction. Every write is conditional, so that it also holds where
other transactions run beside it: a job that moved meanwhile is looked for again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NoReturn, Protocol

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, true, tuple_, update

from gnl_core.spi import Duration, Instant, JobState, StoreUnavailable
from gnl_store_sql.reads import record_columns, record_source
from gnl_store_sql.records import org_text
from gnl_store_sql.statements import Rows, SqlDialect, Steps
from gnl_store_sql.tables import Tables

_LAST_SEQ: Final = 2**63 - 1
_LOOKS: Final = 100


class Upkeep(Protocol):
    """What a store does of its own around these changes, in the same transaction."""

    def now(self) -> Steps[Instant]:
        """The store's clock."""
        ...

    def became_ready(self, org: str, type: str, seq: int) -> Steps[None]:
        """The job was put into gnl_ready: see to the turn of its pair."""
        ...

    def left_ready(self, org: str, type: str) -> Steps[None]:
        """A job of the pair left gnl_ready without a grant: its turn may have to go."""
        ...


class Changes:
    """Cancel, revive and prune, compiled for one dialect."""

    def __init__(self, tables: Tables, dialect: SqlDialect, upkeep: Upkeep) -> None:
        self._upkeep = upkeep
        self._pack = dialect.pack
        self._prepare_search(tables, dialect)
        self._prepare_moves(tables, dialect)
        self._prepare_pruning(tables, dialect)

    def _prepare_search(self, tables: Tables, dialect: SqlDialect) -> None:
        jobs = tables.jobs.c
        state = next(column for column in record_columns(tables) if column.name == "state")
        self._find = dialect.compile(
            select(jobs.seq, jobs.type, state)
            .select_from(record_source(tables))
            .where(jobs.org == bindparam("org"), jobs.id == bindparam("id"))
        )

    def _prepare_moves(self, tables: Tables, dialect: SqlDialect) -> None:
        ready, delayed, held, finished = (
            tables.ready,
            tables.delayed,
            tables.held,
            tables.finished,
        )
        seq: ColumnElement[Any] = bindparam("seq")
        pair = (ready.c.org == bindparam("org"), ready.c.type == bindparam("type"))
        self._leave_ready = dialect.compile(
            delete(ready)
            .where(*pair, ready.c.seq == seq)
            .returning(ready.c.attempts, ready.c.error)
        )
        self._leave_delayed = dialect.compile(
            delete(delayed)
            .where(delayed.c.seq == seq)
            .returning(delayed.c.attempts, delayed.c.error)
        )
        self._mark_held = dialect.compile(
            update(held).where(held.c.seq == seq).values(canceled=true()).returning(held.c.seq)
        )
        self._finish = dialect.compile(
            insert(finished).values({c.name: bindparam(c.name) for c in finished.c})
        )
        self._leave_dead = dialect.compile(
            delete(finished)
            .where(finished.c.seq == seq, finished.c.state == bindparam("state"))
            .returning(finished.c.error)
        )
        self._enter_ready = dialect.compile(
            insert(ready).values({c.name: bindparam(c.name) for c in ready.c})
        )

    def _prepare_pruning(self, tables: Tables, dialect: SqlDialect) -> None:
        finished = tables.finished.c
        of_states = dialect.one_of(finished.state, "states")
        rank = tuple_(finished.finished_at, finished.seq)
        self._nth_latest = dialect.compile(
            select(finished.finished_at, finished.seq)
            .where(of_states)
            .order_by(finished.finished_at.desc(), finished.seq.desc())
            .limit(1)
            .offset(bindparam("keep"))
        )
        self._oldest = dialect.compile(
            select(finished.seq)
            .where(of_states, rank <= tuple_(bindparam("at"), bindparam("seq")))
            .order_by(finished.finished_at, finished.seq)
            .limit(bindparam("count"))
        )
        self._forget = dialect.compile(
            delete(tables.finished)
            .where(dialect.one_of(finished.seq, "seqs"))
            .returning(finished.seq)
        )
        self._forget_rest = [
            dialect.compile(delete(table).where(dialect.one_of(table.c.seq, "seqs")))
            for table in (tables.failures, tables.jobs)
        ]

    def cancel(self, org_id: str | None, id: str) -> Steps[JobState | None]:
        """As `JobStore.cancel`."""
        org = org_text(org_id)
        for _ in range(_LOOKS):
            rows = yield self._find(org=org, id=id)
            if not rows:
                return None
            seq, type_, state = rows[0]
            found = JobState(state) if state else None
            if found is JobState.WAITING:
                if (yield from self._cancel_waiting(org, type_, seq)):
                    return found
            elif found is JobState.RUNNING:
                if (yield self._mark_held(seq=seq)):
                    return found
            elif found is not None:
                return found
        _never_still(id)

    def revive(self, org_id: str | None, id: str) -> Steps[JobState | None]:
        """As `JobStore.revive`."""
        org = org_text(org_id)
        for _ in range(_LOOKS):
            rows = yield self._find(org=org, id=id)
            if not rows:
                return None
            seq, type_, state = rows[0]
            if state and state != JobState.DEAD.value:
                return JobState(state)
            dead = yield self._leave_dead(seq=seq, state=JobState.DEAD.value)
            if dead:
                yield from self._make_ready(org, type_, seq, dead[0][0])
                return JobState.DEAD
        _never_still(id)

    def prune(
        self,
        states: Collection[JobState],
        older_than: Duration | None,
        keep: int | None,
        limit: int,
    ) -> Steps[int]:
        """As `JobStore.prune`; equally old jobs go by sequence number."""
        packed = self._pack([state.value for state in states])
        # Whatever goes comes before whatever stays, so that the later of both ends is the end.
        ends: list[tuple[int, int]] = []
        if older_than is not None:
            ends.append(((yield from self._upkeep.now()) - older_than, _LAST_SEQ))
        if keep is not None:
            latest = yield self._nth_latest(states=packed, keep=keep)
            ends += [(row[0], row[1]) for row in latest]
        if not ends:
            return 0
        at, seq = max(ends)
        oldest = yield self._oldest(states=packed, at=at, seq=seq, count=limit)
        return (yield from self._delete(oldest)) if oldest else 0

    def _delete(self, rows: Rows) -> Steps[int]:
        gone = yield self._forget(seqs=self._pack([row[0] for row in rows]))
        seqs = self._pack([row[0] for row in gone])
        for statement in self._forget_rest:
            yield statement(seqs=seqs)
        return len(gone)

    def _cancel_waiting(self, org: str, type_: str, seq: int) -> Steps[bool]:
        rows = yield self._leave_ready(org=org, type=type_, seq=seq)
        if rows:
            yield from self._upkeep.left_ready(org, type_)
        else:
            rows = yield self._leave_delayed(seq=seq)
        if not rows:
            return False
        attempts, error = rows[0]
        now = yield from self._upkeep.now()
        yield self._finish(
            seq=seq,
            org=org,
            state=JobState.CANCELED.value,
            result=None,
            error=error,
            attempts=attempts,
            finished_at=now,
        )
        return True

    def _make_ready(self, org: str, type_: str, seq: int, error: str | None) -> Steps[None]:
        now = yield from self._upkeep.now()
        yield self._enter_ready(
            org=org, type=type_, seq=seq, attempts=0, due_at=now, reclaimed=False, error=error
        )
        yield from self._upkeep.became_ready(org, type_, seq)


def _never_still(id: str) -> NoReturn:
    raise StoreUnavailable(f"job {id!r} changed its state {_LOOKS} times meanwhile: try again")
