"""A server in a container, where testcontainers is installed and a Docker engine answers."""

from __future__ import annotations

import gc
import importlib
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnl_conformance._violation import NotRun
from gnl_conformance.servers._private import free_port

START_LIMIT = 90.0
"""Seconds from the start of a container until its server answers; pulling it takes as it takes."""


@dataclass(frozen=True, slots=True)
class Image:
    """An image, and what has to be known of the server in it.

    `ready` is a command in the container that succeeds once the server takes connections from
    the network. `url` has the places ``{host}`` and ``{port}``.
    """

    name: str
    port: int
    environment: Mapping[str, str]
    command: Sequence[str]
    ready: Sequence[str]
    url: str


class ContainerServer:
    """One container. Its port on the host stays the same when it is started again."""

    owned = True

    def __init__(self, image: Image) -> None:
        self._image = image
        self._container: Any = None
        self._url: str | None = None

    @property
    def url(self) -> str:
        """How clients reach it. Raises `RuntimeError` before it was started."""
        if self._url is None:
            raise RuntimeError(f"the container of {self._image.name} was not started yet")
        return self._url

    def start(self) -> None:
        """Start it, and wait until the server answers.

        Raises `NotRun` if there can be no container here, `RuntimeError` with the end of its
        log if the server does not come up.
        """
        if self._container is None:
            self._create()
        else:
            self._container.get_wrapped_container().start()
        self._wait()

    def _create(self) -> None:
        docker, library = _libraries()
        _ping(docker)
        image = self._image
        container = library.DockerContainer(image.name, command=list(image.command))
        # The engine would give another port at each start, of which clients would not know.
        container.with_bind_ports(image.port, free_port()).with_envs(**image.environment)
        try:
            container.start()
            host, port = container.get_container_host_ip(), container.get_exposed_port(image.port)
        except docker.errors.DockerException as error:
            container.stop()
            raise NotRun(
                f"the engine cannot run {image.name} ({error}); if it is Ryuk that cannot be "
                "pulled, set TESTCONTAINERS_RYUK_DISABLED=true"
            ) from None
        self._container = container
        self._url = image.url.format(host=host, port=port)

    def _wait(self) -> None:
        container = self._container.get_wrapped_container()
        deadline = time.monotonic() + START_LIMIT
        while True:
            container.reload()
            running = container.status == "running"
            if running and container.exec_run(list(self._image.ready)).exit_code == 0:
                return
            if container.status == "exited" or time.monotonic() > deadline:
                log = container.logs(tail=30).decode(errors="replace")
                raise RuntimeError(f"the server in {self._image.name} did not start:\n{log}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End all processes in it at once, as a power cut would; its data stays."""
        container = self._container.get_wrapped_container()
        container.kill()
        container.wait()

    def restart(self) -> None:
        """Kill it, and start the same container again."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """Remove the container with its data."""
        if self._container is not None:
            self._container.stop()


def _ping(docker: Any) -> None:
    """Raise `NotRun` if no engine answers."""
    why = ""
    with warnings.catch_warnings():
        # Where nobody listens, Docker's client leaves a socket to the garbage collector.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            client = docker.from_env()
            client.ping()
            client.close()
        except docker.errors.DockerException as error:
            why = str(error)
        gc.collect()
    if why:
        raise NotRun(f"no Docker engine answers ({why})")


def _libraries() -> tuple[Any, Any]:
    """Docker's client, and the part of testcontainers that all its databases are made of."""
    try:
        return (
            importlib.import_module("docker"),
            importlib.import_module("testcontainers.core.container"),
        )
    except ImportError as error:
        raise NotRun(f"{error}: install gnl-conformance[containers]") from None
