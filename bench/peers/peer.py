"""What every contender's program shares: its command line, the payload, the reports.

A contender is one file with a subclass of `Peer`, run in a virtual environment of its own:

    python gnl_queue.py OPERATION --target URL_OR_PATH [--variant TEXT] [--n N] ...

It answers with JSON lines on standard output, one a report. CLOCK_MONOTONIC is one clock for all
processes of a machine, so a latency may begin in one process and end in another.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager

PAD = "x" * 60
FINISHED_PAYLOAD = f'{{"i":1,"t0":0,"kind":"import-row","pad":"{PAD}"}}'

Payload = dict[str, int | str]
OnJob = Callable[[Payload], None]


def payload(i: int, t0: int = 0) -> Payload:
    """About 100 bytes of JSON, the same for everyone. `t0`: when it was enqueued, or 0."""
    return {"i": i, "t0": t0, "kind": "import-row", "pad": PAD}


class Peer:
    """What a contender implements; timing, counting and reporting are done here."""

    name = "c0"
    """Of a consumer of events."""

    def __init__(self, target: str, variant: str) -> None:
        self.target = target
        self.variant = variant

    async def setup(self) -> None:
        """Make the tables, in an empty database."""

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        """Hold a connection for the `enqueue` calls within."""
        yield

    async def enqueue_one(self, one: Payload) -> None:
        raise NotImplementedError

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        """Use the contender's own call for many jobs; a loop if it has none."""
        raise NotImplementedError

    async def prefill(self, many: Sequence[Payload], lanes: int) -> None:
        """Fill the backlog of `lanes` organizations in turn; not timed."""
        if lanes > 1:
            raise NotImplementedError
        await self.enqueue_bulk(many)

    async def prefill_finished(self, n: int) -> None:
        """Leave `n` finished jobs as the contender itself would."""
        raise NotImplementedError

    def open_enqueue(self) -> AbstractAsyncContextManager[None]:
        """Enqueue one job in a transaction that stays open within."""
        raise NotImplementedError

    async def park(self, n: int) -> None:
        """Have `n` events fail for the consumer `name`, not to be tried again for an hour."""
        raise NotImplementedError

    async def skip(self) -> None:
        """Make the consumer `name` known, behind all that is in the log."""
        raise NotImplementedError

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        """Run a worker for ever. A handler is `on_job`, then `wait` seconds of asyncio sleep."""
        raise NotImplementedError


def say(**report: object) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def counting_handler(n: int) -> OnJob:
    """A handler that reports its first and its n-th call, and the latencies until then."""
    latencies: list[float] = []
    count = 0
    now = time.monotonic_ns

    def on_job(one: Payload) -> None:
        nonlocal count
        called = now()
        count += 1
        if count == 1:
            say(event="first", at=called)
        if one["t0"]:
            latencies.append((called - int(one["t0"])) / 1e6)
        if count == n:
            say(event="last", at=now(), latencies_ms=latencies)

    return on_job


async def _enqueue_one(peer: Peer, n: int) -> None:
    await peer.enqueue_one(payload(-1))  # connection, prepared statement, first page
    began, used = time.monotonic(), time.process_time()
    for i in range(n):
        await peer.enqueue_one(payload(i))
    say(event="ok", seconds=time.monotonic() - began, cpu=time.process_time() - used)


async def _enqueue_bulk(peer: Peer, n: int) -> None:
    many = [payload(i) for i in range(n)]
    await peer.enqueue_one(payload(-1))
    began, used = time.monotonic(), time.process_time()
    await peer.enqueue_bulk(many)
    say(event="ok", seconds=time.monotonic() - began, cpu=time.process_time() - used)


async def _prefill(peer: Peer, n: int, lanes: int) -> None:
    for first in range(0, n, 30_000):
        await peer.prefill([payload(i) for i in range(first, min(n, first + 30_000))], lanes)
    say(event="ok")


async def _produce(peer: Peer, n: int, interval: float) -> None:
    await peer.enqueue_one(payload(-1))
    due = time.monotonic()
    for i in range(n):
        due += interval
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        await peer.enqueue_one(payload(i, time.monotonic_ns()))
    say(event="ok")


async def _hold(peer: Peer) -> None:
    async with peer.open_enqueue():
        say(event="ok")
        await asyncio.sleep(3_600)


async def _run(peer: Peer, options: argparse.Namespace) -> None:
    match options.operation:
        case "setup":
            await peer.setup()
            say(event="ok")
        case "work":
            say(event="ready")
            await peer.work(options.concurrency, counting_handler(options.n), options.wait)
        case "hold":
            await _hold(peer)
        case "park":
            await peer.park(options.n)
            say(event="ok")
        case "skip":
            await peer.skip()
            say(event="ok")
        case "finished":
            await peer.prefill_finished(options.n)
            say(event="ok")
        case _:
            async with peer.producing():
                await _fill(peer, options)


async def _fill(peer: Peer, options: argparse.Namespace) -> None:
    match options.operation:
        case "one":
            await _enqueue_one(peer, options.n)
            await asyncio.sleep(60)  # ended by the harness, once it has seen our server process
        case "bulk":
            await _enqueue_bulk(peer, options.n)
            await asyncio.sleep(60)
        case "prefill":
            await _prefill(peer, options.n, options.lanes)
        case "produce":
            await _produce(peer, options.n, options.interval)


def main(peer: type[Peer]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "operation",
        choices=[
            *("setup", "one", "bulk", "prefill", "finished", "hold", "work", "produce"),
            *("park", "skip"),
        ],
    )
    parser.add_argument("--target", required=True)
    parser.add_argument("--variant", default="")
    parser.add_argument("--name", default="c0")
    parser.add_argument("--n", type=int, default=0)
    parser.add_argument("--lanes", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=10)
    parser.add_argument("--wait", type=float, default=0.0)
    parser.add_argument("--interval", type=float, default=0.05)
    options = parser.parse_args()
    one = peer(options.target, options.variant)
    one.name = options.name
    asyncio.run(_run(one, options))
    sys.stdout.flush()
    os._exit(0)  # leave at once: some libraries keep threads
