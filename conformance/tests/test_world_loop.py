"""Virtual time, and processes that are cut off, stopped, and blocked."""

import asyncio
import random

import pytest

from gnl_conformance.world.loop import SECOND, VirtualTime
from gnl_conformance.world.process import Beside, Process

HOUR = 3_600


def world() -> VirtualTime:
    return VirtualTime(random.Random(1))


def process(time: VirtualTime, *, offset: float = 0.0, rate: float = 1.0) -> Process:
    return Process(time, "p", offset=offset, rate=rate)


def test_the_clock_jumps_to_the_next_timer() -> None:
    time, seen = world(), []

    async def sleep() -> None:
        await asyncio.sleep(HOUR)
        seen.append(time.now)

    process(time).start(sleep)
    time.run(2 * HOUR * SECOND)
    assert seen == [HOUR * SECOND]


def test_a_timeout_ends_a_wait_in_no_time() -> None:
    time, seen = world(), []

    async def wait() -> None:
        try:
            async with asyncio.timeout(HOUR):
                await asyncio.Event().wait()
        except TimeoutError:
            seen.append(time.now)

    process(time).start(wait)
    time.run(2 * HOUR * SECOND)
    assert seen == [HOUR * SECOND]


def test_a_process_goes_by_its_own_clock() -> None:
    time, seen = world(), []
    fast = process(time, offset=500.0, rate=1.25)

    async def sleep() -> None:
        seen.append(fast.loop.time())
        await asyncio.sleep(10)
        seen.extend([fast.loop.time(), time.now])

    fast.start(sleep)
    time.run(HOUR * SECOND)
    assert seen == [500.0, 510.0, 8 * SECOND]


def test_a_power_cut_leaves_no_time_to_clean_up() -> None:
    time, seen = world(), []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            seen.append(time.now)

    one = process(time)
    one.start(work)
    time.loop().at(5 * SECOND, one.kill)
    time.run(HOUR * SECOND)
    assert seen == []
    assert not one.alive
    time.end()
    assert seen, "cleaned up when all was over, so that nothing is left to warn about"


def test_a_paused_process_goes_on_where_it_was() -> None:
    time, seen = world(), []

    async def tick() -> None:
        for _ in range(4):
            await asyncio.sleep(1)
            seen.append(time.now / SECOND)

    one = process(time)
    one.start(tick)
    time.loop().at(SECOND * 3 // 2, one.pause, 10 * SECOND)
    time.run(HOUR * SECOND)
    assert seen == [1.0, 11.5, 12.5, 13.5]


def test_a_handler_that_blocks_stops_its_own_loop_alone() -> None:
    time, seen = world(), []
    one = process(time)

    async def tick(name: str) -> None:
        for _ in range(2):
            await asyncio.sleep(1)
            seen.append((name, time.now // SECOND))

    async def main() -> None:
        beside = Beside(one.new_loop(), lambda: tick("beside"))
        await beside.start()
        one.block(5 * SECOND)
        await asyncio.sleep(0)
        await tick("handlers")

    one.start(main)
    time.run(HOUR * SECOND)
    assert seen == [("beside", 1), ("beside", 2), ("handlers", 6), ("handlers", 7)]


def test_an_error_that_nobody_awaits_is_a_surprise() -> None:
    time = world()

    async def fail() -> None:
        raise ValueError("a fault of ours")

    process(time).start(fail)
    time.run(HOUR * SECOND)
    assert time.surprises == ["p ended with ValueError('a fault of ours')"]


def test_what_cannot_be_cancelled_at_once_is_cancelled_again() -> None:
    time = world()

    async def stubborn() -> None:
        for _ in range(3):
            try:
                await asyncio.sleep(HOUR)
            except asyncio.CancelledError:
                continue

    process(time).start(stubborn)
    time.run(SECOND)
    time.end()


def test_a_wait_too_short_to_be_told_from_none_still_moves_the_clock() -> None:
    time, seen = world(), []

    async def wait() -> None:
        until = one.loop.time() + 2.0
        while one.loop.time() < until:  # what a timeout does that is called a little too early
            await asyncio.sleep((until - one.loop.time()) / 2)
        seen.append(time.now)

    one = process(time, offset=3_600.1, rate=0.9)
    one.start(wait)
    time.run(HOUR * SECOND)
    assert len(seen) == 1


def test_something_that_runs_for_ever_at_one_instant_is_an_error() -> None:
    time = world()

    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    process(time).start(spin)
    with pytest.raises(RuntimeError, match="runs for ever at 0 us"):
        time.run(SECOND)
