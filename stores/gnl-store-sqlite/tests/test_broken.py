"""What only a real file shows: this store, broken in one way each, fails its rule in the kit.

One writer at a time numbers and commits in one order: "sequence before commit" cannot be made.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar, Final

import pytest

from gnl_conformance import Capability, StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_core.spi import Claimed, Instant, JobPage, JobState, Scope
from gnl_store_sql import Listing, Row, Schema, Steps
from gnl_store_sqlite import _schema
from gnl_store_sqlite._claim import Terms, _grant
from gnl_store_sqlite._clock import Clock
from gnl_store_sqlite._database import Database
from gnl_store_sqlite._jobs import SqliteJobs
from gnl_store_sqlite._store import SqliteStore
from gnl_store_sqlite._thread import OperationThread
from gnl_store_sqlite._turns import next_in_turn
from gnl_store_sqlite._url import Location

ORDER, AFTER = "ORDER BY gnl_jobs.org", "org > ?"
CREATE: Final = [
    *_schema.TABLES.create(_schema.DIALECT.engine),
    _schema._CREATE_CLOCK,
    _schema._START_CLOCK,
]


class Broken(StoreConformance):
    """The store with another clock, other tables, or another jobs part."""

    capabilities = frozenset({Capability.MULTI_PROCESS, Capability.WAKE_UPS})
    clock: ClassVar[Callable[[], Instant] | None] = None
    jobs: ClassVar[type[SqliteJobs]] = SqliteJobs
    create: ClassVar[Sequence[str]] = CREATE

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[SqliteStore]:
        store = SqliteStore(Location(_file(space)), clock=type(self).clock)
        store._jobs = self.jobs(store._database, store._thread, store._clock, lambda: None)
        schema = Schema(
            _schema.TABLES,
            _schema.DIALECT,
            present=_schema._PRESENT,
            create=self.create,
            upgrades={},
        )
        store._database.create()
        await store._thread.run(lambda: store._database.write(schema.upgrade))
        try:
            yield store
        finally:
            await store.close()

    async def drop(self, space: str) -> None:
        for file in _file(space).parent.glob(f"{space}.db*"):
            file.unlink(missing_ok=True)


def _file(space: str) -> Path:
    return Path(tempfile.gettempdir()) / f"{space}.db"


def _clients_time() -> Instant:
    return time.time_ns() // 1_000


class ClientsClock(Broken):
    """Goes by the clock that the program sees, which somebody may have set."""

    clock = staticmethod(_clients_time)


class _TwoSteps(SqliteJobs):
    def _claim(self, terms: Terms) -> Claimed:
        rows = self._database.look(lambda: next_in_turn(terms.types, terms.limit))
        time.sleep(0.005)
        return self._database.write(lambda: _take(self._clock, terms, rows))


def _take(clock: Clock, terms: Terms, rows: Sequence[Row]) -> Steps[Claimed]:
    tick = yield from clock.read()
    grants = yield from _grant(tick, terms, rows)
    yield tick.save()
    return Claimed(grants, None)


class ReadsThenWrites(Broken):
    """Looks for jobs in one transaction and takes them in another, whoever has them by then."""

    jobs = _TwoSteps
    # A second holder overwrites the first.
    create = [  # noqa: RUF012 - a harness's settings are not changed
        sql.replace("PRIMARY KEY (seq)", "PRIMARY KEY (seq) ON CONFLICT REPLACE")
        if "TABLE gnl_held" in sql
        else sql
        for sql in CREATE
    ]


class _WithoutCase(Listing):
    def page(
        self, scope: Scope, position: str | None, limit: int, states: Collection[JobState]
    ) -> Steps[JobPage]:
        steps, rows = super().page(scope, position, limit, states), None
        while True:
            try:
                step = steps.send(rows)  # type: ignore[arg-type] # None begins a generator
            except StopIteration as end:
                return end.value
            sql = step.sql.replace(ORDER, f"{ORDER} COLLATE NOCASE")
            rows = yield step._replace(sql=sql.replace(AFTER, "org COLLATE NOCASE > ?"))


class _ListsWithoutCase(SqliteJobs):
    def __init__(
        self,
        database: Database,
        thread: OperationThread,
        clock: Clock,
        hint: Callable[[], None],
    ) -> None:
        super().__init__(database, thread, clock, hint)
        self._listing = _WithoutCase(_schema.TABLES, _schema.DIALECT, self._horizon)


class SortsWithoutCase(Broken):
    """Lets capitals of organizations count for nothing in a listing."""

    jobs = _ListsWithoutCase


BROKEN: Final[list[tuple[type[Broken], str, str]]] = [
    (ClientsClock, "lease.clock", "by a client whose clock is wrong"),
    (ReadsThenWrites, "lease.exclusive", "granted more than once while leased"),
    (SortsWithoutCase, "list.all", "jobs listed"),
]


def messages(harness: type[Broken], rule: str) -> list[str]:
    grades = [grade(harness(), case) for case in chosen(["cases"], [rule])]
    assert "error" not in {one.outcome for one in grades}, [one.why for one in grades]
    return [one.why.split("\n")[0] for one in grades if one.outcome == "failed"]


@pytest.mark.parametrize(
    ("harness", "rule", "fragment"), BROKEN, ids=[f"{h.__name__}-{rule}" for h, rule, _ in BROKEN]
)
def test_a_broken_store_fails_its_rule_by_its_message(
    harness: type[Broken], rule: str, fragment: str
) -> None:
    found = messages(harness, rule)
    assert any(fragment in message for message in found), found


@pytest.mark.parametrize("rule", sorted({rule for _, rule, _ in BROKEN}))
def test_the_store_itself_keeps_these_rules(rule: str) -> None:
    assert messages(Broken, rule) == []


def test_what_is_replaced_is_there_to_be_replaced() -> None:
    assert ReadsThenWrites.create != CREATE
