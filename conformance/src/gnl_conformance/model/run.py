"""One run of the model tier on one harness: which clock, which scripts, and what was found."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Final

from gnl_conformance._harness import StoreConformance, owns_its_time
from gnl_conformance._recorder import RecordedStore
from gnl_conformance._violation import Violation
from gnl_conformance.model.difference import Difference
from gnl_conformance.model.lockstep import Lockstep
from gnl_conformance.model.script import MOVED, RUNNING, STANDING, STILL, Script, Times
from gnl_conformance.model.search import find
from gnl_core.spi import SECOND, Duration, Instant, Store

_READS: Final = ("get(", "page(", "depth(", "lanes(")
_TIMES: Final = {
    (True, True): STILL,
    (True, False): STANDING,
    (False, True): MOVED,
    (False, False): RUNNING,
}


async def run_model(harness: StoreConformance) -> Violation | None:
    """Play a few scripts for each of `harness.seeds`; the violation found, on a short script.

    Hypothesis searches in a thread of its own; all calls on stores are made by this task.
    """
    stage = Stage(harness)
    try:
        times = await stage.times()
        asked: asyncio.Queue[tuple[Script, Future[None]] | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def play(script: Script) -> None:
            played: Future[None] = Future()
            loop.call_soon_threadsafe(asked.put_nowait, (script, played))
            played.result()

        search = asyncio.ensure_future(asyncio.to_thread(find, play, times, harness.seeds))
        search.add_done_callback(lambda _: asked.put_nowait(None))
        while (job := await asked.get()) is not None:
            await _answer(stage, *job)
        return search.result()
    finally:
        await stage.close()


async def _answer(stage: Stage, script: Script, played: Future[None]) -> None:
    """Play a script, and tell the thread that waits for it how that went."""
    try:
        await stage.play(script)
    except Exception as error:
        played.set_exception(error)
    except BaseException:
        played.set_exception(RuntimeError("the run was ended"))
        raise
    else:
        played.set_result(None)


class Stage:
    """The store that scripts are played on: emptied after each, and a new one after a finding."""

    def __init__(self, harness: StoreConformance) -> None:
        self._harness = harness
        self._stack = AsyncExitStack()
        self._space = ""
        self._store: Store | None = None
        self._still = False

    async def times(self) -> Times:
        """The times that scripts may use, for the clock that this store turns out to have."""
        store = await self._opened()
        before = await store.now()
        await asyncio.sleep(0.02)
        self._still = await store.now() == before
        return _TIMES[self._still, owns_its_time(self._harness)]

    async def play(self, script: Script) -> None:
        """Play one script. Raises `Violation`."""
        events: list[str] = []
        store = RecordedStore(await self._opened(), events)

        async def move(by: Duration) -> Instant:
            events.append(f"the clock is moved by {by / SECOND:g} s")
            return await self._move(store, by)

        lockstep = Lockstep(store, still=self._still, move=move)
        empty = False
        try:
            await lockstep.play(script)
            empty = await lockstep.clear()
        except Difference as found:
            raise Violation(found.rule, found.sentence, events=_proof(events)) from found
        finally:
            if not empty:
                await self.close()

    async def close(self) -> None:
        """Close and drop what is open."""
        if self._store is not None:
            self._store = None
            await self._stack.aclose()
            await self._harness.drop(self._space)

    async def _opened(self) -> Store:
        if self._store is None:
            self._space = f"gnl{uuid.uuid4().hex[:12]}"
            self._store = await self._stack.enter_async_context(self._harness.connect(self._space))
            await self._store.upgrade()
        return self._store

    async def _move(self, store: RecordedStore, by: Duration) -> Instant:
        """Move the clock, and wait until the store shows it."""
        target = await store.now() + by
        await self._harness.age(self._space, by / SECOND)
        async with asyncio.timeout(10):
            while (now := await store.now()) < target:  # noqa: ASYNC110 - its clock is no event
                await asyncio.sleep(0.005)
        return now


def _proof(events: list[str]) -> list[str]:
    """The calls that changed something, and the last one."""
    return [event for event in events[:-1] if not event.startswith(_READS)] + events[-1:]
