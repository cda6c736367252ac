"""PostgreSQL: a private server, and the image of one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gnl_conformance.servers._container import Image
from gnl_conformance.servers._private import PrivateServer

_PROGRAMS = ("initdb", "postgres", "pg_isready")
_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)


def _settings(*, fsync: bool) -> list[str]:
    """Options of the server that do not depend on where it runs."""
    return ["-c", "max_connections=200", "-c", f"fsync={'on' if fsync else 'off'}"]


def postgres_image(name: str, *, fsync: bool) -> Image:
    """PostgreSQL in an image that obeys the variables of the official one."""
    return Image(
        name,
        port=5432,
        environment={"POSTGRES_USER": "gnl", "POSTGRES_PASSWORD": "gnl", "POSTGRES_DB": "gnl"},
        command=["postgres", *_settings(fsync=fsync)],
        # Over TCP, where the official image does not listen while it makes the database.
        ready=["pg_isready", "-q", "-h", "127.0.0.1", "-U", "gnl"],
        url="postgresql://gnl:gnl@{host}:{port}/gnl",
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
        place = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        options = ["-D", "data", "-p", str(self.port), *place, *_settings(fsync=self._fsync)]
        return [str(self._programs / "postgres"), *options]

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
