"""Shows whether a store keeps every promise of gnl.

Subclass `StoreConformance` in a test module and run pytest, or run
``python -m gnl_conformance tests/test_conformance.py:TestMine`` without it.
"""

from gnl_conformance._case import Case, Tier, all_cases
from gnl_conformance._grade import Grade, Result, grade
from gnl_conformance._harness import StoreConformance, Transaction
from gnl_conformance._rules import RULES, Part, Rule
from gnl_conformance._violation import NotRun, Violation
from gnl_conformance.report import Report, weigh
from gnl_core.spi import Capability

__all__ = [
    "RULES",
    "Capability",
    "Case",
    "Grade",
    "NotRun",
    "Part",
    "Report",
    "Result",
    "Rule",
    "StoreConformance",
    "Tier",
    "Transaction",
    "Violation",
    "all_cases",
    "grade",
    "weigh",
]
