"""A broken promise, told so that a stranger can act on it."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_conformance._rules import RULES


class Violation(AssertionError):
    """A store broke a rule. The text names rule, promise, what happened and how to run again."""

    def __init__(
        self,
        rule: str,
        sentence: str,
        *,
        events: Sequence[str] = (),
        seed: int | None = None,
        again: str | None = None,
    ) -> None:
        super().__init__(rule, sentence)
        self.rule = rule
        self.sentence = sentence
        self.events = tuple(events)
        self.seed = seed
        self.again = again

    def placed(self, *, seed: int | None = None, again: str | None = None) -> Violation:
        """The same violation, with what is known only where it was run."""
        return Violation(
            self.rule,
            self.sentence,
            events=self.events,
            seed=self.seed if seed is None else seed,
            again=self.again if again is None else again,
        )

    def __str__(self) -> str:
        rule = RULES[self.rule]
        lines = [f"{rule.id} ({rule.promise}: {rule.says}) is broken: {self.sentence}"]
        lines += [f"    {event}" for event in self.events]
        if self.seed is not None:
            lines.append(f"seed: {self.seed}")
        if self.again:
            lines.append(f"run again: {self.again}")
        return "\n".join(lines)


class WrongAnswer(Exception):
    """A harness or a method answers what no case can go on with; the message says what."""


class NotRun(Exception):
    """A case could not be run here; the message says what is missing."""


class NotApplicable(Exception):
    """A case does not apply to this store's environment; the message says why."""
