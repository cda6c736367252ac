"""The page of guarantees names every rule of the conformance kit under the promise it proves."""

from __future__ import annotations

import re
from pathlib import Path

from gnl_conformance import RULES

PAGE = Path(__file__).parents[1] / "guarantees.md"
ROW = re.compile(r"^\| \*\*(\w+)\*\* \| .* \| (.*) \|$", re.MULTILINE)


def rows() -> dict[str, str]:
    return dict(ROW.findall(PAGE.read_text(encoding="utf-8")))


def proofs() -> dict[str, list[str]]:
    """The rules of each promise, as the page should show them."""
    found: dict[str, list[str]] = {}
    for rule in RULES.values():
        found.setdefault(rule.promise, []).append(rule.id)
    return found


def test_every_promise_shows_exactly_its_rules() -> None:
    shown = {number: re.findall(r"`([a-z]+\.[a-z]+)`", cell) for number, cell in rows().items()}
    assert {number: rules for number, rules in shown.items() if rules} == proofs()


def test_every_rule_belongs_to_a_promise_of_the_page() -> None:
    assert set(proofs()) <= set(rows())
