"""A PostgreSQL server in a container: NOT RUN without a Docker engine, unless asked for."""

import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from gnl_conformance import NotRun
from gnl_conformance.servers import POSTGRES_IMAGE, ContainerServer
from gnl_conformance.servers._postgres import postgres_image


@pytest.fixture
def server() -> Iterator[ContainerServer]:
    name = os.environ.get("GNL_TEST_POSTGRES_IMAGE") or POSTGRES_IMAGE
    server = ContainerServer(postgres_image(name, fsync=False))
    try:
        server.start()
    except NotRun as missing:
        # GNL_REQUIRE asks for a server, however it comes; this test is about one way to it.
        if os.environ.get("GNL_TEST_POSTGRES") == "container":
            raise
        pytest.skip(f"NOT RUN: {missing}")
    yield server
    server.stop()


def talks(url: str) -> bool:
    """Whether a PostgreSQL server answers the question for TLS with yes or no."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname, parts.port), 5) as asking:
            asking.sendall(b"\x00\x00\x00\x08\x04\xd2\x16\x2f")
            return asking.recv(1) in (b"S", b"N")
    except OSError:
        return False


def test_a_container_is_killed_and_comes_back_at_the_same_address(server: ContainerServer) -> None:
    url = server.url
    assert talks(url)
    server.kill()
    assert not talks(url)
    server.start()
    assert talks(url)
    server.restart()
    assert talks(url)
    assert server.url == url
