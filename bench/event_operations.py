"""What is measured of the event log: one function an operation, each from a fresh database."""

from __future__ import annotations

import contextlib
import functools

from arena import Arena
from contenders import Contender
from operations import Operation, Values, enqueue_bulk, enqueue_one, pickup

CONSUMED = 30_000
HISTORY = 1_000_000
PARKED = 1_000


def consume(arena: Arena, contender: Contender, *, consumers: int = 1) -> Values:
    """A log read by some consumers of different names, each in a process of its own."""
    n = _filled(arena, contender)
    return _consumed(arena, contender, n, consumers)


def behind_history(arena: Arena, contender: Contender) -> Values:
    """With a million events in front of the reach."""
    arena.fresh(contender)
    arena.call(contender, "prefill", n=arena.count(HISTORY))
    arena.call(contender, "skip", name="c0")
    arena.call(contender, "prefill", n=arena.count(CONSUMED))
    arena.steady(contender)
    return _consumed(arena, contender, arena.count(CONSUMED), 1)


def behind_parked(arena: Arena, contender: Contender) -> Values:
    """With a thousand events that failed and wait for their next attempt."""
    arena.fresh(contender)
    arena.call(contender, "park", n=PARKED, name="c0")
    arena.call(contender, "prefill", n=arena.count(CONSUMED))
    arena.steady(contender)
    return _consumed(arena, contender, arena.count(CONSUMED), 1)


def _filled(arena: Arena, contender: Contender) -> int:
    arena.fresh(contender)
    n = arena.count(CONSUMED)
    arena.call(contender, "prefill", n=n)
    arena.steady(contender)
    return n


def _consumed(arena: Arena, contender: Contender, n: int, consumers: int) -> Values:
    """Deliveries a second, from the first handler's start until each consumer has handled all."""
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(
                arena.start(contender, "work", n=n, concurrency=100, name=f"c{number}")
            )
            for number in range(consumers)
        ]
        began = min(child.wait_for("first", 60)["at"] for child in running)
        used = sum(child.cpu_seconds() for child in running)
        served = arena.served(contender)
        ended = max(child.wait_for("last", 600)["at"] for child in running)
        total = n * consumers
        return {
            "per_s": total / ((ended - began) / 1e9),
            "worker_us": (sum(child.cpu_seconds() for child in running) - used) / total * 1e6,
            "server_us": (arena.served(contender) - served) / total * 1e6,
        }


EVENTS: dict[str, Operation] = {
    "emit": enqueue_one,
    "emit-bulk": enqueue_bulk,
    "consume-1": consume,
    "consume-3": functools.partial(consume, consumers=3),
    "consume-10": functools.partial(consume, consumers=10),
    "event-pickup": pickup,
    "history": behind_history,
    "parked": behind_parked,
}
