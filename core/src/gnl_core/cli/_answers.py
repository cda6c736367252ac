"""What `gnl jobs` and `gnl events` are alike in: pages of a listing, and one answer for each id."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TypeVar

import typer

from gnl_core._pages import Page
from gnl_core.cli._print import print_json, printable
from gnl_core.cli._run import ExitCode, on_storage
from gnl_core.spi import Store
from gnl_core.storage import Storage

_T = TypeVar("_T")


def print_page(
    page: Page[_T],
    print_items: Callable[[Sequence[_T]], None],
    as_json: Callable[[_T], object] | None,
) -> None:
    """A page as a table, or by `as_json`; the cursor for the next one goes to stderr."""
    if as_json is not None:
        items = [as_json(item) for item in page.items]
        print_json({"items": items, "next_cursor": page.next_cursor})
        return
    print_items(page.items)
    if page.next_cursor is not None:
        typer.echo(f"more with: --cursor={page.next_cursor}", err=True)


def for_each(
    store: str,
    ids: Sequence[str],
    org: str | None,
    as_json: bool,
    act: Callable[[Store, str], Awaitable[StrEnum]],
) -> None:
    """Act on each id once and print the answers; exits with NOT_DONE unless all are true."""

    async def act_on_all(storage: Storage) -> dict[str, StrEnum]:
        return {id_: await act(storage.work, id_) for id_ in dict.fromkeys(ids)}

    answers = on_storage(store, act_on_all)
    if as_json:
        print_json([{"id": id_, "org_id": org, "answer": str(a)} for id_, a in answers.items()])
    else:
        for id_, answer in answers.items():
            typer.echo(f"{printable(id_)}: {answer}")
    if not all(answers.values()):
        raise typer.Exit(ExitCode.NOT_DONE)
