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
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from gnl_store_postgres import PostgresStore, open_postgres

START_SECONDS = 30.0
SETTINGS = ("-k", "", "-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


class Server:
    """A private server from the binaries in `bin`: its own data, its own port."""

    def __init__(self, bin: Path) -> None:
        self._bin = bin
        self._root = Path(tempfile.mkdtemp(prefix="gnl-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        # The server refuses to run as root.
        self._user = "postgres" if os.geteuid() == 0 else None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        if self._user is not None:
            shutil.chown(self._root, self._user)
        self._run("initdb", "-D", "data", "-U", "gnl", "-A", "trust", "-E", "UTF8", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://gnl@127.0.0.1:{self.port}/postgres"

    def _as_user(self) -> dict[str, Any]:
        if self._user is None:
            return {"cwd": self._root}
        entry = pwd.getpwnam(self._user)
        return {"cwd": self._root, "user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def _run(self, name: str, *arguments: str) -> None:
        subprocess.run(
            [self._bin / name, *arguments], check=True, capture_output=True, **self._as_user()
        )

    def start(self) -> None:
        end = time.monotonic() + START_SECONDS
        self._launch()
        while not asyncio.run(_answers(self.url)):
            assert time.monotonic() < end, (self._root / "log").read_text()
            time.sleep(0.02)
            if self._process is None or self._process.poll() is not None:
                # After a crash it refuses to start until its last child is gone.
                self._launch()

    def _launch(self) -> None:
        with open(self._root / "log", "ab") as log:
            self._process = subprocess.Popen(
                [self._bin / "postgres", "-D", "data", "-p", str(self.port), *SETTINGS],
                stdout=log,
                stderr=log,
                **self._as_user(),
            )

    def launch(self, command: Sequence[str | Path], **options: Any) -> subprocess.Popen[bytes]:
        """Run another program as the server's user, in a directory it may write to."""
        return subprocess.Popen(command, **self._as_user(), **options)

    def write(self, name: str, text: str) -> Path:
        path = self._root / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def kill(self) -> None:
        """As a power cut: no process of the server gets to do anything more."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait()
        shutil.rmtree(self._root, ignore_errors=True)


async def _answers(url: str) -> bool:
    try:
        await (await asyncpg.connect(url, timeout=1)).close()
    except (OSError, asyncpg.PostgresError, TimeoutError):
        return False
    return True


def binaries() -> Path | None:
    """Where the server's programs are: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max(
        (path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")),
        key=lambda path: int(path.parent.name),
        default=None,
    )


def report_not_run(why: str) -> None:
    """Report tests as not run, loudly; with ``GNL_REQUIRE`` that is a failure."""
    if os.environ.get("GNL_REQUIRE"):
        pytest.fail(why)
    pytest.skip(f"NOT RUN: {why}")


def new_server() -> Server:
    programs = binaries()
    if programs is None:
        report_not_run("no PostgreSQL: set GNL_TEST_POSTGRES_URL, or install the server's programs")
    assert programs is not None
    server = Server(programs)
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
def own_server() -> Iterator[Server]:
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
