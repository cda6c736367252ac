"""Judging what a store answered."""

from __future__ import annotations

from gnl_conformance._case import Case
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._violation import Violation


class Judging:
    """What a trial's verbs for jobs and for events build on."""

    store: RecordedStore

    def __init__(self, case: Case) -> None:
        self.case = case
        self._notes: list[str] = []

    def check(self, kept: bool, sentence: str) -> None:
        """Go on if the rule was kept here; else the sentence says what was seen."""
        if not kept:
            raise Violation(self.case.rule.id, sentence, events=self._notes[-6:])

    def equal(self, found: object, expected: object, what: str) -> None:
        """`check` that two values are the same, and show both."""
        self.check(found == expected, f"{what}: expected {_short(expected)}, got {_short(found)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 400 else f"{text[:300]} ... {text[-90:]}"
