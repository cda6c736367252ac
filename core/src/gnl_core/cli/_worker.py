"""``gnl worker``: run a worker named by an import path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from gnl_core.cli._run import StoreUrl
from gnl_core.cli._target import call_target, find_target, run_services
from gnl_core.errors import InvalidInput
from gnl_core.queue import Worker
from gnl_core.storage import Storage


def worker_command(
    *,
    store: StoreUrl,
    target: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:NAME",
            help="A mapping of job type to handler, or a function of the storage that gives a"
            " Worker.",
        ),
    ],
    concurrency: Annotated[int | None, typer.Option(help="Handlers at once [10].")] = None,
    ttl: Annotated[float | None, typer.Option(help="Seconds of a lease [30].")] = None,
    max_attempts: Annotated[int | None, typer.Option(help="Attempts of a job [5].")] = None,
    grace: Annotated[
        float | None, typer.Option(help="Seconds that handlers have to finish [10].")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Shown as the holder of jobs.")] = None,
) -> None:
    """Run a worker until SIGTERM or SIGINT; a second signal stops it at once.

    The options are for a mapping of handlers; a function sets them on its own Worker.
    """
    given = {
        "concurrency": concurrency,
        "ttl": ttl,
        "max_attempts": max_attempts,
        "grace": grace,
        "name": name,
    }
    options = {key: value for key, value in given.items() if value is not None}

    async def make(storage: Storage) -> list[Worker]:
        return [await _make(find_target(target), storage, target, options)]

    run_services(store, make)


async def _make(
    found: object, storage: Storage, target: str, options: Mapping[str, object]
) -> Worker:
    if isinstance(found, Mapping):
        return Worker(storage, found, **options)  # type: ignore[arg-type]  # checked by Worker
    if not callable(found):
        raise InvalidInput(
            f"{target!r} is a {type(found).__name__}; name a mapping of job type to handler,"
            " or a function of the storage that gives a Worker"
        )
    if options:
        names = ", ".join(f"--{key.replace('_', '-')}" for key in options)
        raise InvalidInput(f"{target!r} makes its own Worker; set {names} there")
    worker = await call_target(found, storage)
    if not isinstance(worker, Worker):
        raise InvalidInput(f"{target!r} gave a {type(worker).__name__}, not a Worker")
    return worker
