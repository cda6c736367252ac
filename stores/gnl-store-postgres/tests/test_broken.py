"""What only a real server shows: this store, broken in one way each, fails its rule in the kit."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar, Final

import asyncpg
import pytest
from asyncpg.transaction import Transaction as DriverTransaction

from gnl_conformance import Capability, StoreConformance, grade
from gnl_conformance._case import chosen
from gnl_core.spi import Claimed, Duration, Extension, Hold, Outcome, Settlement
from gnl_store_postgres._database import Database
from gnl_store_postgres._jobs import PostgresJobs
from gnl_store_postgres._scripts import script
from gnl_store_postgres._store import PostgresStore
from gnl_store_postgres._tables import postgres_dialect, postgres_tables
from gnl_store_postgres._url import read_url
from gnl_store_postgres._wakeups import Hints
from gnl_store_sql import Listing


class Transaction:
    def __init__(self, connection: asyncpg.Connection, transaction: DriverTransaction) -> None:
        self.connection = connection
        self.commit, self.rollback = transaction.commit, transaction.rollback


class Broken(StoreConformance):
    """The store with other functions in the database, or with another jobs part."""

    capabilities = frozenset(Capability)
    url: ClassVar[str]
    jobs: ClassVar[type[PostgresJobs]] = PostgresJobs
    sql: ClassVar[str] = ""

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[PostgresStore]:
        url = f"{self.url}{'&' if '?' in self.url else '?'}schema={space}"
        store = PostgresStore(read_url(url))
        try:
            await store.upgrade()
            store._jobs = self.jobs(
                store._database, store._urgent, space, store._channel, store._hints
            )
            if self.sql:
                await self._execute(self.sql.replace("{schema}", space))
            yield store
        finally:
            await store.close()

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncIterator[Transaction]:
        connection = await asyncpg.connect(self.url)
        transaction = connection.transaction()
        await transaction.start()
        try:
            yield Transaction(connection, transaction)
        finally:
            await connection.close()

    async def drop(self, space: str) -> None:
        await self._execute(f"drop schema if exists {space} cascade")

    async def _execute(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(sql)
        finally:
            await connection.close()


class _NumbersDecide(PostgresJobs):
    def __init__(
        self, database: Database, urgent: Database, schema: str, channel: str, hints: Hints
    ) -> None:
        super().__init__(database, urgent, schema, channel, hints)
        self._listing = Listing(postgres_tables(schema), postgres_dialect(), self._horizon)


class SequenceBeforeCommit(Broken):
    """Takes what has a smaller number for committed before."""

    jobs = _NumbersDecide


class _TellsTheTime(PostgresJobs):
    async def _tell(self) -> None:
        await self._database.fetch(f"update {self._name}.told set at = $1", time.time_ns() // 1_000)

    async def claim(
        self,
        types: Collection[str],
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int,
    ) -> Claimed:
        await self._tell()
        return await super().claim(types, limit, ttl, worker, max_attempts=max_attempts)

    async def extend(self, holds: Sequence[Hold], ttl: Duration) -> tuple[Extension, ...]:
        await self._tell()
        return await super().extend(holds, ttl)

    async def settle(self, outcomes: Sequence[Outcome]) -> tuple[Settlement, ...]:
        await self._tell()
        return await super().settle(outcomes)


class ClientsClock(Broken):
    """Goes by what time the client says it is."""

    jobs = _TellsTheTime
    sql = """
    create table if not exists {schema}.told (at bigint);
    insert into {schema}.told select 1 where not exists (select from {schema}.told);
    create or replace function {schema}.gnl_now() returns bigint language sql volatile as
    'select at from {schema}.told';
    """


_CLAIM: Final = script("claim", "{schema}")
_LOCKS: Final = "            for update skip locked\n        ) as r on true"
_INSERTS: Final = "            g.due_at, p_now + p_ttl, false, g.error\n        from granted as g\n"
_TAKES: Final = "on conflict (seq) do update set token = excluded.token\n"


class ReadsThenWrites(Broken):
    """Looks for jobs without locking them, and takes them whoever has taken them meanwhile."""

    sql = _CLAIM.replace(_LOCKS, ") as r on true").replace(_INSERTS, _INSERTS + _TAKES)


class SortsAsPeopleDo(Broken):
    """Lets the names of organizations go by a language's order."""

    sql = """
    do $$
    declare
        t text;
    begin
        for t in
            select attrelid::regclass from pg_attribute
            where attname = 'org' and attcollation = 'pg_catalog."C"'::regcollation
            and attrelid in (
                select oid from pg_class
                where relnamespace = '{schema}'::regnamespace and relkind = 'r'
            )
        loop
            execute format('alter table %s alter column org type text collate "und-x-icu"', t);
        end loop;
    end $$
    """


BROKEN: Final[list[tuple[type[Broken], str, str]]] = [
    (SequenceBeforeCommit, "list.snapshot", "jobs listed for"),
    (ClientsClock, "lease.clock", "by a client whose clock is wrong"),
    (ReadsThenWrites, "lease.exclusive", "granted more than once while leased"),
    (SortsAsPeopleDo, "list.all", "jobs listed"),
]


def messages(harness: type[Broken], rule: str) -> list[str]:
    grades = [grade(harness(), case) for case in chosen(["cases"], [rule])]
    assert "error" not in {one.outcome for one in grades}, [one.why for one in grades]
    return [one.why.split("\n")[0] for one in grades if one.outcome == "failed"]


@pytest.fixture(autouse=True)
def _on_the_server(server_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "url", server_url, raising=False)


@pytest.mark.parametrize(
    ("harness", "rule", "fragment"), BROKEN, ids=[harness.__name__ for harness, _, _ in BROKEN]
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
    wanted: list[Any] = [_LOCKS, _INSERTS]
    assert [text for text in wanted if _CLAIM.count(text) != 1] == []
