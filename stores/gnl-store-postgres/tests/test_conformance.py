"""The PostgreSQL store keeps every rule, also while its clients and its server are killed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from asyncpg.transaction import Transaction as DriverTransaction

from gnl_conformance import Capability, Part, StoreConformance
from gnl_conformance.servers import address_of, at_address, postgres
from gnl_store_postgres import PostgresStore, open_postgres


class Transaction:
    def __init__(self, connection: asyncpg.Connection, transaction: DriverTransaction) -> None:
        self.connection = connection
        self._transaction = transaction

    async def commit(self) -> None:
        await self._transaction.commit()

    async def rollback(self) -> None:
        await self._transaction.rollback()


class TestPostgres(StoreConformance):
    capabilities = frozenset(Capability)
    parts = frozenset(Part)

    def server(self) -> tuple[str, int] | None:
        return address_of(postgres().url, 5432)

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[PostgresStore]:
        url = postgres().url
        if self.server() is not None:
            url = at_address(url, self.address)
        store = await open_postgres(f"{url}?schema={space}")
        yield store
        await store.close()

    @asynccontextmanager
    async def transaction(self, space: str) -> AsyncIterator[Transaction]:
        connection = await asyncpg.connect(postgres().url)
        transaction = connection.transaction()
        await transaction.start()
        try:
            yield Transaction(connection, transaction)
        finally:
            await connection.close()

    async def drop(self, space: str) -> None:
        connection = await asyncpg.connect(postgres().url)
        await connection.execute(f'drop schema if exists "{space}" cascade')
        await connection.close()

    async def restart_server(self) -> None:
        if postgres().owned:
            await asyncio.to_thread(postgres().restart)
