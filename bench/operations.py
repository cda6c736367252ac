"""What is measured: one function an operation, each from a fresh database.

The numbers it answers are kept as they are; `report.py` says which of them it shows.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeAlias

from arena import DATABASE, Arena
from contenders import Contender

Values: TypeAlias = dict[str, float]
Operation: TypeAlias = Callable[[Arena, Contender], Values]

IDLE_WORKERS = 20
STATEMENTS = (
    "select coalesce(sum(calls), 0) from pg_stat_statements"
    " where toplevel and query not ilike '%pg_stat_statements%'"
    " and dbid = (select oid from pg_database where datname = current_database())"
)


def enqueue_one(arena: Arena, contender: Contender) -> Values:
    """One job a call, one call after the other."""
    return _enqueue(arena, contender, "one", arena.count(3_000))


def enqueue_bulk(arena: Arena, contender: Contender) -> Values:
    """Many jobs in the contender's own call for that, checks and encoding included."""
    return _enqueue(arena, contender, "bulk", arena.count(contender.bulk))


def drain(arena: Arena, contender: Contender) -> Values:
    """A backlog of jobs that do nothing, one worker process."""
    n = _backlog(arena, contender, contender.drained)
    return arena.drain(contender, n)


def drain_by_two(arena: Arena, contender: Contender) -> Values:
    """The same, two worker processes."""
    n = _backlog(arena, contender, contender.drained)
    return arena.drain(contender, n, processes=2)


def drain_awaited(arena: Arena, contender: Contender) -> Values:
    """Handlers that wait 10 ms, 100 at once.

    On paper that is 10,000/s; `slots`, the same handlers without a queue, says what it really is.
    """
    n = _backlog(arena, contender, contender.awaited)
    return arena.drain(contender, n, wait=0.01)


def pickup(arena: Arena, contender: Contender) -> Values:
    """From before the enqueue call to the handler's start; an idle worker, a job every 50 ms."""
    arena.fresh(contender)
    n = arena.count(200, least=40)
    # The producer's first call, which opens everything, is a job too, but not one with a time.
    with arena.start(contender, "work", n=n + 1, concurrency=100) as worker:
        worker.wait_for("ready", 60)
        time.sleep(3)
        arena.call(contender, "produce", n=n, interval=0.05)
        latencies = sorted(worker.wait_for("last", 60)["latencies_ms"])
    return {
        "p50_ms": latencies[len(latencies) // 2],
        "p95_ms": latencies[int(len(latencies) * 0.95)],
        "max_ms": latencies[-1],
    }


def idle(arena: Arena, contender: Contender) -> Values:
    """What 20 worker processes without work ask of the server."""
    arena.fresh(contender)
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(arena.start(contender, "work", concurrency=100))
            for _ in range(IDLE_WORKERS)
        ]
        for worker in workers:
            worker.wait_for("ready", 120)
        time.sleep(arena.seconds(25, 15))  # polls that back off reach their longest wait
        session = stack.enter_context(arena.server.session(DATABASE))
        calls, began = int(session.run(STATEMENTS)[0]), time.monotonic()
        used = sum(worker.cpu_seconds() for worker in workers)
        time.sleep(arena.seconds(30, 10))
        seconds = time.monotonic() - began
        return {
            "statements_per_s": (int(session.run(STATEMENTS)[0]) - calls) / seconds,
            "worker_cpu_percent": (sum(w.cpu_seconds() for w in workers) - used) / seconds * 100,
        }


def _enqueue(arena: Arena, contender: Contender, operation: str, n: int) -> Values:
    arena.fresh(contender)
    served = arena.served(contender)
    with arena.start(contender, operation, n=n) as producer:
        answer = producer.wait_for("ok", 600)
        served = arena.served(contender) - served
    return {
        "per_s": n / answer["seconds"],
        "producer_us": answer["cpu"] / n * 1e6,
        "server_us": served / n * 1e6,
    }


def _backlog(arena: Arena, contender: Contender, n: int) -> int:
    arena.fresh(contender)
    n = arena.count(n)
    arena.call(contender, "prefill", n=n)
    arena.steady(contender)
    return n


OPERATIONS: dict[str, Operation] = {
    "one": enqueue_one,
    "bulk": enqueue_bulk,
    "drain": drain,
    "drain-2": drain_by_two,
    "awaited": drain_awaited,
    "pickup": pickup,
    "idle": idle,
}
