"""A store that is not finished yet is told so in one line, and not by a traceback."""

from gnl_conformance import all_cases, grade
from gnl_conformance.mutants.reference import ReferenceConformance
from gnl_core.memory import MemoryStore
from gnl_core.memory._store import MemoryJobs
from gnl_core.spi import JobState


class HalfWrittenJobs(MemoryJobs):
    async def cancel(self, org_id: str | None, id: str) -> JobState | None:
        raise NotImplementedError

    async def revive(self, org_id: str | None, id: str) -> JobState | None:
        raise NotImplementedError("next week")


class HalfWrittenStore(MemoryStore):
    @property
    def jobs(self) -> MemoryJobs:
        return HalfWrittenJobs(self._data)


class HalfWritten(ReferenceConformance):
    store = HalfWrittenStore


def why(rule: str) -> str:
    (first, *_) = [case for case in all_cases() if case.rule.id == rule]
    found = grade(HalfWritten(), first)
    assert found.outcome == "error"
    return found.why


def test_a_call_that_is_not_written_yet_is_named() -> None:
    (line,) = why("attempt.cancel").splitlines()
    assert line.startswith("not written yet: `cancel` in ")
    assert "test_half_written.py:" in line


def test_what_its_author_says_of_it_is_shown() -> None:
    (line,) = why("attempt.revive").splitlines()
    assert line.endswith(": next week")
