"""One run of the model tier on one harness: which clock, which scripts, and what was found."""

from __future__ import annotations

import asyncio
import uuid
from typing import Final

from gnl_conformance._harness import StoreConformance, owns_its_time
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._violation import Violation
from gnl_conformance.model.difference import Difference
from gnl_conformance.model.lockstep import Lockstep
from gnl_conformance.model.script import MOVED, RUNNING, STANDING, STILL, Script
from gnl_conformance.model.search import find
from gnl_core.spi import SECOND, Duration, Instant

_READS: Final = ("get(", "page(", "depth(", "lanes(")
_TIMES: Final = {
    (True, True): STILL,
    (True, False): STANDING,
    (False, True): MOVED,
    (False, False): RUNNING,
}


async def run_model(harness: StoreConformance) -> Violation | None:
    """Play `harness.seeds` times a few scripts; the violation found, on a short script."""
    still = await _stands_still(harness)
    times = _TIMES[still, owns_its_time(harness)]
    loop = asyncio.get_running_loop()
    ended = False

    def play(script: Script) -> None:
        # In Hypothesis's thread. What waits for the loop is woken also when the loop gives up.
        if ended:
            raise RuntimeError("the run was ended")
        asyncio.run_coroutine_threadsafe(_play(harness, script, still=still), loop).result()

    try:
        return await asyncio.to_thread(find, play, times, harness.seeds)
    finally:
        ended = True


async def _stands_still(harness: StoreConformance) -> bool:
    space = _new_space()
    try:
        async with harness.connect(space) as store:
            await store.upgrade()
            before = await store.now()
            await asyncio.sleep(0.02)
            return await store.now() == before
    finally:
        await harness.drop(space)


async def _play(harness: StoreConformance, script: Script, *, still: bool) -> None:
    space, events = _new_space(), list[str]()
    try:
        async with harness.connect(space) as opened:
            await opened.upgrade()
            store = RecordedStore(opened, events)

            async def move(by: Duration) -> Instant:
                events.append(f"the clock is moved by {by / SECOND:g} s")
                return await _move(harness, space, store, by)

            await Lockstep(store, still=still, move=move).play(script)
    except Difference as found:
        raise Violation(found.rule, found.sentence, events=_proof(events)) from found
    finally:
        await harness.drop(space)


async def _move(
    harness: StoreConformance, space: str, store: RecordedStore, by: Duration
) -> Instant:
    """Move the clock, and wait until the store shows it."""
    target = await store.now() + by
    await harness.age(space, by / SECOND)
    async with asyncio.timeout(10):
        while (now := await store.now()) < target:  # noqa: ASYNC110 - its clock is no event
            await asyncio.sleep(0.005)
    return now


def _proof(events: list[str]) -> list[str]:
    """The calls that changed something, and the last one."""
    return [event for event in events[:-1] if not event.startswith(_READS)] + events[-1:]


def _new_space() -> str:
    return f"gnl{uuid.uuid4().hex[:12]}"
