"""What is to be run: the options that the command and the pytest plugin have in common."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

from gnl_conformance._case import Case, Tier, chosen, kept
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rules import RULES

SEEDS_HELP = "how many seeds the model and world tiers try, or which: 200, or 40-59"
TIER_HELP = f"tiers to run, of {', '.join(tier.value for tier in Tier)}; by default all"
RULES_HELP = "rules or families to run, e.g. lease,list.ends; by default all"
SECONDS_HELP = "how long the process tier torments the store"
REQUIRE_HELP = "a tier or server that cannot run is a failure (so does GNL_REQUIRE being set)"


@dataclass(frozen=True, slots=True)
class Choice:
    """Which cases to run, and how much of them; None leaves what the harness says."""

    tiers: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    seeds: range | None = None
    seconds: float | None = None

    @property
    def cases(self) -> tuple[Case, ...]:
        """The chosen cases; none, if no case is of these tiers and of these rules."""
        return chosen(self.tiers, self.rules)

    def cases_for(self, harness: type[StoreConformance]) -> tuple[Case, ...]:
        """Those of them that are about a part which the store keeps."""
        return kept(self.cases, harness.parts)

    def configure(self, harness: StoreConformance) -> None:
        """Tell the harness how much to do."""
        if self.seeds is not None:
            harness.seeds = harness.worlds = self.seeds
        if self.seconds is not None:
            harness.seconds = self.seconds


def read_choice(
    tiers: str | None, rules: str | None, seeds: str | None, seconds: float | None
) -> Choice:
    """The choice that options spell. Raises `ValueError` that says what there is instead."""
    families = {rule.family for rule in RULES.values()}
    return Choice(
        _names(tiers, [tier.value for tier in Tier], "tier"),
        _names(rules, {*RULES, *families}, "rule or family"),
        None if seeds is None else read_seeds(seeds),
        seconds,
    )


def read_seeds(text: str) -> range:
    """``200`` is the first two hundred seeds, ``40-59`` are those from 40 to 59."""
    first, dash, last = text.partition("-")
    try:
        found = range(int(first), int(last) + 1) if dash else range(int(first))
    except ValueError:
        found = range(0)
    if not found or found.start < 0:
        raise ValueError(f"seeds {text!r}: say how many, as 200, or which, as 40-59")
    return found


def required(*, asked_for: bool) -> bool:
    """Whether what cannot run is a failure: by the option, or by the environment."""
    return asked_for or bool(os.environ.get("GNL_REQUIRE"))


def seeds_text(seeds: range) -> str:
    """The seeds as `read_seeds` reads them: ``40-59``."""
    return f"{seeds.start}-{seeds.stop - 1}"


def seeds_of(harness: StoreConformance, tier: Tier) -> range:
    """The seeds that a tier tries on this harness."""
    return harness.worlds if tier is Tier.WORLD else harness.seeds


def one_of(again: str, harness: StoreConformance, tier: Tier, seed: int) -> str:
    """The command that repeats one seed, from the one that repeats all."""
    every = f"seeds {seeds_text(seeds_of(harness, tier))}"
    return again.replace(every, f"seeds {seeds_text(range(seed, seed + 1))}")


def more_to_repeat(harness: StoreConformance, case: Case, prefix: str) -> str:
    """The options, each beginning with `prefix`, that make a case do the same once more."""
    if case.tier is Tier.CASES:
        return ""
    options = f" {prefix}seeds {seeds_text(seeds_of(harness, case.tier))}"
    return options + (f" {prefix}seconds {harness.seconds:g}" if case.tier is Tier.PROCESS else "")


def _names(text: str | None, known: Collection[str], what: str) -> tuple[str, ...]:
    names = tuple(name for name in (text or "").split(",") if name)
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ValueError(
            f"no such {what}: {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    return names
