"""Which way leads to a server: asked for or not, there or not. No server is needed for that."""

import os
from typing import Any

import pytest

from gnl_conformance import NotRun
from gnl_conformance.servers import ContainerServer, GivenServer, Server, _container
from gnl_conformance.servers._postgres import postgres_image
from gnl_conformance.servers._ways import Way, find_server


class Fake:
    owned = True

    def __init__(self, url: str) -> None:
        self.url = url
        self.starts = 0

    def start(self) -> None:
        self.starts += 1

    def kill(self) -> None: ...
    def restart(self) -> None: ...
    def stop(self) -> None: ...


def works(name: str) -> Way:
    return lambda: Fake(name)


def misses(what: str) -> Way:
    def way() -> Server:
        raise NotRun(what)

    return way


BOTH = {"private": works("private"), "container": works("container")}
NONE = {"private": misses("no programs"), "container": misses("no engine")}


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("GNL_TEST_", "GNL_CONFORMANCE"))]:
        monkeypatch.delenv(name)


def test_the_first_way_that_works_is_taken_and_started() -> None:
    server = find_server("redis", BOTH)
    assert isinstance(server, Fake)
    assert (server.url, server.starts) == ("private", 1)
    assert find_server("redis", {**BOTH, "private": misses("no programs")}).url == "container"


def test_with_no_way_it_is_not_run_and_says_why() -> None:
    why = r"no redis server: set GNL_TEST_REDIS_URL.*private: no programs; container: no engine"
    with pytest.raises(NotRun, match=why):
        find_server("redis", NONE)


def test_a_server_that_does_not_come_up_is_no_missing_one() -> None:
    class Broken(Fake):
        def start(self) -> None:
            raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        find_server("redis", {**BOTH, "private": lambda: Broken("")})


def test_the_way_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_TEST_REDIS", "container")
    assert find_server("redis", BOTH).url == "container"


def test_the_way_asked_for_is_an_error_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_TEST_REDIS", "container")
    ways = {**BOTH, "container": misses("no engine")}
    why = "GNL_TEST_REDIS asks for a container server, and there is none: no engine"
    with pytest.raises(RuntimeError, match=why):
        find_server("redis", ways)


def test_a_way_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_TEST_REDIS", "docker")
    with pytest.raises(ValueError, match="'docker' is not one of private, container"):
        find_server("redis", BOTH)


def test_a_server_given_and_another_asked_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNL_TEST_REDIS", "private")
    monkeypatch.setenv("GNL_TEST_REDIS_URL", "redis://somewhere")
    with pytest.raises(ValueError, match="unset one of the two"):
        find_server("redis", BOTH)


def test_a_child_takes_what_its_parent_started_whatever_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GNL_TEST_REDIS", "private")
    monkeypatch.setenv("GNL_CONFORMANCE_REDIS_URL", "redis://parent")
    server = find_server("redis", BOTH)
    assert isinstance(server, GivenServer)
    assert server.url == "redis://parent"


def container() -> ContainerServer:
    return ContainerServer(postgres_image("postgres:17", fsync=False))


def test_without_testcontainers_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(_container.importlib, "import_module", missing)
    with pytest.raises(NotRun, match=r"install gnl-conformance\[containers\]"):
        container().start()


@pytest.mark.parametrize("nowhere", ["tcp://127.0.0.1:1", "unix:///nowhere/docker.sock"])
def test_without_an_engine_the_message_says_so(
    monkeypatch: pytest.MonkeyPatch, nowhere: str
) -> None:
    pytest.importorskip("docker", reason="NOT RUN: testcontainers is not installed")
    monkeypatch.setenv("DOCKER_HOST", nowhere)
    with pytest.raises(NotRun, match="no Docker engine answers"):
        container().start()


def test_a_container_has_no_url_before_it_was_started() -> None:
    with pytest.raises(RuntimeError, match="not started yet"):
        _ = container().url
