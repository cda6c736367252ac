"""What every command does: run on an event loop, and end with one line and an exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from enum import IntEnum
from typing import Annotated, Any, NoReturn, TypeAlias, TypeVar

import typer

from gnl_core.errors import GnlError, InvalidInput, SchemaMismatch, StoreError, StoreNotFound
from gnl_core.storage import Storage, open_storage

_T = TypeVar("_T")


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    NOT_DONE = 1
    USAGE = 2
    STORE = 3
    SCHEMA = 4


StoreUrl: TypeAlias = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="GNL_STORE",
        metavar="URL",
        help="The store, as in sqlite:///work.db or postgresql://user@host/database.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Org: TypeAlias = Annotated[
    str | None,
    typer.Option("--org", metavar="ORG", help="The organization; without it, jobs of none."),
]

_CODES: tuple[tuple[type[GnlError], ExitCode], ...] = (
    (InvalidInput, ExitCode.USAGE),
    (StoreNotFound, ExitCode.USAGE),
    (StoreError, ExitCode.STORE),
    (SchemaMismatch, ExitCode.SCHEMA),
)


def on_storage(url: str, action: Callable[[Storage], Awaitable[_T]]) -> _T:
    """Open the storage at `url`, run `action` on it, and close it."""

    async def run() -> _T:
        async with open_storage(url) as storage:
            return await action(storage)

    return finish(run())


def finish(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run `coroutine`; an error of ours becomes one line on stderr and an exit code."""
    try:
        return asyncio.run(coroutine)
    except GnlError as error:
        fail(str(error), next((code for kind, code in _CODES if isinstance(error, kind)), None))


def fail(message: str, code: ExitCode | None = None) -> NoReturn:
    """Say `message` on stderr, in one line, and exit with `code`."""
    typer.echo(f"gnl: {' '.join(message.split())}", err=True)
    raise typer.Exit(ExitCode.NOT_DONE if code is None else code)
