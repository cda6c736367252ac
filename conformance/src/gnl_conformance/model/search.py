"""Looks with Hypothesis for the shortest script on which the store differs from the reference."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from gnl_conformance._violation import NotRun, Violation
from gnl_conformance.model.script import Script, Times

EXAMPLES_A_SEED = 5
SHRINKS = 150
"""How many scripts are played at the most to shorten one that fails; counted, not timed."""


class _Enough(BaseException):
    """Ends Hypothesis's search at once; not an `Exception`, which it would take for a finding."""


def find(play: Callable[[Script], None], times: Times, seeds: range) -> Violation | None:
    """The violation on the shortest script found, or None. `play` raises `Violation`.

    The same seeds give the same scripts. Whatever else `play` raises is raised at once.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise NotRun("the model tier needs Hypothesis: pip install 'gnl-conformance[model]'")
    search = _Search(play)
    try:
        search.run(times, seeds)
    except _Enough as end:
        if end.__cause__ is not None:
            raise end.__cause__ from None
    except Exception:
        # Hypothesis's own word for a finding, or for one that did not come a second time.
        if search.best is None:
            raise
    search.leave_out()
    return search.best


class _Search:
    def __init__(self, play: Callable[[Script], None]) -> None:
        self._play = play
        self._left = SHRINKS
        self._seen: dict[Script, Violation | None] = {}
        self._script: Script = ()
        self.best: Violation | None = None

    def run(self, times: Times, seeds: range) -> None:
        from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings  # noqa: PLC0415 - an extra

        from gnl_conformance.model.strategies import scripts  # noqa: PLC0415 - needs it as well

        chosen = settings(
            max_examples=EXAMPLES_A_SEED * len(seeds),
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        seed(seeds.start)(chosen(given(scripts(times))(self._try)))()

    def _try(self, script: Script) -> None:
        if script in self._seen:
            found = self._seen[script]
        else:
            found = self._seen[script] = self._outcome(script)
        # Another rule would be another finding: this one is made short.
        if found is not None and (self.best is None or found.rule == self.best.rule):
            self._keep(script, found)
            raise found

    def _outcome(self, script: Script) -> Violation | None:
        if self.best is not None:
            self._left -= 1
            if self._left < 0:
                raise _Enough
        try:
            self._play(script)
        except Violation as found:
            return found
        except Exception as error:
            raise _Enough from error
        return None

    def _keep(self, script: Script, found: Violation) -> None:
        if self.best is None or len(found.events) <= len(self.best.events):
            self._script, self.best = script, found

    def leave_out(self) -> None:
        """Leave out, one by one, the steps that Hypothesis had no time to leave out."""
        place = len(self._script) if SHRINKS else 0
        while place > 0:
            place -= 1
            shorter = self._script[:place] + self._script[place + 1 :]
            try:
                self._play(shorter)
            except Violation as found:
                if self.best is not None and found.rule == self.best.rule:
                    self._script, self.best = shorter, found
