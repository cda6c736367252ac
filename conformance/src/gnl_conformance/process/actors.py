"""Child processes that can be killed, stopped, woken and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Actor:
    """One place in the cast; each time it is started it is a new process with a new name."""

    role: str
    name: str
    harness: str
    space: str
    folder: Path
    seed: int
    options: tuple[str, ...] = ()
    lives: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def who(self) -> str:
        """The name of the process that runs now, as its history gives it."""
        return f"{self.name}.{self.lives}"

    @property
    def busy(self) -> bool:
        """True once it has made a call and while it has not ended."""
        history = self.folder / f"{self.who}.jsonl"
        return self.alive and history.exists() and history.stat().st_size > 0

    @property
    def alive(self) -> bool:
        """True while its process runs (or is stopped)."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start a new process."""
        self.lives += 1
        options = ["--role", self.role, "--folder", str(self.folder), "--who", self.who]
        options += self.options
        with (self.folder / f"{self.who}.err").open("wb") as errors:
            self.process = spawn(
                self.harness, self.space, *options, "--seed", str(self.seed), errors=errors.fileno()
            )

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """SIGSTOP: it is still there, and does nothing."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """SIGCONT."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)

    def last_words(self) -> str:
        """What it wrote to its standard error."""
        return (self.folder / f"{self.who}.err").read_text(errors="replace")[-2_000:]


def spawn(
    harness: str, space: str, *options: str, errors: int | None = None
) -> subprocess.Popen[bytes]:
    """Start one child of the kit on a space."""
    command = [sys.executable, "-m", "gnl_conformance._child", harness, space, *options]
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(  # noqa: S603 - our own module
        command,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if errors is None else subprocess.DEVNULL,
        stderr=subprocess.PIPE if errors is None else errors,
    )
