"""Which job is next: the total claim order of the SPI, over plain heaps."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeAlias

Pair: TypeAlias = tuple[str | None, str]
"""A lane and a job type."""


@dataclass(slots=True)
class _Waiting:
    turn: int
    seqs: list[int] = field(default_factory=list)


class ReadyJobs:
    """The ready jobs of all lanes, with each pair's turn."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, _Waiting] = {}
        self._types_of_lane: dict[str | None, set[str]] = {}
        # Per type a heap of (turn, lane is named, lane name); entries of past turns are stale.
        self._turns: dict[str, list[tuple[int, bool, str]]] = {}

    def add(self, pair: Pair, seq: int, stamp: int) -> bool:
        """Put a job in; true if `stamp` became the pair's turn because it had no ready job."""
        waiting = self._pairs.get(pair)
        fresh = waiting is None
        if waiting is None:
            waiting = self._pairs[pair] = _Waiting(stamp)
            self._types_of_lane.setdefault(pair[0], set()).add(pair[1])
            self._announce(pair, stamp)
        heapq.heappush(waiting.seqs, seq)
        return fresh

    def remove(self, pair: Pair, seq: int) -> None:
        """Take a job out that is not granted."""
        waiting = self._pairs[pair]
        waiting.seqs.remove(seq)
        heapq.heapify(waiting.seqs)
        self._forget_if_empty(pair)

    def first(self, types: Collection[str]) -> tuple[Pair, int] | None:
        """The pair and sequence number that a claim of `types` grants next."""
        heads = [head for type_ in types if (head := self._head(type_)) is not None]
        if not heads:
            return None
        _, named, name = min(heads)
        lane = name if named else None
        candidates = [
            (self._pairs[lane, type_].seqs[0], type_)
            for type_ in self._types_of_lane[lane]
            if type_ in types
        ]
        seq, type_ = min(candidates)
        return (lane, type_), seq

    def grant(self, pair: Pair, stamp: int) -> None:
        """Take the first job of `pair` out, and move its whole lane to `stamp`."""
        heapq.heappop(self._pairs[pair].seqs)
        self._forget_if_empty(pair)
        for type_ in self._types_of_lane.get(pair[0], ()):
            self._pairs[pair[0], type_].turn = stamp
            self._announce((pair[0], type_), stamp)

    def _announce(self, pair: Pair, turn: int) -> None:
        lane, type_ = pair
        heapq.heappush(self._turns.setdefault(type_, []), (turn, lane is not None, lane or ""))

    def _head(self, type_: str) -> tuple[int, bool, str] | None:
        turns = self._turns.get(type_, [])
        while turns:
            turn, named, name = turns[0]
            waiting = self._pairs.get((name if named else None, type_))
            if waiting is not None and waiting.turn == turn:
                return turns[0]
            heapq.heappop(turns)
        return None

    def _forget_if_empty(self, pair: Pair) -> None:
        if self._pairs[pair].seqs:
            return
        del self._pairs[pair]
        types = self._types_of_lane[pair[0]]
        types.discard(pair[1])
        if not types:
            del self._types_of_lane[pair[0]]
