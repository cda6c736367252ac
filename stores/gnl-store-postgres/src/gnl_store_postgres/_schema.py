"""Creating the tables and functions, and bringing older ones up to date."""

from __future__ import annotations

import uuid
from typing import Final

from gnl_core.spi import SchemaVersion
from gnl_store_postgres._database import Database
from gnl_store_postgres._scripts import FUNCTIONS, quoted, script
from gnl_store_postgres._tables import WITHOUT_INDEXES, postgres_dialect, postgres_tables
from gnl_store_sql import VERSION, Schema, Step, Steps

_UPGRADE_LOCK: Final = 0x676E6C20
_UPGRADE_SECONDS: Final = 86_400.0
_FROM_1: Final = ("upgrade_1", "storage", "upgrade_1_numbers")


class PostgresSchema:
    """The version of the tables in one schema of a database."""

    def __init__(self, database: Database, schema: str) -> None:
        self._database = database
        self._name = quoted(schema)
        self._plain_name = schema
        functions = [script(name, self._name) for name in ("drop", *FUNCTIONS)]
        tables, engine = postgres_tables(schema), postgres_dialect().engine
        storage, of_events = script("storage", self._name), script("events_storage", self._name)
        self._shared = Schema(
            tables,
            postgres_dialect(),
            present=Step(
                "select 1 where to_regclass($1::text) is not null", (f"{self._name}.gnl_meta",)
            ),
            create=[
                *tables.create(engine, without=WITHOUT_INDEXES),
                storage,
                of_events,
                *functions,
            ],
            # Functions are those of now: they come with the last step.
            upgrades={
                1: [script(name, self._name) for name in _FROM_1],
                2: [*tables.create(engine, only=tables.of_events), of_events, *functions],
            },
        )

    async def version(self) -> SchemaVersion:
        """What is there and what is needed."""
        found = await self._database.run(self._shared.version)
        if found == VERSION:
            await self._database.fetch(f"select {self._name}.gnl_adopt_cluster()")
        return SchemaVersion(found, VERSION)

    async def upgrade(self) -> SchemaVersion:
        """Create or upgrade in one transaction, one process at a time."""
        found = await self._database.run(self._upgrade, timeout=_UPGRADE_SECONDS)
        return SchemaVersion(found, VERSION)

    def _upgrade(self) -> Steps[int]:
        # One by one: "create .. if not exists" alone fails when two processes run it at once.
        yield Step("select pg_advisory_xact_lock($1::bigint)", (_UPGRADE_LOCK,))
        present = yield Step(
            "select 1 from pg_namespace where nspname = $1::text", (self._plain_name,)
        )
        if not present:
            yield Step(f"create schema {self._name}", ())
        version = yield from self._shared.upgrade()
        if version == VERSION:
            yield Step(_name_store(self._name), (uuid.uuid4().hex,))
        return version


def _name_store(schema: str) -> str:
    into = f"insert into {schema}.gnl_meta (name, value) values ('id', $1::text)"  # noqa: S608
    return f"{into} on conflict (name) do nothing"
