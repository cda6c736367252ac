"""SIGTERM and SIGINT to real processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gnl_core import Worker, enqueue
from gnl_core.errors import InvalidInput
from gnl_core.storage import Storage

PROGRAM = """
import asyncio, os, sys, threading, time
from gnl_core import Storage, Worker, enqueue_many, list_all_jobs
from gnl_core.memory import MemoryStore
from gnl_core.queue import Job

kinds, grace, workers = sys.argv[1].split(","), float(sys.argv[2]), int(sys.argv[3])
left = set(kinds)

def started(kind):
    left.discard(kind)
    if not left:
        print("started", flush=True)

async def short(payload, ctx):
    started("short")
    await asyncio.sleep(0.2)

async def long(payload, ctx):
    started("long")
    await asyncio.sleep(3600)

async def swallowing_once(payload, ctx):
    started("swallowing_once")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        await asyncio.sleep(3600)

async def blocking(payload, ctx):
    await asyncio.sleep(0.05)  # the others start before the loop stands still
    started("blocking")
    time.sleep(1)
    await asyncio.sleep(3600)

async def blocking_for_ever(payload, ctx):
    started("blocking_for_ever")
    time.sleep(3600)

def stuck(payload, ctx):
    started("stuck")
    time.sleep(3600)

async def main():
    handlers = {name: globals()[name] for name in (
        "short", "long", "swallowing_once", "blocking", "blocking_for_ever", "stuck")}
    storage = Storage(MemoryStore())
    await enqueue_many(storage.work, [Job(kind, id=kind, max_attempts=1) for kind in kinds])
    made = [Worker(storage, handlers, grace=grace, concurrency=5) for _ in range(workers)]
    await asyncio.gather(*(worker.run(signals=True) for worker in made))
    page = await list_all_jobs(storage.work)
    for job in page.items:
        print(job.id, job.state.value, job.attempts, len(job.failures), flush=True)

asyncio.run(main())
print("main ended", flush=True)
"""


class Program:
    def __init__(self, kinds: str, grace: float, workers: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kinds, str(grace), str(workers)],
            stdout=subprocess.PIPE,
            text=True,
        )

    def until_started(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "started\n"

    def send(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)

    def end(self) -> tuple[int, list[str]]:
        out, _ = self._process.communicate(timeout=30)
        return self._process.returncode, out.splitlines()

    def ended_within(self, seconds: float) -> bool:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def programs() -> Iterator[list[Program]]:
    started: list[Program] = []
    yield started
    for program in started:
        program.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_short_jobs_finish_gives_back_the_rest_and_ends_the_process(
    programs: list[Program], number: signal.Signals
) -> None:
    program = Program("short,long,swallowing_once,blocking,stuck", 0.5, 1)
    programs.append(program)
    program.until_started()
    program.send(number)
    code, lines = program.end()
    assert code == 0
    assert sorted(lines) == [
        "blocking waiting 0 0",
        "long waiting 0 0",
        "main ended",
        "short done 1 0",
        "stuck waiting 0 0",
        "swallowing_once waiting 0 0",
    ]


def test_a_second_signal_leaves_out_the_grace(programs: list[Program]) -> None:
    program = Program("long,stuck", 3_600, 1)
    programs.append(program)
    program.until_started()
    program.send(signal.SIGTERM)
    assert not program.ended_within(0.3)
    program.send(signal.SIGINT)
    code, lines = program.end()
    assert code == 0
    assert sorted(lines) == ["long waiting 0 0", "main ended", "stuck waiting 0 0"]


def test_one_signal_stops_every_worker_of_the_process(programs: list[Program]) -> None:
    program = Program("long", 0.1, 3)
    programs.append(program)
    program.until_started()
    program.send(signal.SIGTERM)
    assert program.end() == (0, ["long waiting 0 0", "main ended"])


def test_a_third_signal_ends_a_process_whose_loop_is_blocked(programs: list[Program]) -> None:
    program = Program("blocking_for_ever", 0.1, 1)
    programs.append(program)
    program.until_started()
    for _ in range(2):
        program.send(signal.SIGTERM)
        assert not program.ended_within(0.3), "signals closer together may count as one"
    program.send(signal.SIGTERM)
    code, lines = program.end()
    assert (code, lines) == (-signal.SIGTERM, [])


async def test_the_handlers_from_before_are_in_place_again_afterwards(storage: Storage) -> None:
    def mine(number: int, frame: object) -> None:
        raise AssertionError("not while the worker runs")

    before = signal.signal(signal.SIGTERM, mine)
    try:

        async def stops(payload: object, ctx: object) -> None:
            os.kill(os.getpid(), signal.SIGTERM)

        await enqueue(storage.work, "t", None)
        await Worker(storage, {"t": stops}).run(signals=True)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


async def test_signals_are_refused_outside_the_main_thread(storage: Storage) -> None:
    def elsewhere() -> None:
        async def run() -> None:
            await Worker(storage, {"t": print}).run(signals=True)

        asyncio.run(run())

    with pytest.raises(InvalidInput, match="main thread"):
        await asyncio.to_thread(elsewhere)
