"""Servers that are given, started, killed and thrown away."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnl_conformance import servers
from gnl_conformance.servers import GivenServer, PostgresServer


def reachable(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_started", {})
    settings = "TEST_POSTGRES_URL", "TEST_POSTGRES", "TEST_POSTGRES_IMAGE"
    for name in (*settings, "CONFORMANCE_POSTGRES_URL"):
        # Set first, so that what the code sets is taken back as well.
        monkeypatch.setenv(f"GNL_{name}", "")


def test_a_url_that_is_given_is_used_and_never_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_TEST_POSTGRES_URL", "postgresql://somewhere/db")
    server = servers.postgres()
    assert (server.url, server.owned) == ("postgresql://somewhere/db", False)
    with pytest.raises(RuntimeError, match="was given"):
        server.restart()


def test_a_child_uses_the_server_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_CONFORMANCE_POSTGRES_URL", "postgresql://parent/db")
    assert isinstance(servers.postgres(), GivenServer)


def test_a_private_server_is_killed_restarted_and_thrown_away() -> None:
    server = PostgresServer.find()
    if server is None:
        pytest.skip("NOT RUN: no PostgreSQL programs are installed")
    try:
        server.start()
        assert server.answers()
        assert server.url.startswith(f"postgresql://gnl@127.0.0.1:{server.port}/")
        server.restart()
        assert server.answers()
        server.kill()
        assert not reachable(server.port)
    finally:
        server.stop()
    assert not server.folder.exists()


def test_a_server_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    server = PostgresServer.find()
    if server is None:
        pytest.skip("NOT RUN: no PostgreSQL programs are installed")
    try:
        server.command = lambda: ["/bin/sh", "-c", "echo out of luck; exit 1"]  # type: ignore[method-assign]
        with pytest.raises(RuntimeError, match="out of luck"):
            server.start()
    finally:
        server.stop()


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    if PostgresServer.find() is None:
        pytest.skip("NOT RUN: no PostgreSQL programs are installed")
    code = (
        "import os, signal, sys\n"
        "from gnl_conformance.servers import PostgresServer\n"
        "server = PostgresServer.find()\n"
        "server.start()\n"
        "print(server.port, server.folder, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    port, folder = done.stdout.split()
    deadline = time.monotonic() + 10
    while Path(folder).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(folder).exists()
    assert not reachable(int(port))
