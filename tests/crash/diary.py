"""What the programs of the crash tests write down, so that it survives them."""

from __future__ import annotations

import json
import os
import time


class Diary:
    """Appends one line at a time; a line is written whole or not at all.

    Times are those of the machine's monotonic clock, which all processes share.
    """

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **event: object) -> None:
        line = {"pid": os.getpid(), "at": time.monotonic(), **event}
        os.write(self._file, (json.dumps(line) + "\n").encode())
