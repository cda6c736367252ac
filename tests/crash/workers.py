"""Real worker processes for the crash tests, and what their diaries say."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass
class Workers:
    """Processes of `program` on one store, each replaced when it is killed."""

    url: str
    diary: Path
    ttl: float
    pace: float = 0.01
    env: Mapping[str, str] = field(default_factory=dict)
    program: str = "worker_program.py"
    arguments: tuple[str, ...] = ()
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed_at: dict[int, float] = field(default_factory=dict)

    def start(self, count: int = 1) -> None:
        command = [sys.executable, FOLDER / self.program, self.url, self.diary]
        command += [str(self.ttl), str(self.pace), *self.arguments]
        for _ in range(count):
            process = subprocess.Popen(command, env={**os.environ, **self.env})
            self.processes.append(process)

    def kill_one(self, dice: random.Random) -> None:
        victim = self.processes.pop(dice.randrange(len(self.processes)))
        victim.kill()
        victim.wait()
        self.killed_at[victim.pid] = time.monotonic()

    def freeze(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    def replace_the_dead(self) -> None:
        for process in list(self.processes):
            if process.poll() is not None:
                self.killed_at.setdefault(process.pid, time.monotonic())
                self.processes.remove(process)
                self.start()

    def stop(self) -> list[int]:
        """Stop all as a deploy would; their exit codes."""
        self.until_up()
        for process in self.processes:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        codes = [process.wait(timeout=30) for process in self.processes]
        self.processes.clear()
        return codes

    def until_up(self) -> None:
        """Wait until all have begun: one that still imports holds nothing and hears no signal."""
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up:
            up = {event["pid"] for event in self.events() if event["event"] == "up"}
            if all(p.pid in up for p in self.processes if p.poll() is None):
                return
            time.sleep(0.05)

    def events(self) -> list[dict[str, object]]:
        if not self.diary.exists():
            return []
        return [json.loads(line) for line in self.diary.read_text().splitlines()]


@dataclass(frozen=True)
class Spell:
    """One handler call: from its start to its end, or to the death of its process."""

    job: str
    pid: int
    attempt: int
    start: float
    end: float
    finished: bool


def spells(workers: Workers) -> dict[str, list[Spell]]:
    """Every handler call by job, in order of starting."""
    open_calls: dict[tuple[object, object, object], dict[str, object]] = {}
    found: dict[str, list[Spell]] = defaultdict(list)

    def close(start: dict[str, object], end: float, *, finished: bool) -> None:
        job, pid, attempt, began = start["id"], start["pid"], start["attempt"], start["at"]
        assert isinstance(job, str)
        assert isinstance(pid, int)
        assert isinstance(attempt, int)
        assert isinstance(began, float)
        found[job].append(Spell(job, pid, attempt, began, end, finished))

    for event in workers.events():
        key = (event.get("id"), event["pid"], event.get("attempt"))
        if event["event"] == "start":
            open_calls[key] = event
        elif event["event"] == "end":
            at = event["at"]
            assert isinstance(at, float)
            close(open_calls.pop(key), at, finished=True)
    for start in open_calls.values():
        pid = start["pid"]
        assert isinstance(pid, int)
        close(start, workers.killed_at.get(pid, float("inf")), finished=False)
    return {job: sorted(calls, key=lambda spell: spell.start) for job, calls in found.items()}


def overlapping(calls: list[Spell]) -> list[tuple[Spell, Spell]]:
    """Pairs of calls for one job of which the later began before the earlier had ended."""
    return [(a, b) for a, b in pairwise(calls) if b.start < a.end]
