"""What ``MODULE:NAME`` names, and running the services that it gives."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeAlias

from gnl_core.cli._run import on_storage
from gnl_core.errors import InvalidInput
from gnl_core.runtime import Service, on_stop_signals
from gnl_core.storage import Storage

Services: TypeAlias = Sequence[Service[Any, Any]]


def run_services(url: str, make: Callable[[Storage], Awaitable[Services]]) -> None:
    """Run what `make` gives for the storage at `url` until SIGTERM or SIGINT."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")

    async def run(storage: Storage) -> None:
        services = await make(storage)
        async with AsyncExitStack() as stack:
            for service in services:
                await stack.enter_async_context(service)
            await _run_together(services)
        if any(service.abandoned for service in services):
            # Handlers that do not end were given back; the loop would wait for them for ever.
            await storage.close()
            logging.shutdown()
            os._exit(0)

    on_storage(url, run)


async def _run_together(services: Services) -> None:
    """All of them until a signal; one that fails stops the others."""

    def stop() -> None:
        for service in services:
            service.stop()

    with on_stop_signals(stop):
        tasks = [asyncio.ensure_future(service.run()) for service in services]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            stop()
            await asyncio.gather(*tasks)


def find_target(target: str) -> object:
    """What `target` names, looked for in the current folder as well. Raises `InvalidInput`."""
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


async def call_target(found: Callable[[Storage], object], storage: Storage) -> object:
    """What the function gives for `storage`; it may be ``async def``."""
    made = found(storage)
    return await made if inspect.isawaitable(made) else made
