"""A store is graded for the parts that it declares, and its verdict names them."""

from pathlib import Path
from typing import ClassVar

import pytest

from gnl_conformance import Case, Grade, Part, StoreConformance, all_cases, grade
from gnl_conformance._choice import read_choice
from gnl_conformance._harness import check_declarations
from gnl_conformance._load import load_harness
from gnl_conformance.report import CONFORMS, PARTIAL, weigh

HARNESS = """
from gnl_conformance import Part, StoreConformance

class TestMine(StoreConformance):
    parts = PARTS
"""


class OfJobs(StoreConformance):
    pass


class OfBoth(StoreConformance):
    parts: ClassVar[frozenset[Part]] = frozenset(Part)


def passed(*parts: Part) -> list[Grade]:
    return [graded(case) for case in all_cases() if case.part in parts]


def graded(case: Case) -> Grade:
    return Grade(case.rule.id, case.rule.promise, case.name, case.tier.value, "passed", "", 0.1)


def test_a_store_of_jobs_conforms_for_jobs_and_no_more() -> None:
    found = weigh(OfJobs, passed(Part.JOBS))
    assert found.verdict == CONFORMS
    assert found.line.startswith("gnl conformance of OfJobs: CONFORMS for jobs (")
    assert found.as_dict()["parts"] == ["jobs"]


def test_a_store_of_both_conforms_for_both() -> None:
    found = weigh(OfBoth, passed(*Part))
    assert found.line.startswith("gnl conformance of OfBoth: CONFORMS for jobs and events (")
    assert found.as_dict()["parts"] == ["events", "jobs"]


def test_a_declared_part_that_was_not_graded_is_a_gap() -> None:
    found = weigh(OfBoth, passed(Part.JOBS))
    assert found.verdict == PARTIAL
    assert "PARTIAL for jobs and events: left out: " in found.line


def test_cases_of_other_parts_are_not_run() -> None:
    everything = read_choice(None, None, None, None)
    assert {case.part for case in everything.cases_for(OfJobs)} == {Part.JOBS}
    assert everything.cases_for(OfBoth) == everything.cases
    of_events = read_choice(None, "log,delivery,quarantine", None, None)
    assert of_events.cases_for(OfJobs) == ()


def test_a_case_of_another_part_does_not_apply() -> None:
    case = next(one for one in all_cases() if one.part is Part.EVENTS)
    found = grade(OfJobs(), case)
    assert found.outcome == "not-applicable"
    assert found.why == "is about events, which the harness does not declare among its parts"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ("{'jobs'}", "TestMine.parts has 'jobs', which is no Part"),
        ("{Part.EVENTS}", "TestMine.parts is without Part.JOBS, which every store keeps"),
    ],
)
def test_a_declaration_of_what_does_not_exist_is_refused(
    tmp_path: Path, parts: str, said: str
) -> None:
    file = tmp_path / "test_mine.py"
    file.write_text(HARNESS.replace("PARTS", parts))
    with pytest.raises(ValueError, match=said):
        load_harness(f"{file}:TestMine")


def test_what_the_kit_declares_itself_is_taken() -> None:
    check_declarations(OfJobs)
    check_declarations(OfBoth)
