"""The SQLite store keeps every rule, also while processes on its file are killed."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from gnl_conformance import Capability, Part, StoreConformance
from gnl_store_sqlite import SqliteStore, open_sqlite


def file_of(space: str) -> Path:
    return Path(tempfile.gettempdir()) / f"{space}.db"


class Transaction:
    def __init__(self, connection: aiosqlite.Connection) -> None:
        self.connection = connection

    async def commit(self) -> None:
        await self.connection.commit()

    async def rollback(self) -> None:
        await self.connection.rollback()


class TestSqlite(StoreConformance):
    capabilities = frozenset(
        {Capability.MULTI_PROCESS, Capability.TRANSACTIONS, Capability.WAKE_UPS}
    )
    parts = frozenset(Part)
    one_writer = True

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[SqliteStore]:
        store = await open_sqlite(f"sqlite:///{file_of(space)}")
        yield store
        await store.close()

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncIterator[Transaction]:
        async with aiosqlite.connect(file_of(space)) as connection:
            yield Transaction(connection)

    async def drop(self, space: str) -> None:
        for file in file_of(space).parent.glob(f"{space}.db*"):
            file.unlink(missing_ok=True)
