"""The stores on which the core's tests of events run as well: each with an empty database."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from gnl_conformance import NotRun
from gnl_conformance.servers import postgres
from gnl_core.storage import Storage, open_store, upgrade_storage


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """Run the test on a loop of its own, and close its store there."""
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    async def run() -> None:
        try:
            await pyfuncitem.obj(**arguments)
        finally:
            await arguments["storage"].close()

    asyncio.run(run())
    return True


def new_storage(url: str) -> Storage:
    asyncio.run(upgrade_storage(url))
    # Nothing is connected yet: the test's loop does that.
    return Storage(asyncio.run(open_store(url)), url=url)


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "sqlite":
        yield new_storage(f"sqlite:///{tmp_path / 'events.db'}")
        return
    try:
        server = postgres()
    except NotRun as error:
        if os.environ.get("GNL_REQUIRE"):
            pytest.fail(str(error))
        pytest.skip(f"NOT RUN: {error}")
    schema = f"gnl_test_{uuid.uuid4().hex[:12]}"
    yield new_storage(f"{server.url}{'&' if '?' in server.url else '?'}schema={schema}")
    asyncio.run(drop(server.url, schema))


async def drop(url: str, schema: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(f"drop schema {schema} cascade")
    await connection.close()
