"""Outlives the process that owns a private server, to end the server and remove its folder.

A process that is killed runs no clean-up of its own; but its end of a pipe is closed. Each line
on standard input is the pid of the server that runs now, 0 for none.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time


def main() -> None:
    """Read pids until the owner is gone."""
    pid = 0
    for line in sys.stdin:
        pid = int(line)
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)  # for the server's own children to notice
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
