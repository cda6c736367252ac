"""A server in a container, where testcontainers is installed and a Docker engine answers."""

from __future__ import annotations

import importlib
from typing import Any

from gnl_conformance.servers._private import Server

POSTGRES_IMAGE = "postgres:17"


class ContainerServer:
    """One container; `url` is known once it was started."""

    owned = True

    def __init__(self, container: Any) -> None:
        self._container = container

    @property
    def url(self) -> str:
        """How clients reach it."""
        return str(self._container.get_connection_url(driver=None))

    def start(self) -> None:
        """Start it; the library waits until the server answers."""
        self._container.start()

    def kill(self) -> None:
        """End the server as a power cut would."""
        self._container.get_wrapped_container().kill()

    def restart(self) -> None:
        """Kill it, and start the same container again."""
        self.kill()
        self._container.get_wrapped_container().start()

    def stop(self) -> None:
        """Remove the container."""
        self._container.stop()


def postgres_in_a_container() -> Server | None:
    """PostgreSQL in a container, or None where there can be none."""
    try:
        docker = importlib.import_module("docker")
        library = importlib.import_module("testcontainers.postgres")
        docker.from_env().ping()
    except Exception:
        return None
    return ContainerServer(library.PostgresContainer(POSTGRES_IMAGE))
