"""A server from installed programs, with a data directory and a port of its own."""

from __future__ import annotations

import abc
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Protocol, TypedDict

START_LIMIT = 30.0
STOP_LIMIT = 10.0


class Server(Protocol):
    """A database server that tests use."""

    @property
    def url(self) -> str:
        """How clients reach it."""
        ...

    @property
    def owned(self) -> bool:
        """True if it may be killed."""
        ...

    def start(self) -> None:
        """Start it, and wait until it answers."""
        ...

    def kill(self) -> None:
        """End it as a power cut would."""
        ...

    def restart(self) -> None:
        """Kill it, and start it again on the same data."""
        ...

    def stop(self) -> None:
        """End it for good and remove what it left."""
        ...


class Identity(TypedDict, total=False):
    """Options of `subprocess` that make a program run as another user."""

    user: int
    group: int
    extra_groups: list[int]


class PrivateServer(abc.ABC):
    """Starts, kills and stops one server process. `account` is who runs it if we are root."""

    owned = True
    account = "nobody"

    def __init__(self) -> None:
        self.port = free_port()
        self.folder = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """How clients reach it."""

    @abc.abstractmethod
    def create(self) -> None:
        """Make the data directory."""

    @abc.abstractmethod
    def command(self) -> list[str]:
        """What runs the server in the foreground."""

    @abc.abstractmethod
    def answers(self) -> bool:
        """True once it takes connections."""

    def start(self) -> None:
        """Start it, and wait until it answers. Raises `RuntimeError` with the end of its log."""
        was_there = self._watcher is not None
        if not was_there:
            self._prepare()
        self._launch()
        deadline = time.monotonic() + START_LIMIT
        while not self.answers():
            ended = self._process is None or self._process.poll() is not None
            if (ended and not was_there) or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the server did not start:\n{self.log.read_text()[-2_000:]}")
            time.sleep(0.02)
            if ended:  # the last children of a killed server still hold its data for a moment
                self._launch()

    def _prepare(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gnl-server-"))
        self._watcher = watch(self.folder)
        if os.geteuid() == 0:
            shutil.chown(self.folder, self.account)
        self.create()

    def _launch(self) -> None:
        with self.log.open("ab") as log:
            self._process = self.launch(*self.command(), output=log)
        self._say(f"{self._process.pid}")

    def launch(self, *command: str, output: IO[bytes] | None = None) -> subprocess.Popen[bytes]:
        """Start a program as the server's user, in its folder. Not ended by `stop`."""
        return subprocess.Popen(  # noqa: S603 - an installed program
            command, stdout=output, stderr=output, cwd=self.folder, **self._identity()
        )

    @property
    def log(self) -> Path:
        """What the server wrote."""
        return self.folder / "log"

    def kill(self) -> None:
        """SIGKILL its main process, and wait for the end."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._say("0")

    def restart(self) -> None:
        """Kill it, and start it again on the same data."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """Ask it to end, or kill it; then remove its data."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(STOP_LIMIT)
            except subprocess.TimeoutExpired:
                self.kill()
        self._say("0")
        if self._watcher is not None:
            self._watcher.communicate()

    def _say(self, pid: str) -> None:
        """Tell the watcher which process to end when we do."""
        if self._watcher is not None and self._watcher.stdin is not None:
            self._watcher.stdin.write(f"{pid}\n".encode())
            self._watcher.stdin.flush()

    def run(self, *command: str) -> None:
        """Run a program to its end as the server's user. Raises `RuntimeError` with its output."""
        done = subprocess.run(  # noqa: S603 - an installed program
            command, check=False, capture_output=True, cwd=self.folder, **self._identity()
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[0]} failed:\n{done.stderr.decode()[-2_000:]}")

    def _identity(self) -> Identity:
        if os.geteuid() != 0:
            return {}
        entry = pwd.getpwnam(self.account)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def watch(folder: Path) -> subprocess.Popen[bytes]:
    """Start what ends the server and removes `folder` once we are gone, however we went."""
    program = Path(__file__).with_name("_watcher.py")
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-I", str(program), str(folder)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
