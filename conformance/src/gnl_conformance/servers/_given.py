"""A server that somebody else runs."""

from __future__ import annotations


class GivenServer:
    """A server at a URL. It is not ours to kill."""

    owned = False

    def __init__(self, url: str) -> None:
        self.url = url

    def start(self) -> None:
        """It runs already."""

    def kill(self) -> None:
        """Not ours: raises `RuntimeError`."""
        raise RuntimeError(f"the server at {self.url} was given, and is not killed")

    def restart(self) -> None:
        """Not ours: raises `RuntimeError`."""
        self.kill()

    def stop(self) -> None:
        """It runs on."""
