"""Backends for the crash tests: a SQLite file, and a private PostgreSQL that may be killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from backends import Backend

from gnl_conformance.servers import PostgresServer

SHIM = Path(__file__).with_name("skewed_clock.c")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for these tests alone, since they kill it; it writes through to the disk."""
    server = PostgresServer.find(fsync=True)
    if server is None:
        not_run("no PostgreSQL programs are installed")
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(postgres: PostgresServer, request: pytest.FixtureRequest) -> Backend:
    """PostgreSQL, with an empty schema for the test."""
    schema = f"t{abs(hash(request.node.nodeid)) % 10**9}"
    psql = shutil.which("psql") or "psql"
    subprocess.run([psql, "-qc", f"CREATE SCHEMA {schema}", postgres.url], check=True)
    return Backend(f"{postgres.url}?schema={schema}", postgres.kill, postgres.start)


@pytest.fixture(params=["sqlite", "postgres"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    """Each database in turn, empty."""
    if request.param == "sqlite":
        return Backend(f"sqlite:///{tmp_path}/work.db")
    found = request.getfixturevalue("server")
    assert isinstance(found, Backend)
    return found


@pytest.fixture(scope="session")
def skewed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Environments of a process one hour ahead, of one an hour behind, and of a right one."""
    compiler = shutil.which("cc")
    if compiler is None:
        not_run("no C compiler is installed")
    shim = tmp_path_factory.mktemp("shim") / "skewed_clock.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", shim, SHIM], check=True)
    preload = {"LD_PRELOAD": str(shim)}
    return [preload | {"SKEW_SECONDS": "3600"}, preload | {"SKEW_SECONDS": "-3600"}, {}]


def not_run(why: str) -> NoReturn:
    """Say loudly that a test could not run; where everything is required, that is a failure."""
    if os.environ.get("GNL_REQUIRE"):
        pytest.fail(why)
    pytest.skip(why)
