"""Programs of contenders, as child processes that report JSON lines."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from servers import process_times

Report = dict[str, Any]


@dataclass
class Child:
    """One running program. Its standard error goes to a file that is quoted if it ends early."""

    command: Sequence[str]
    errors: Path
    _reports: queue.SimpleQueue[Report | None] = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        with self.errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, event: str, timeout: float) -> Report:
        """The next report of `event`. Raises `TimeoutError`, `RuntimeError` if the child ended."""
        end = time.monotonic() + timeout
        while True:
            try:
                report = self._reports.get(timeout=max(0.001, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"no {event!r} within {timeout} s") from None
            if report is None:
                last = self.errors.read_text(errors="replace").strip()[-2_000:]
                raise RuntimeError(f"ended before {event!r}: {last}")
            if report["event"] == event:
                return report

    def cpu_seconds(self) -> float:
        return process_times(self._process.pid)[0]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._reports.put(json.loads(line))
        self._reports.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def first_of(children: Sequence[Child], event: str, timeout: float) -> Report:
    """The first report of `event` from any of the children; one may take the whole backlog."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        for child in children:
            try:
                return child.wait_for(event, 0.002)
            except TimeoutError:
                continue
    raise TimeoutError(f"no {event!r} within {timeout} s")
