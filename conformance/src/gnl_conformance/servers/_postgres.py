"""A private PostgreSQL server."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gnl_conformance.servers._private import PrivateServer

_PROGRAMS = ("initdb", "postgres", "pg_isready")
_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)


class PostgresServer(PrivateServer):
    """PostgreSQL from the programs in one folder. It refuses to run as root."""

    account = "postgres"

    def __init__(self, programs: Path, *, fsync: bool = False) -> None:
        super().__init__()
        self._programs = programs
        self._fsync = fsync

    @classmethod
    def find(cls, *, fsync: bool = False) -> PostgresServer | None:
        """One from the newest programs installed, or None."""
        programs = next(_installed(), None)
        return None if programs is None else cls(programs, fsync=fsync)

    @property
    def url(self) -> str:
        """The database `postgres`, without a password."""
        return f"postgresql://gnl@127.0.0.1:{self.port}/postgres"

    def create(self) -> None:
        """Make the data directory."""
        options = ["-U", "gnl", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        self.run(str(self._programs / "initdb"), "-D", "data", *options)

    def command(self) -> list[str]:
        """The server, on the loopback interface only."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            "fsync": "on" if self._fsync else "off",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return [str(self._programs / "postgres"), "-D", "data", "-p", str(self.port), *options]

    def answers(self) -> bool:
        """True once it takes connections."""
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(ready, check=False).returncode == 0  # noqa: S603 - installed


def _installed() -> Iterator[Path]:
    """Folders with all programs: that of the PATH first, then the newest version."""
    on_path = shutil.which("postgres")
    places = [Path(on_path).resolve().parent] if on_path else []
    found = [folder for place in _PLACES for folder in Path("/").glob(place.lstrip("/"))]
    places += sorted(found, key=_version, reverse=True)
    for place in places:
        if all(os.access(place / program, os.X_OK) for program in _PROGRAMS):
            yield place


def _version(programs: Path) -> tuple[int, ...]:
    digits = "".join(one if one.isdigit() else " " for one in str(programs))
    return tuple(int(number) for number in digits.split())
