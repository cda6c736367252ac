"""A private PostgreSQL: own data directory, free port, durable settings, gone afterwards."""

from __future__ import annotations

import os
import pwd
import queue
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "2GB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "max_connections": "300",
    "listen_addresses": "127.0.0.1",
    "shared_preload_libraries": "pg_stat_statements",
}
TICKS = os.sysconf("SC_CLK_TCK")


class Session:
    """One database session through psql: a query is a line in, its rows come back as text."""

    def __init__(self, binaries: Path, port: int, database: str) -> None:
        command = [str(binaries / "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", "127.0.0.1", "-p", str(port), "-U", "bench", "-d", database]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, sql: str, timeout: float = 600) -> list[str]:
        """Run statements; the rows of all of them, columns separated by ``|``."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{sql};\n\\echo --end--\n")
        self._process.stdin.flush()
        rows: list[str] = []
        while (line := self._lines.get(timeout=timeout)) != "--end--":
            if line is None:
                raise RuntimeError(f"psql ended at: {sql[:200]}")
            rows.append(line)
        return rows

    def is_true(self, sql: str) -> bool:
        return self.run(sql) == ["t"]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class PostgresServer:
    """Starts on construction; `close` stops it and removes its files."""

    def __init__(self) -> None:
        self._binaries = find_binaries()
        self._user = unprivileged_user()
        self._folder = Path(tempfile.mkdtemp(prefix="gnl-bench-"))
        self._data = self._folder / "data"
        self.port = free_port()
        if self._user is not None:
            os.chown(self._folder, self._user.pw_uid, self._user.pw_gid)
        self._initialize()
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            # Shut down fast also if this process is killed.
            self._as_user(
                [str(self._binaries / "postgres"), "-D", str(self._data)], "--pdeathsig=INT"
            ),
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._wait_until_ready()

    def url(self, database: str) -> str:
        return f"postgresql://bench@127.0.0.1:{self.port}/{database}"

    def session(self, database: str) -> Session:
        return Session(self._binaries, self.port, database)

    def run(self, database: str, *statements: str) -> list[str]:
        """Run statements one by one, each in a transaction of its own."""
        with self.session(database) as session:
            return [row for sql in statements for row in session.run(sql)]

    def recreate(self, database: str) -> None:
        self.run(
            "postgres",
            f"drop database if exists {database} with (force)",
            f"create database {database}",
        )
        self.run(database, "create extension pg_stat_statements", "checkpoint")

    def version(self) -> str:
        return self.run("postgres", "show server_version")[0]

    def cpu_seconds(self) -> float:
        """What the whole server has used: its living processes and those that ended."""
        root = int((self._data / "postmaster.pid").read_text().split()[0])
        own, reaped, _ = process_times(root)
        times = map(process_times, all_processes())
        return own + reaped + sum(seconds for seconds, _, parent in times if parent == root)

    def close(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _initialize(self) -> None:
        command = [str(self._binaries / "initdb"), "-D", str(self._data), "-U", "bench"]
        command += ["-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(self._as_user(command), check=True, stdout=subprocess.DEVNULL, cwd="/")
        sockets = {"port": str(self.port), "unix_socket_directories": str(self._folder)}
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{k} = '{v}'\n" for k, v in {**SETTINGS, **sockets}.items())

    def _as_user(self, command: Sequence[str], *options: str) -> list[str]:
        if self._user is not None:
            ids = (f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}")
            options = (*ids, "--clear-groups", *options)
        return ["setpriv", *options, "--", *command] if options else list(command)

    def _wait_until_ready(self) -> None:
        ready = [str(self._binaries / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        end = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode != 0:
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self._folder / "log").read_text(errors="replace"))
            time.sleep(0.05)


def find_binaries() -> Path:
    """The newest installed PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=_major)
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    if on_path is None:
        raise SystemExit("no PostgreSQL server found: install one (Debian: postgresql)")
    return Path(on_path).resolve().parent


def _major(path: Path) -> int:
    return int(path.parts[-3])


def unprivileged_user() -> pwd.struct_passwd | None:
    """Whom the server runs as when we are root, since it refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SystemExit("run this as an ordinary user: PostgreSQL refuses to run as root")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def all_processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def process_times(pid: int) -> tuple[float, float, int]:
    """CPU seconds of a process and of its reaped children, and its parent; zeros if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0, 0.0, 0
    used = [int(field) / TICKS for field in fields[11:15]]
    return used[0] + used[1], used[2] + used[3], int(fields[1])
