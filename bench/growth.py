"""How the drain fares as the table fills, lanes multiply and transactions stay open.

Each is compared with `empty` of the same round: a backlog in one lane and nothing else.
"""

from __future__ import annotations

import functools

from arena import DATABASE, Arena
from contenders import Contender
from operations import Operation, Values

BACKLOG = 100_000
FINISHED = 1_000_000
WAITING = 200_000


def empty(arena: Arena, contender: Contender, *, lanes: int = 1, processes: int = 1) -> Values:
    """A backlog of `lanes` organizations in turn, and nothing else in the tables."""
    arena.fresh(contender)
    return _drain_backlog(arena, contender, lanes=lanes, processes=processes)


def finished(arena: Arena, contender: Contender) -> Values:
    """With a million finished jobs in the tables."""
    arena.fresh(contender)
    arena.call(contender, "finished", n=arena.count(FINISHED))
    arena.steady(contender, vacuum=True)
    return _drain_backlog(arena, contender)


def waiting(arena: Arena, contender: Contender) -> Values:
    """The first jobs of a backlog that is twice as large."""
    arena.fresh(contender)
    arena.call(contender, "prefill", n=arena.count(WAITING))
    arena.steady(contender)
    return arena.drain(contender, arena.count(BACKLOG), whole=False)


def snapshot_held(arena: Arena, contender: Contender) -> Values:
    """With a report's REPEATABLE READ snapshot held open, so that no dead entry can be removed."""
    arena.fresh(contender)
    with arena.server.session(DATABASE) as report:
        report.run("begin isolation level repeatable read; select count(*) from pg_class")
        return _drain_backlog(arena, contender)


def transaction_held(arena: Arena, contender: Contender) -> Values:
    """With a transaction held open that has enqueued a job and does not commit."""
    arena.fresh(contender)
    with arena.start(contender, "hold") as producer:
        producer.wait_for("ok", 60)
        return _drain_backlog(arena, contender)


def _drain_backlog(
    arena: Arena, contender: Contender, *, lanes: int = 1, processes: int = 1
) -> Values:
    n = arena.count(BACKLOG)
    arena.call(contender, "prefill", n=n, lanes=lanes)
    arena.steady(contender)
    return arena.drain(contender, n, processes=processes)


GROWTH: dict[str, Operation] = {
    "empty": empty,
    "finished": finished,
    "waiting": waiting,
    "lanes-16": functools.partial(empty, lanes=16),
    "lanes-10000": functools.partial(empty, lanes=10_000),
    "snapshot": snapshot_held,
    "transaction": transaction_held,
    "workers-8": functools.partial(empty, processes=8),
}
