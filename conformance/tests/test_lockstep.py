"""The lockstep driver agrees with a right store and notices a wrong one."""

import asyncio
import random

import pytest

from gnl_conformance.lockstep import Clock, Pair
from gnl_core.memory import MemoryStore
from gnl_core.memory._jobs import JobTable
from gnl_core.spi import Hold, JobState, Release, Retry, Verdict


class SpendsWhatIsGivenBack(JobTable):
    """Counts an attempt that was given back."""

    def _settle(self, hold: Hold, verdict: Verdict) -> JobState | None:
        kept = Retry(verdict.delay, "given back") if isinstance(verdict, Release) else verdict
        return super()._settle(hold, kept)


def compare(table: type[JobTable]) -> None:
    clock = Clock()
    pair = Pair(random.Random(1), clock, MemoryStore(clock, table=table).jobs)
    asyncio.run(pair.run(200))


def test_the_reference_agrees_with_itself() -> None:
    compare(JobTable)


def test_a_store_that_differs_is_told_apart() -> None:
    with pytest.raises(AssertionError, match="the reference"):
        compare(SpendsWhatIsGivenBack)
