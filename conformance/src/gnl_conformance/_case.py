"""Cases are data: a rule, a tier, what they need, and an async function."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from gnl_conformance._rules import RULES, Part, Rule
from gnl_core.spi import Capability

if TYPE_CHECKING:
    from gnl_conformance._trial import Trial

Body: TypeAlias = "Callable[[Trial], Awaitable[None]]"


class Tier(Enum):
    """How a case looks for the break.

    By examples; in scripts that the reference plays as well; in simulated worlds with a clock,
    a network and crashes of their own; under real processes that are killed.
    """

    CASES = "cases"
    MODEL = "model"
    WORLD = "world"
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class Case:
    """One way to catch a store breaking `rule`."""

    rule: Rule
    name: str
    body: Body
    tier: Tier = Tier.CASES
    needs: frozenset[Capability] = frozenset()
    time_limit: float = 60.0
    part: Part = Part.JOBS

    @property
    def id(self) -> str:
        """What test ids and reports show: ``lease.fenced-a_stale_token_cannot_extend``."""
        return f"{self.rule.id}-{self.name}"


_CASES: dict[str, Case] = {}


def case(
    rule: str,
    *,
    tier: Tier = Tier.CASES,
    needs: Collection[Capability] = (),
    time_limit: float = 60.0,
    name: str | None = None,
    part: Part | None = None,
) -> Callable[[Body], Body]:
    """Register an async function as a case of `rule`; its name is a sentence.

    `part` is what the store has to keep for it; by default that of the rule.
    """

    def register(body: Body) -> Body:
        title = name or str(getattr(body, "__name__", "case"))
        of = part or RULES[rule].part
        new = Case(RULES[rule], title, body, tier, frozenset(needs), time_limit, of)
        if new.id in _CASES:
            raise ValueError(f"two cases are called {new.id}: rename one")
        _CASES[new.id] = new
        return body

    return register


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the kit, family by family, in the order of the rules."""
    package = importlib.import_module("gnl_conformance.cases")
    for module in pkgutil.iter_modules(package.__path__, "gnl_conformance.cases."):
        importlib.import_module(module.name)
    order = list(RULES)
    return tuple(sorted(_CASES.values(), key=lambda one: order.index(one.rule.id)))


def chosen(
    tiers: Collection[str] = (), rules: Collection[str] = (), cases: Collection[str] = ()
) -> tuple[Case, ...]:
    """The cases of these tiers whose rule, family or id is named; no names means all."""
    return tuple(
        one
        for one in all_cases()
        if (not tiers or one.tier.value in tiers)
        and (not rules or one.rule.id in rules or one.rule.family in rules)
        and (not cases or one.id in cases)
    )


def kept(cases: Collection[Case], parts: Collection[Part]) -> tuple[Case, ...]:
    """The cases that are about one of these parts of a store."""
    return tuple(one for one in cases if one.part in parts)
