"""``gnl worker``: run a worker named by an import path."""

from __future__ import annotations

import importlib
import inspect
import logging
import os
import sys
from collections.abc import Mapping
from typing import Annotated

import typer

from gnl_core.cli._run import StoreUrl, on_storage
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
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    given = {
        "concurrency": concurrency,
        "ttl": ttl,
        "max_attempts": max_attempts,
        "grace": grace,
        "name": name,
    }
    options = {key: value for key, value in given.items() if value is not None}

    async def run(storage: Storage) -> None:
        async with await _make(_find(target), storage, target, options) as worker:
            await worker.run(signals=True)
        if worker.abandoned:
            # Handlers that do not end were given back; the loop would wait for them for ever.
            await storage.close()
            logging.shutdown()
            os._exit(0)

    on_storage(store, run)


def _find(target: str) -> object:
    """What `target` names, looked for in the current folder as well."""
    module_name, colon, path = target.partition(":")
    if not (module_name and colon and path):
        raise InvalidInput(f"{target!r} is no import path; write module:name")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise InvalidInput(f"there is no module {error.name!r} to import {target!r} from") from None
    for step in path.split("."):
        try:
            found = getattr(found, step)
        except AttributeError:
            raise InvalidInput(f"module {module_name!r} has no {path!r}") from None
    return found


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
    made = found(storage)
    worker = await made if inspect.isawaitable(made) else made
    if not isinstance(worker, Worker):
        raise InvalidInput(f"{target!r} gave a {type(worker).__name__}, not a Worker")
    return worker
