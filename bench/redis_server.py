"""A private Redis that writes every change through to the disk, gone afterwards."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from servers import free_port, process_times


class RedisServer:
    """Starts on construction; `close` stops it and removes its files."""

    def __init__(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise RuntimeError("no redis-server found: install one (Debian: redis-server)")
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="gnl-bench-"))
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self._folder,
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
        }
        command = [program, *(part for key, v in options.items() for part in (f"--{key}", str(v)))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(0.5)

    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def cpu_seconds(self) -> float:
        return process_times(self._process.pid)[0]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
