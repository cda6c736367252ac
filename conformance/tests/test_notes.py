"""The calls on a store as a violation shows them: with all that decides, and not endless."""

import asyncio

from gnl_conformance._notes import new_events, new_jobs
from gnl_conformance._recorder import RecordedStore
from gnl_core.memory import MemoryStore
from gnl_core.spi import SECOND, NewEvent, NewJob


def test_an_add_shows_what_decides_the_order_of_its_jobs() -> None:
    jobs = [
        NewJob("j0", "a", "t", "null", delay=3 * SECOND),
        NewJob("j1", None, "u", "null", run_at=7),
        NewJob("j2", None, "t", '"x"', max_attempts=2),
    ]
    assert new_jobs(jobs) == (
        "[('a', 'j0', 't', delay=3000000), (None, 'j1', 'u', run_at=7),"
        " (None, 'j2', 't', max_attempts=2)]"
    )
    notes: list[str] = []
    asyncio.run(RecordedStore(MemoryStore(lambda: 0), notes).jobs.add(jobs, max_depth=9))
    assert notes[0].startswith(f"add({new_jobs(jobs)}, max_depth=9) -> Added(")


def test_an_append_shows_keys() -> None:
    events = [NewEvent("e0", None, "news", "0", "k"), NewEvent("e1", "a", "news", "0")]
    assert new_events(events) == "[('news', None, 'e0', key='k'), ('news', 'a', 'e1')]"


def test_a_call_of_thousands_is_cut_short() -> None:
    shown = new_jobs([NewJob(f"{n}" * 400, None, "t", "null") for n in range(5_000)])
    assert shown.endswith(", ... (5000 in all)]")
    assert len(shown) < 3_000
