"""``gnl consumer``: run consumers named by an import path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from gnl_core.cli._run import StoreUrl
from gnl_core.cli._target import call_target, find_target, run_services
from gnl_core.errors import InvalidInput
from gnl_core.events import Consumer
from gnl_core.storage import Storage


def consumer_command(
    *,
    store: StoreUrl,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="A function of the storage that gives a Consumer, or a list of them.",
        ),
    ],
) -> None:
    """Run consumers until SIGTERM or SIGINT; a second signal stops them at once."""

    async def make(storage: Storage) -> list[Consumer]:
        return await _make(find_target(target), storage, target)

    run_services(store, make)


async def _make(found: object, storage: Storage, target: str) -> list[Consumer]:
    if not callable(found):
        raise InvalidInput(
            f"{target!r} is a {type(found).__name__}; name a function of the storage that gives"
            " a Consumer"
        )
    made = await call_target(found, storage)
    several = made if isinstance(made, Sequence) and not isinstance(made, str) else [made]
    for one in several:
        if not isinstance(one, Consumer):
            raise InvalidInput(f"{target!r} gave a {type(one).__name__}, not a Consumer")
    if not several:
        raise InvalidInput(f"{target!r} gave no Consumer at all")
    return list(several)
