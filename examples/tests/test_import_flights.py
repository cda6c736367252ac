"""The example program does what it says: fair turns, and going on after Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "import_flights.py"
EXTRACT = EXAMPLE.parent / "data" / "flights-3000.csv"
FLIGHTS, AIRLINES = 3000, 16


def start(folder: Path) -> subprocess.Popen[str]:
    environment = {key: value for key, value in os.environ.items() if key != "GNL_STORE"}
    command = [sys.executable, str(EXAMPLE), "--csv", str(EXTRACT)]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=None, text=True
    )


def run(folder: Path) -> str:
    with start(folder) as program:
        printed, _ = program.communicate()
    assert program.returncode == 0, printed
    return printed


def interrupt_after_the_first_tenth(folder: Path) -> str:
    with start(folder) as program:
        assert program.stdout is not None
        printed = program.stdout.readline()
        program.send_signal(signal.SIGINT)
        printed += program.stdout.read()
    assert program.returncode == 130, printed
    return printed


def written(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "flights.db")) as db:
        (count,) = db.execute("SELECT COUNT(*) FROM flight").fetchone()
    return int(count)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("example")


def test_it_stops_and_goes_on_where_it_stopped(folder: Path) -> None:
    stopped = interrupt_after_the_first_tenth(folder)
    done = written(folder)
    assert FLIGHTS / 10 <= done < FLIGHTS
    assert f"Stopped after {done} of {FLIGHTS} flights. Run it again" in stopped

    went_on = run(folder)
    assert f"{done} flights are done already" in went_on
    assert written(folder) == FLIGHTS

    position = re.search(r"OO has 1 flight .* begun as number (\d+)", went_on)
    assert position is not None, went_on
    assert int(position[1]) <= AIRLINES

    again = run(folder)
    assert f"{FLIGHTS} flights are done already" in again
