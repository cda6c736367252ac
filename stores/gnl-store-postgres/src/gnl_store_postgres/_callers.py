"""Statements on a caller's own connection, in the caller's own transaction."""

from __future__ import annotations

from typing import Final, NoReturn, Protocol

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from gnl_core.spi import StoreError, StoreRejected, StoreUnavailable
from gnl_store_postgres._connections import Connection
from gnl_store_postgres._database import raise_as_store_error
from gnl_store_postgres._errors import Fate, fate_of_state, store_error
from gnl_store_sql import Rows, sqlalchemy_connection

_KINDS: Final = (
    "an asyncpg.Connection (or one from its pool), or a SQLAlchemy AsyncConnection or "
    "AsyncSession of a postgresql+asyncpg engine"
)
_NO_TRANSACTION: Final = (
    "the connection is in no transaction, so there is nothing that the jobs could be committed "
    "with: begin one, or leave out `connection`"
)


class Caller(Protocol):
    """A caller's connection with an open transaction."""

    async def fetch(self, sql: str, *values: object) -> Rows:
        """Run one statement in the caller's transaction."""
        ...


async def recognise(connection: object) -> Caller:
    """The caller's connection; `StoreRejected` if it is of no known kind or in no transaction."""
    if isinstance(connection, (asyncpg.Connection, PoolConnectionProxy)):
        return _Driver(connection)
    over = await sqlalchemy_connection(connection)
    if over is not None:
        return await _Sqlalchemy.over(over)
    raise StoreRejected(f"a PostgreSQL store takes {_KINDS}, not {_type_name(connection)}")


class _Driver:
    def __init__(self, connection: Connection | PoolConnectionProxy[asyncpg.Record]) -> None:
        if not connection.is_in_transaction():
            raise StoreRejected(_NO_TRANSACTION)
        self._connection = connection

    async def fetch(self, sql: str, *values: object) -> Rows:
        try:
            return [tuple(row) for row in await self._connection.fetch(sql, *values)]
        except Exception as error:
            _raise(error)


class _Sqlalchemy:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @classmethod
    async def over(cls, connection: AsyncConnection) -> _Sqlalchemy:
        if (connection.dialect.name, connection.dialect.driver) != ("postgresql", "asyncpg"):
            raise StoreRejected(
                f"a PostgreSQL store takes {_KINDS}, not a connection of "
                f"{connection.dialect.name}+{connection.dialect.driver}"
            )
        caller = cls(connection)
        # SQLAlchemy begins the driver's transaction at the first statement, or (AUTOCOMMIT) never.
        await caller.fetch("select 1")
        raw = await connection.get_raw_connection()
        driver: Connection | None = raw.driver_connection
        if driver is None or not driver.is_in_transaction():
            raise StoreRejected(_NO_TRANSACTION)
        return caller

    async def fetch(self, sql: str, *values: object) -> Rows:
        try:
            result = await self._connection.exec_driver_sql(sql, values)
            return [tuple(row) for row in result.fetchall()]
        except Exception as error:
            _raise(error)


def _raise(error: Exception) -> NoReturn:
    """Raise what the caller shall see; nothing is tried again in a transaction of theirs."""
    state = getattr(error, "sqlstate", None)
    if isinstance(error, DBAPIError):
        state = getattr(error.orig, "sqlstate", None)
    if state is not None and fate_of_state(state) is Fate.RETRY:
        raise StoreUnavailable(
            f"the transaction collided with another one: roll it back and run it again ({error})"
        ) from error
    if isinstance(error, DBAPIError):
        raise _sqlalchemy_error(error, state) from error
    raise_as_store_error(error)


def _sqlalchemy_error(error: DBAPIError, state: str | None) -> StoreError | Exception:
    if state is None:
        cause = error.orig.__cause__ if error.orig is not None else None
        return (store_error(cause) if cause is not None else None) or error
    return store_error(error, state=state) or error


def _type_name(connection: object) -> str:
    cls = type(connection)
    return f"{cls.__module__}.{cls.__qualname__}"
