from __future__ import annotations

import logging
from decimal import Decimal

import pytest

from gnl_core.errors import InvalidEvent, StoreRejected, TopicFull
from gnl_core.events import Consumer, Event, EventMeta, emit, emit_many, list_topics
from gnl_core.storage import Storage


async def seen(storage: Storage, topic: str = "t", name: str = "c") -> list[object]:
    """What a consumer sees now, handling one event after the other."""
    payloads: list[object] = []

    async def handler(payload: object, meta: EventMeta) -> None:
        payloads.append(payload)

    await Consumer(storage, topic, name, handler, concurrency=1).drain()
    return payloads


async def test_an_event_reaches_the_consumers_of_its_topic_only(storage: Storage) -> None:
    await emit(storage.work, "orders", {"n": Decimal("1.10")})
    assert await seen(storage, "orders") == [{"n": Decimal("1.10")}]
    assert await seen(storage, "Orders") == []


async def test_an_id_is_one_event_of_its_topic_and_organization(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    for org_id in (None, "acme", "globex"):
        for topic in ("a", "b"):
            assert await emit(storage.work, topic, org_id, id="1", org_id=org_id) == "1"
    assert caplog.records == []
    await emit(storage.work, "a", "other", id="1")
    await emit(storage.work, "a", None, id="1", key="k")
    warnings = [record.getMessage() for record in caplog.records]
    assert warnings == [
        "event id '1' is known in topic 'a' with another payload; that event stays",
        "event id '1' is known in topic 'a' with another key; that event stays",
    ]
    assert await seen(storage, "a") == [None, "acme", "globex"]


async def test_many_are_appended_in_call_order_and_an_id_once(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    events = [Event("t", n) for n in range(1_000)]
    ids = await emit_many(storage.work, [*events, Event("t", 7, id="x"), Event("t", 8, id="x")])
    assert len(set(ids)) == 1_001
    assert await seen(storage) == [*range(1_000), 7]
    assert len(caplog.records) == 1


async def test_nothing_is_appended_if_one_is_bad(storage: Storage) -> None:
    with pytest.raises(InvalidEvent, match=r"events\[1\]: payload\.x: ") as caught:
        await emit_many(storage.work, [Event("t", 1), Event("t", {"x": float("nan")})])
    assert caught.value.index == 1
    with pytest.raises(InvalidEvent, match=r"events\[0\]: expected an Event, not str: 't'"):
        await emit_many(storage.work, ["t"])  # type: ignore[list-item]
    for bad in ("", "a\0b", "\ud800", "x" * 256):
        with pytest.raises(InvalidEvent, match="topic"):
            await emit(storage.work, bad)
        with pytest.raises(InvalidEvent, match="key"):
            await emit(storage.work, "t", key=bad)
    assert await list_topics(storage.work) == ()


async def test_max_depth_counts_what_the_slowest_consumer_was_not_handed(storage: Storage) -> None:
    await emit_many(storage.work, [Event("t", n) for n in range(3)], max_depth=3)
    with pytest.raises(TopicFull, match=r"topic 't' is full: .* 3 not handed .* 1 new") as caught:
        await emit(storage.work, "t", max_depth=3)
    assert (caught.value.depth, caught.value.new, caught.value.limit) == (3, 1, 3)
    await emit(storage.work, "t", org_id="acme", max_depth=1)
    await seen(storage)
    await emit(storage.work, "t", max_depth=1)
    await emit(storage.work, "t", id="known")
    await emit(storage.work, "t", id="known", max_depth=0)


async def test_a_store_without_events_says_so() -> None:
    class Old:
        pass

    with pytest.raises(StoreRejected, match="Old keeps no events"):
        await emit(Old(), "t")  # type: ignore[arg-type]
