"""Adding jobs in a caller's own transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aiosqlite

from gnl_core.spi import StoreRejected
from gnl_store_sql import Rows, Step, Steps, run_on_sqlalchemy, sqlalchemy_connection
from gnl_store_sqlite._clock import Tick
from gnl_store_sqlite._errors import DRIVER_ERRORS, store_error

_T = TypeVar("_T")

_FILE: Final = Step("SELECT file FROM pragma_database_list WHERE name = 'main'", ())
# A failure takes back this call's part, so that the caller may still commit the rest.
_BEGIN_PART: Final = Step("SAVEPOINT gnl_add", ())
_KEEP_PART: Final = Step("RELEASE gnl_add", ())
_DROP_PART: Final = (Step("ROLLBACK TO gnl_add", ()), _KEEP_PART)


async def add_within(
    connection: object,
    path: Path,
    lock: Callable[[], Steps[Tick]],
    operation: Callable[[Tick], Steps[_T]],
) -> _T:
    """Run `operation` in the transaction of `connection`, which must be on the file `path`.

    Nothing is committed. A connection that begins by itself (the default of the driver and of
    SQLAlchemy) may be given before its first statement; one in autocommit mode is refused.
    """
    try:
        caller = await _recognise(connection)
        await caller.check_file(path)
        tick = await caller.run(lock())
        caller.check_transaction()
        return await caller.run_part(operation(tick))
    except DRIVER_ERRORS as error:
        raise store_error(error) from error
    except ValueError as error:  # aiosqlite's word for a closed connection
        raise StoreRejected(f"the connection cannot be used: {error}") from error


class _Caller:
    """A caller's connection: how to run steps there, and the driver's connection beneath."""

    def __init__(
        self, driver: aiosqlite.Connection, run: Callable[[Steps[Any]], Awaitable[Any]]
    ) -> None:
        self._driver = driver
        self._run = run

    async def run(self, steps: Steps[_T]) -> _T:
        answer: _T = await self._run(steps)
        return answer

    async def run_part(self, steps: Steps[_T]) -> _T:
        """All of `steps`, or nothing of them."""
        await self.run(_each(_BEGIN_PART))
        try:
            answer = await self.run(steps)
        except BaseException:
            # After some failures (a full disk) SQLite has dropped the whole transaction.
            if self._driver.in_transaction:
                await self.run(_each(*_DROP_PART))
            raise
        await self.run(_each(_KEEP_PART))
        return answer

    async def check_file(self, path: Path) -> None:
        """Refuse another database: the jobs would be where no worker of this store looks."""
        rows = await self.run(_rows(_FILE))
        file = Path(rows[0][0]) if rows and rows[0][0] else None
        if file is None or not file.exists() or not file.samefile(path):
            raise StoreRejected(
                f"the connection is on the database {str(file or 'in memory')!r}, "
                f"this store on {str(path)!r}: connect to the same file"
            )

    def check_transaction(self) -> None:
        """Refuse autocommit, after a statement that would have begun a transaction."""
        if not self._driver.in_transaction:
            raise StoreRejected(
                "the connection is in autocommit mode and has no open transaction: "
                "begin one with BEGIN IMMEDIATE"
            )


async def _recognise(connection: object) -> _Caller:
    if isinstance(connection, aiosqlite.Connection):
        return _Caller(connection, partial(_run_on_aiosqlite, connection))
    over = await sqlalchemy_connection(connection)
    if over is not None:
        driver = (await over.get_raw_connection()).driver_connection
        if isinstance(driver, aiosqlite.Connection):
            return _Caller(driver, partial(run_on_sqlalchemy, over))
        connection = driver
    raise StoreRejected(
        f"a SQLite store cannot use a connection of type {_type_name(connection)}; it takes an "
        "aiosqlite.Connection, or a SQLAlchemy AsyncConnection or AsyncSession of a "
        "sqlite+aiosqlite engine"
    )


def _type_name(connection: object) -> str:
    cls = type(connection)
    return f"{cls.__module__}.{cls.__qualname__}"


async def _run_on_aiosqlite(connection: aiosqlite.Connection, steps: Steps[_T]) -> _T:
    try:
        step = next(steps)
        while True:
            step = steps.send(await _execute(connection, step))
    except StopIteration as end:
        answer: _T = end.value
        return answer


async def _execute(connection: aiosqlite.Connection, step: Step) -> Rows:
    values: Any = step.values
    if step.many:
        async with connection.executemany(step.sql, values):
            return ()
    async with connection.execute(step.sql, values) as cursor:
        # The caller may have chosen another form of rows.
        cursor.row_factory = None
        return list(await cursor.fetchall())


def _each(*steps: Step) -> Steps[None]:
    for step in steps:  # noqa: UP028 (a tuple's iterator cannot be sent rows)
        yield step


def _rows(step: Step) -> Steps[Rows]:
    return (yield step)
