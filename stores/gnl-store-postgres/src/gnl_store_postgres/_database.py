"""Statements and transactions of the store's own, with their errors told apart."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeVar, cast
from weakref import WeakSet

from gnl_core.spi import StoreError
from gnl_store_postgres._connections import Connection, Connections
from gnl_store_postgres._errors import Fate, fate_of, store_error
from gnl_store_postgres._url import Options
from gnl_store_sql import Rows, Step, Steps

_T = TypeVar("_T")
_ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 0.005

BEGIN: Final = "begin"
_BY_INDEX: Final = (
    "set local jit = off; set local enable_seqscan = off;"
    "set local enable_hashjoin = off; set local enable_mergejoin = off"
)
READ: Final = f"begin isolation level repeatable read read only; {_BY_INDEX}"
"""One snapshot for several reads. They are all of few rows, whatever old statistics say."""
CHANGE: Final = f"begin; {_BY_INDEX}"
"""For changes of few rows."""


class Database:
    """Runs statements on connections of its own.

    `statements` counts those sent. Errors arrive as `StoreUnavailable` and `StoreRejected`.
    """

    def __init__(self, options: Options, size: int) -> None:
        self._connections = Connections(options, size)
        self._pooled = options.pooled
        self._patience = 2 * options.command_timeout
        self._canceled: WeakSet[Connection] = WeakSet()
        self.statements = 0

    async def fetch(self, sql: str, *values: object) -> Rows:
        """Run one statement in a transaction of its own."""
        if self._pooled:
            # Preparing and running are two messages: a transaction keeps them together.
            return await self.run(lambda: _one_step(sql, values))

        async def call(connection: Connection) -> Rows:
            self.statements += 1
            # A record is a sequence of its values, though it is not declared as one.
            return cast("Rows", await connection.fetch(sql, *values))

        return await self._retried(call)

    async def run(
        self,
        operation: Callable[[], Steps[_T]],
        *,
        begin: str = BEGIN,
        timeout: float | None = None,
    ) -> _T:
        """Run the steps of an operation in one transaction."""

        async def call(connection: Connection) -> _T:
            async with asyncio.timeout(timeout or self._patience):
                return await self._transact(connection, begin, operation(), timeout)

        return await self._retried(call)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def _transact(
        self, connection: Connection, begin: str, steps: Steps[_T], timeout: float | None = None
    ) -> _T:
        self.statements += 2
        await connection.execute(begin)
        try:
            answer = await self._walk(connection, steps, timeout)
        except Exception:
            if not connection.is_closed() and connection.is_in_transaction():
                await connection.execute("rollback")
            raise
        await connection.execute("commit")
        return answer

    async def _walk(self, connection: Connection, steps: Steps[_T], timeout: float | None) -> _T:
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._step(connection, step, timeout))
        except StopIteration as end:
            answer: _T = end.value
            return answer

    async def _step(self, connection: Connection, step: Step, timeout: float | None) -> Rows:
        self.statements += 1
        if step.values or step.sql[:6].lower() == "select":
            rows = await connection.fetch(step.sql, *step.values, timeout=timeout)
            return cast("Rows", rows)
        # Anything else without values may be a script of several statements.
        await connection.execute(step.sql, timeout=timeout)
        return ()

    async def _retried(self, call: Callable[[Connection], Awaitable[_T]]) -> _T:
        pause = _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return await self._once(call)
            except StoreError:
                raise
            except Exception as error:
                if fate_of(error) is not Fate.RETRY or attempt == _ATTEMPTS:
                    raise_as_store_error(error)
            await asyncio.sleep(pause * random.random())  # noqa: S311 - jitter, no secret
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _once(self, call: Callable[[Connection], Awaitable[_T]]) -> _T:
        connection = await self._connections.take()
        try:
            if connection not in self._canceled:
                return await call(connection)
            # The driver's own limit does not cover waiting for a canceled statement.
            async with asyncio.timeout(self._patience):
                answer = await call(connection)
            self._canceled.discard(connection)
            return answer
        except TimeoutError:
            # Whatever it still waits for, the next call shall not wait for it as well.
            connection.terminate()
            raise
        except asyncio.CancelledError:
            self._canceled.add(connection)
            raise
        finally:
            self._connections.give_back(connection)


def raise_as_store_error(error: Exception) -> NoReturn:
    """Raise what a caller shall see of `error`."""
    translated = store_error(error)
    if translated is None:
        raise error
    raise translated from error


def _one_step(sql: str, values: tuple[object, ...]) -> Steps[Rows]:
    return (yield Step(sql, values))
