"""Runs one case on one harness, and says how it went."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from gnl_conformance._case import Case, Tier
from gnl_conformance._choice import one_of, seeds_of, seeds_text
from gnl_conformance._harness import StoreConformance
from gnl_conformance._spaces import check_spaces
from gnl_conformance._trial import Trial
from gnl_conformance._violation import NotApplicable, NotRun, Violation, WrongAnswer

STANDS = "deviation_still_stands"


class Result(StrEnum):
    """What became of a case. Only PASSED is a pass."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    DEVIATES = "deviates"
    NOT_APPLICABLE = "not-applicable"
    NOT_RUN = "not-run"


@dataclass(frozen=True, slots=True)
class Grade:
    """The outcome of one case, as the report shows it."""

    rule: str
    promise: str
    case: str
    tier: str
    outcome: str
    why: str
    seconds: float
    seeds: str = ""
    """Which seeds were tried, as ``--seeds`` takes them; empty for examples."""
    seed: int | None = None
    """The one that showed the break."""

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


def grade(harness: StoreConformance, case: Case, *, again: str | None = None) -> Grade:
    """Run `case` on its own event loop. Never raises for what the store does."""
    began = time.perf_counter()
    result, why, seed = _judge(harness, case, again)
    seconds = round(time.perf_counter() - began, 3)
    rule = case.rule
    tier = case.tier
    seeds = "" if tier is Tier.CASES else seeds_text(seeds_of(harness, tier))
    return Grade(
        rule.id, rule.promise, case.name, tier.value, result.value, why, seconds, seeds, seed
    )


def _judge(
    harness: StoreConformance, case: Case, again: str | None
) -> tuple[Result, str, int | None]:
    not_about = _not_about(harness, case)
    if not_about is not None:
        return Result.NOT_APPLICABLE, not_about, None
    try:
        check_spaces(harness)
        with asyncio.Runner() as runner:
            runner.run(_run(harness, case))
    except Violation as violation:
        if again is not None and violation.seed is not None and case.tier is Tier.WORLD:
            again = one_of(again, harness, case.tier, violation.seed)
        return _broken(harness, violation.placed(again=again))
    except (NotApplicable, NotRun) as reason:
        kind = Result.NOT_RUN if isinstance(reason, NotRun) else Result.NOT_APPLICABLE
        return kind, str(reason), None
    except Exception as error:
        return Result.ERROR, _told(error, again), None
    return Result.PASSED, "", None


def _not_about(harness: StoreConformance, case: Case) -> str | None:
    """Why the case is not about this store; None: it is."""
    if case.part not in harness.parts:
        return f"is about {case.part.value}, which the harness does not declare among its parts"
    missing = case.needs - frozenset(harness.capabilities)
    if not missing:
        return None
    names = ", ".join(sorted(one.value for one in missing))
    return f"needs {names}, which the harness does not declare"


def _broken(harness: StoreConformance, found: Violation) -> tuple[Result, str, int | None]:
    link = harness.deviations.get(found.rule)
    if link is None:
        return Result.FAILED, str(found), found.seed
    return Result.DEVIATES, f"declared: {link}\n{found}", found.seed


async def _run(harness: StoreConformance, case: Case) -> None:
    try:
        async with asyncio.timeout(case.time_limit), Trial(harness, case) as trial:
            await case.body(trial)
    except TimeoutError as error:
        raise RuntimeError(f"a wait ended, or the case ran over {case.time_limit} s") from error


def _told(error: Exception, again: str | None) -> str:
    if isinstance(error, WrongAnswer):
        return str(error)
    if isinstance(error, NotImplementedError):
        return _not_written(error)
    return f"{_last_words(error)}\nrun again: {again}"


def _not_written(error: NotImplementedError) -> str:
    """One line instead of a traceback: stores are written step by step."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    said = f": {error}" if str(error) else ""
    return f"not written yet: `{where.name}` in {where.filename}:{where.lineno}{said}"


def _last_words(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)).strip()[-3_000:]


def stands(harness: type[StoreConformance], rule: str, grades: Sequence[Grade]) -> str | None:
    """Why the declared deviation from `rule` is no longer true, or None.

    `grades` are those of all cases of the rule. A deviation is strict: once the store keeps the
    rule, the declaration has to go.
    """
    outcomes = {one.outcome for one in grades if one.rule == rule}
    if outcomes - {Result.NOT_APPLICABLE.value} != {Result.PASSED.value}:
        return None
    return f"{harness.__name__} declares a deviation from {rule}, but keeps it: take it away"
