"""What must have been seen at least once in a batch of worlds, or the batch proves little."""

from __future__ import annotations

from collections import Counter
from typing import Final

from gnl_conformance.history import History
from gnl_conformance.world.wire import EPOCH

SOMETIMES: Final = (
    "a lease was reclaimed",
    "a stale settlement was refused",
    "a stale extension was refused",
    "a job was buried by its last lease",
    "a handler declared a job dead",
    "a failed job was tried again",
    "a job was given back",
    "a handler was told of a lost lease",
    "a handler was told of a cancel",
    "a handler was told of a shutdown",
    "a handler was told of its time limit",
    "a waiting job was canceled",
    "a running job was canceled",
    "a dead job was revived",
    "a job was pruned",
    "an add was refused for depth",
    "an add met a known id",
    "a crash cut off a lease",
    "a pause outlasted a lease",
    "a blocked loop outlasted a lease",
    "a worker was stopped with work at hand",
    "a grant arrived after its end",
    "a request was lost",
    "a reply was lost after its effect",
    "a reply was overtaken",
    "the store was away",
    "a listing took several pages",
)

ENOUGH: Final = 200
"""With fewer worlds, chance alone may leave something out."""


def unseen(seen: Counter[str]) -> list[str]:
    """What was never seen."""
    return [name for name in SOMETIMES if not seen[name]]


def count(history: History, seen: Counter[str]) -> None:
    """Note what a history shows."""
    for grants in history.grants.values():
        for grant in grants:
            seen["a lease was reclaimed"] += grant.reclaimed
            ended = grant.call.ended or 0
            seen["a grant arrived after its end"] += ended // 1_000 + EPOCH > grant.expires_at
    _count_writes(history, seen)
    _count_calls(history, seen)
    seen["a job was buried by its last lease"] += _buried(history)


def _count_writes(history: History, seen: Counter[str]) -> None:
    for writes in history.settled.values():
        for write in writes:
            if not write.call.unknown:
                seen[_SETTLED.get((write.verdict, write.answer), "another settlement")] += 1
                seen["a stale settlement was refused"] += write.answer is None
    for writes in history.extended.values():
        seen["a stale extension was refused"] += sum(write.answer == "lost" for write in writes)


def _count_calls(history: History, seen: Counter[str]) -> None:
    for call in history.calls:
        answered = call.answered or {}
        key = call.op, answered.get("found", answered.get("why"))
        seen[_CALLS.get(key, "another call")] += 1
        if call.op == "add":
            seen["an add was refused for depth"] += "refused" in answered
            seen["an add met a known id"] += False in answered.get("created", ())
        seen["a job was pruned"] += answered.get("count", 0) > 0


def _buried(history: History) -> int:
    """Jobs that are dead without anybody having said so."""
    return sum(
        job["state"] == "dead"
        and not any(write.verdict == "dead" for write in history.settled.get(job["seq"], ()))
        for jobs in history.final.values()
        for job in jobs
    )


_SETTLED: Final[dict[tuple[str, str | None], str]] = {
    ("dead", "dead"): "a handler declared a job dead",
    ("retry", "waiting"): "a failed job was tried again",
    ("release", "waiting"): "a job was given back",
}

_CALLS: Final[dict[tuple[str, object], str]] = {
    ("run", "lease-lost"): "a handler was told of a lost lease",
    ("run", "canceled"): "a handler was told of a cancel",
    ("run", "shutdown"): "a handler was told of a shutdown",
    ("run", "timeout"): "a handler was told of its time limit",
    ("cancel", "waiting"): "a waiting job was canceled",
    ("cancel", "running"): "a running job was canceled",
    ("revive", "dead"): "a dead job was revived",
}
