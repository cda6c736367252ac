"""A difference between the store and the reference, with the rule that it breaks."""

from __future__ import annotations

from typing import Final

RULES_NAMED: Final = (
    "enqueue.once",
    "enqueue.known",
    "enqueue.order",
    "enqueue.atomic",
    "enqueue.depth",
    "enqueue.payload",
    "enqueue.delay",
    "lane.types",
    "lane.order",
    "lane.limit",
    "lease.exclusive",
    "lease.fenced",
    "lease.token",
    "lease.reclaimed",
    "lease.boundary",
    "lease.extend",
    "lease.held",
    "lease.batch",
    "attempt.bounded",
    "attempt.budget",
    "attempt.retry",
    "attempt.release",
    "attempt.dead",
    "attempt.cancel",
    "attempt.revive",
    "attempt.history",
    "attempt.result",
    "attempt.run",
    "list.snapshot",
    "list.lane",
    "list.all",
    "list.states",
    "list.ends",
    "store.kept",
    "store.errors",
    "store.get",
    "store.depth",
    "store.lanes",
    "store.due",
    "store.prune",
    "store.clock",
)
"""The rules that a difference can be told to break; each is a case of the model tier."""


class Difference(Exception):
    """The store answered otherwise than the reference; `rule` is the promise that this breaks."""

    def __init__(self, rule: str, sentence: str) -> None:
        assert rule in RULES_NAMED, f"no case of the model tier would report {rule}"
        super().__init__(rule, sentence)
        self.rule = rule
        self.sentence = sentence
