from __future__ import annotations

import asyncio
import math
import re
from typing import Any

import pytest

from gnl_core import DeadLetter, GiveBack, Retry
from gnl_core.errors import InvalidInput
from gnl_core.events import (
    Consumer,
    Event,
    EventMeta,
    emit,
    emit_many,
    list_consumers,
    list_dead_events,
    retry_dead_event,
    rewind_consumer,
)
from gnl_core.storage import Storage


async def noop(payload: object, meta: EventMeta) -> None:
    pass


async def test_every_consumer_sees_every_event_and_a_name_shares_them(storage: Storage) -> None:
    await emit_many(storage.work, [Event("t", n) for n in range(100)])
    seen: dict[str, list[int]] = {"a": [], "b": []}

    def consumer(name: str) -> Consumer:
        async def handler(payload: int, meta: EventMeta) -> None:
            await asyncio.sleep(0)
            seen[meta.consumer].append(payload)

        return Consumer(storage, "t", name, handler, claim_ahead=0)

    await asyncio.gather(*(consumer(name).drain() for name in "aaab"))
    assert sorted(seen["a"]) == sorted(seen["b"]) == list(range(100))


async def test_meta_says_which_attempt_at_which_event_this_is(storage: Storage) -> None:
    metas: list[EventMeta] = []

    def handler(payload: object, meta: EventMeta) -> None:
        assert not meta.signal.revoked
        metas.append(meta)
        if meta.attempt == 1:
            raise Retry(0, "again")

    await emit(storage.work, "t", 1, id="e", org_id="acme", key="k")
    await Consumer(storage, "t", "c", handler).drain()
    first, second = metas
    assert (first.id, first.topic, first.consumer, first.org_id) == ("e", "t", "c", "acme")
    assert (first.key, first.position, first.max_attempts) == ("k", 1, 8)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.run_id == second.run_id
    assert "signal" not in repr(first)
    await Consumer(storage, "t", "d", handler).drain()
    assert metas[2].run_id != first.run_id
    assert metas[2] != first


async def test_a_failing_event_costs_the_others_nothing(storage: Storage) -> None:
    fixed = False
    done: list[int] = []

    async def handler(payload: int, meta: EventMeta) -> None:
        if payload == 3 and not fixed:
            raise ValueError("poison")
        done.append(payload)

    await emit_many(storage.work, [Event("t", n, id=str(n)) for n in range(120)])
    consumer = Consumer(storage, "t", "c", handler, max_attempts=2, retry_delay=0)
    await consumer.drain()
    assert sorted(done) == [n for n in range(120) if n != 3]
    page = await list_dead_events(storage.work, "t", "c")
    assert [(e.id, e.attempts, e.error.split("\n")[0], e.payload) for e in page.items] == [
        ("3", 2, "ValueError: poison", 3)
    ]
    fixed = True
    assert await retry_dead_event(storage.work, "t", "c", "3")
    assert not await retry_dead_event(storage.work, "t", "c", "3")
    await consumer.drain()
    assert sorted(done) == list(range(120))
    (record,) = await list_consumers(storage.work, "t")
    assert (record.reach, record.lag, record.quarantined) == (120, 0, 0)


async def test_failures_are_spaced_by_the_stores_clock(storage: Storage, clock: Any) -> None:
    attempts: list[int] = []

    async def handler(payload: int, meta: EventMeta) -> None:
        attempts.append(meta.attempt)
        raise ValueError("no")

    await emit(storage.work, "t")
    consumer = Consumer(storage, "t", "c", handler)
    await consumer.drain()
    for number, gap in enumerate((60, 120, 240, 480, 960, 1920, 3600), 2):
        clock.advance(gap - 0.000_001)
        await consumer.drain()
        assert attempts[-1] == number - 1, "too early"
        clock.advance(0.000_001)
        await consumer.drain()
        assert attempts[-1] == number
    (dead,) = (await list_dead_events(storage.work, "t", "c")).items
    assert dead.attempts == 8


async def test_without_limit_an_event_is_never_quarantined(storage: Storage) -> None:
    attempts = 0

    async def handler(payload: object, meta: EventMeta) -> None:
        nonlocal attempts
        attempts = meta.attempt
        assert meta.max_attempts is None
        if attempts < 50:
            raise ValueError("no")

    await emit(storage.work, "t")
    await Consumer(storage, "t", "c", handler, max_attempts=math.inf, retry_delay=0).drain()
    assert attempts == 50


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (DeadLetter("never"), ("gnl_core.DeadLetter: never", 1)),
        (ValueError("boom\0tail"), (None, 1)),
    ],
)
async def test_what_is_raised_ends_in_quarantine(
    storage: Storage, raised: Exception, expected: tuple[str | None, int]
) -> None:
    def handler(payload: object, meta: EventMeta) -> None:
        raise raised

    await emit(storage.work, "t")
    await Consumer(storage, "t", "c", handler, max_attempts=1).drain()
    (dead,) = (await list_dead_events(storage.work, "t", "c")).items
    assert dead.attempts == expected[1]
    assert "\0" not in dead.error
    if expected[0] is not None:
        assert dead.error.split("\n")[0] == expected[0]


async def test_giving_back_spends_no_attempt(storage: Storage) -> None:
    attempts: list[int] = []

    async def handler(payload: object, meta: EventMeta) -> None:
        attempts.append(meta.attempt)
        if len(attempts) < 20:
            raise GiveBack(0)

    await emit(storage.work, "t")
    await Consumer(storage, "t", "c", handler).drain()
    assert attempts == [1] * 20


async def test_one_process_without_concurrency_keeps_the_order_of_the_log(
    storage: Storage,
) -> None:
    done: list[int] = []

    async def handler(payload: int, meta: EventMeta) -> None:
        done.append(payload)
        await asyncio.sleep(0)

    await emit_many(storage.work, [Event("t", n) for n in range(500)])
    await Consumer(storage, "t", "c", handler, concurrency=1).drain()
    assert done == list(range(500))


async def test_events_of_a_key_are_handled_in_order(storage: Storage) -> None:
    running: set[str] = set()
    done: dict[str, list[int]] = {}

    async def handler(payload: int, meta: EventMeta) -> None:
        assert meta.key is not None
        assert meta.key not in running, "two events of one key at once"
        running.add(meta.key)
        await asyncio.sleep(0.0001 * (payload % 3))
        running.discard(meta.key)
        if payload % 10 == 0 and meta.attempt == 1:
            raise ValueError("once")
        done.setdefault(meta.key, []).append(payload)

    await emit_many(storage.work, [Event("t", n, key=f"k{n % 5}") for n in range(200)])
    consumers = [
        Consumer(storage, "t", "c", handler, by_key=True, retry_delay=0, poll_shortest=0.01)
        for _ in range(3)
    ]
    tasks = [asyncio.create_task(consumer.run()) for consumer in consumers]
    async with asyncio.timeout(20):
        while sum(map(len, done.values())) < 200:
            await asyncio.sleep(0.01)
    for consumer in consumers:
        consumer.stop()
    await asyncio.gather(*tasks)
    assert done == {f"k{k}": list(range(k, 200, 5)) for k in range(5)}


async def test_the_next_event_of_a_key_does_not_wait_for_a_poll(storage: Storage) -> None:
    done: list[int] = []
    consumer: Consumer

    async def handler(payload: int, meta: EventMeta) -> None:
        await asyncio.sleep(0.01)
        done.append(payload)
        if payload == 4:
            consumer.stop()

    await emit_many(storage.work, [Event("t", n, key="k") for n in range(5)])
    consumer = Consumer(
        storage, "t", "c", handler, by_key=True, poll_shortest=3_600, poll_longest=3_600
    )
    async with asyncio.timeout(20):
        await consumer.run()
    assert done == [0, 1, 2, 3, 4]


async def test_draining_does_not_wait_for_what_waits_for_its_key(
    storage: Storage,
) -> None:
    async def handler(payload: int, meta: EventMeta) -> None:
        raise Retry(3_600, "later")

    await emit_many(storage.work, [Event("t", n, key="k") for n in range(2)])
    async with asyncio.timeout(20):
        await Consumer(storage, "t", "c", handler, by_key=True).drain()
    (record,) = await list_consumers(storage.work, "t")
    assert (record.lag, record.parked) == (0, 2)


@pytest.mark.parametrize(
    ("start", "expected"), [("earliest", [0, 1, 2, 3]), ("latest", [3]), (2, [2, 3])]
)
async def test_a_new_consumer_begins_where_it_is_told(
    storage: Storage, start: Any, expected: list[int]
) -> None:
    done: list[int] = []

    async def handler(payload: int, meta: EventMeta) -> None:
        done.append(payload)

    await emit_many(storage.work, [Event("t", n) for n in range(3)])
    consumer = Consumer(storage, "t", "c", handler, start=start)
    await consumer.drain()
    await emit(storage.work, "t", 3)
    await consumer.drain()
    assert done == expected


async def test_a_rewound_consumer_sees_events_again_in_another_run(storage: Storage) -> None:
    runs: list[str] = []

    async def handler(payload: int, meta: EventMeta) -> None:
        runs.append(meta.run_id)

    await emit_many(storage.work, [Event("t", n) for n in range(3)])
    consumer = Consumer(storage, "t", "c", handler, concurrency=1)
    await consumer.drain()
    assert await rewind_consumer(storage.work, "t", "c", 1)
    assert not await rewind_consumer(storage.work, "t", "d", 1)
    await consumer.drain()
    assert len(runs) == len(set(runs)) == 5


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("topic", "", "topic is empty"),
        ("name", "a\0", "name contains NUL"),
        ("handler", 3, "the handler is a int; give a function of (payload, meta)"),
        ("start", "first", "start is 'first'; give 'earliest', 'latest'"),
        ("start", -1, "start is -1"),
        ("max_attempts", 0, "max_attempts is 0"),
        ("max_attempts", math.nan, "max_attempts is nan"),
        ("concurrency", 0, "concurrency is 0"),
        ("lease", 0.01, "lease is 0.01 s"),
        ("retry_delay", -1, "retry_delay is -1 s"),
        ("poll_longest", 0.1, "poll_longest (0.1) is shorter"),
        ("on_revoke", "stop", "on_revoke is 'stop'"),
        ("storage", None, "storage is a NoneType; give what open_storage() answers"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(
    storage: Storage, option: str, value: object, message: str
) -> None:
    options: dict[str, Any] = {
        "storage": storage,
        "topic": "t",
        "name": "c",
        "handler": noop,
    } | {option: value}
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Consumer(**options)
