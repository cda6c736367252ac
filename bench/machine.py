"""What the figures were taken on."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from environments import PINNED
from servers import find_binaries


def describe_machine() -> str:
    """Processor, memory, disk and versions, as a list in Markdown."""
    postgres = [str(find_binaries() / "postgres"), "--version"]
    version = subprocess.run(postgres, check=True, capture_output=True, text=True).stdout.split()[2]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    lines = [
        f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GB of memory;"
        " server, workers and producers share them",
        f"a commit to disk (8 kB, fdatasync) takes {_sync_microseconds():.0f} µs",
        f"Python {platform.python_version()}, PostgreSQL {version},"
        f" SQLite {sqlite3.sqlite_version}",
        *(f"{name}: {', '.join(pins)}" for name, pins in PINNED.items()),
    ]
    return "\n".join(f"- {line}" for line in lines)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _sync_microseconds() -> float:
    page, taken = b"x" * 8_192, []
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(200):
            file.seek(0)
            file.write(page)
            began = time.monotonic()
            os.fdatasync(file.fileno())
            taken.append(time.monotonic() - began)
    return median(taken) * 1e6
