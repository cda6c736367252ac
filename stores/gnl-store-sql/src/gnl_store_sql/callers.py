"""Operations on a caller's own SQLAlchemy connection or session."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session

from gnl_store_sql.statements import Rows, Step, Steps

_T = TypeVar("_T")


async def sqlalchemy_connection(connection: object) -> AsyncConnection | None:
    """The SQLAlchemy connection behind what a caller gave; None if it is not SQLAlchemy's.

    A transaction is open on it afterwards: theirs, or the one that SQLAlchemy begins by itself
    at the first statement.
    """
    if isinstance(connection, (AsyncSession, async_scoped_session)):
        connection = await connection.connection()
    if not isinstance(connection, AsyncConnection):
        return None
    if not connection.in_transaction():
        await connection.begin()
    return connection


async def run_on_sqlalchemy(connection: AsyncConnection, steps: Steps[_T]) -> _T:
    """Run an operation there; SQLAlchemy's errors pass through."""
    try:
        step = next(steps)
        while True:
            step = steps.send(await _run(connection, step))
    except StopIteration as end:
        answer: _T = end.value
        return answer


async def _run(connection: AsyncConnection, step: Step) -> Rows:
    values: Any = step.values
    if step.many and not values:
        return ()
    result = await connection.exec_driver_sql(step.sql, values)
    return result.fetchall() if result.returns_rows else ()
