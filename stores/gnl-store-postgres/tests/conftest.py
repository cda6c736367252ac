"""A PostgreSQL server for the session, a schema for each test, async tests without a plugin.

``GNL_TEST_POSTGRES_URL`` names a database to use. Without it a private server is started from
installed binaries, in a directory of its own. With neither, the tests do not run, and fail if
``GNL_REQUIRE`` is set.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import NoReturn

import asyncpg
import pytest

from gnl_conformance.servers import PostgresServer
from gnl_store_postgres import PostgresStore, open_postgres


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def report_not_run(why: str) -> NoReturn:
    """Report tests as not run, loudly; with ``GNL_REQUIRE`` that is a failure."""
    if os.environ.get("GNL_REQUIRE"):
        pytest.fail(why)
    pytest.skip(f"NOT RUN: {why}")


def new_server() -> PostgresServer:
    server = PostgresServer.find(fsync=True)
    if server is None:
        report_not_run("no PostgreSQL: set GNL_TEST_POSTGRES_URL, or install the server's programs")
    server.start()
    return server


@pytest.fixture(scope="session")
def not_run() -> Callable[[str], None]:
    """To be called by a test that misses something."""
    return report_not_run


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The database for all tests."""
    given = os.environ.get("GNL_TEST_POSTGRES_URL")
    if given:
        yield given
        return
    server = new_server()
    try:
        yield server.url
    finally:
        server.stop()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A private server that the test may kill."""
    server = new_server()
    try:
        yield server
    finally:
        server.stop()


class Space:
    """One schema for one test."""

    def __init__(self, url: str) -> None:
        self.server_url = url
        self.schema = f"gnl_test_{uuid.uuid4().hex[:12]}"

    def url(self, **options: object) -> str:
        joint = "&" if "?" in self.server_url else "?"
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"{self.server_url}{joint}schema={self.schema}{more}"

    @contextlib.asynccontextmanager
    async def opened(self, **options: object) -> AsyncIterator[PostgresStore]:
        """A store with its tables."""
        store = await open_postgres(self.url(**options))
        try:
            await store.upgrade()
            yield store
        finally:
            await store.close()

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection whose unqualified names are this schema's."""
        connection = await asyncpg.connect(
            self.server_url, server_settings={"search_path": self.schema}
        )
        try:
            yield connection
        finally:
            connection.terminate()

    async def drop(self) -> None:
        async with self.connected() as connection:
            await connection.execute(f"drop schema if exists {self.schema} cascade")


@pytest.fixture
def space(server_url: str) -> Iterator[Space]:
    made = Space(server_url)
    yield made
    asyncio.run(made.drop())
