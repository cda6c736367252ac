from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import NoReturn

import pytest

from gnl_core.runtime._threads import DaemonThreads

color: contextvars.ContextVar[str] = contextvars.ContextVar("color", default="none")


async def test_calls_see_the_callers_context_and_do_not_change_it() -> None:
    threads = DaemonThreads("t")
    color.set("red")

    def look() -> str:
        seen = color.get()
        color.set("blue")
        return seen

    assert await threads.run(look) == "red"
    assert color.get() == "red"
    threads.close()


async def test_idle_threads_are_reused_and_end_when_closed() -> None:
    threads = DaemonThreads("reused")
    seen = {await threads.run(threading.current_thread) for _ in range(20)}
    assert len(seen) == 1
    threads.close()
    for thread in seen:
        thread.join(20)
        assert not thread.is_alive()


async def test_as_many_threads_as_calls_at_once() -> None:
    threads, barrier = DaemonThreads("t"), threading.Barrier(5)
    await asyncio.gather(*(threads.run(lambda: barrier.wait(20)) for _ in range(5)))
    threads.close()


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit, StopIteration])
async def test_what_would_break_the_loop_comes_wrapped(kind: type[BaseException]) -> None:
    def fail() -> NoReturn:
        raise kind

    threads = DaemonThreads("t")
    with pytest.raises(RuntimeError, match=kind.__name__):
        await threads.run(fail)
    threads.close()


async def test_a_caller_that_stopped_waiting_leaves_its_thread_counted_as_busy() -> None:
    threads, gate = DaemonThreads("t"), threading.Event()
    stuck = asyncio.create_task(threads.run(lambda: gate.wait(20)))
    await asyncio.sleep(0.01)
    stuck.cancel()
    assert await asyncio.wait_for(threads.run(lambda: "free"), 20) == "free"
    gate.set()
    threads.close()


def test_a_call_that_ends_after_its_loop_ends_quietly() -> None:
    gate, left = threading.Event(), []

    async def main() -> None:
        threads = DaemonThreads("late")
        call = asyncio.create_task(threads.run(lambda: gate.wait(20)))
        await asyncio.sleep(0.01)
        left.extend(t for t in threading.enumerate() if t.name.startswith("late"))
        call.cancel()
        threads.close()

    asyncio.run(main())
    gate.set()
    assert left
    for thread in left:
        thread.join(20)
        assert not thread.is_alive()
