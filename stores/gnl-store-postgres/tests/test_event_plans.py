"""What calls about events cost: plans by index, and pages read that do not grow with the rest."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import asyncpg
import pytest

from gnl_core.spi import (
    SECOND,
    Ack,
    Delivered,
    Edge,
    EventOutcome,
    NewEvent,
    Quarantine,
    Release,
    Retry,
)
from gnl_store_postgres import PostgresStore

EXPLAIN = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set client_min_messages = log
"""
SMALL = {"gnl_clock", "gnl_meta", "gnl_stamps", "gnl_consumers", "gnl_topics", "gnl_event_tokens"}
FAR = 2**60
MANY = 100_000


def event(id: str, key: str | None = None, org_id: str | None = None) -> NewEvent:
    return NewEvent(id, org_id, "t", "0", key)


async def deliver(store: PostgresStore, limit: int = 10, *, by_key: bool = False) -> Delivered:
    return await store.events.deliver(
        "t", "c", limit, 60 * SECOND, "w", max_attempts=2, start=Edge.EARLIEST, by_key=by_key
    )


async def every_call(store: PostgresStore, name: str) -> None:
    events = store.events
    new = [event(f"{name}{n}", "k" if n % 2 else None, f"org{n % 3}") for n in range(9)]
    await events.append(new, max_depth=10**6)
    await events.append([event(f"{name}0", None, "org0"), event(f"{name}-k{1}", name)])
    for by_key in (False, True):
        held = (await deliver(store, 4, by_key=by_key)).grants
        await events.extend([grant.hold for grant in held], 60 * SECOND)
        verdicts = (Ack(), Retry(SECOND, "e"), Quarantine("e"), Release())
        await events.settle([EventOutcome(g.hold, v) for g, v in zip(held, verdicts, strict=False)])
    page = await events.dead("t", "c", None, 1)
    for dead in page.items:
        await events.release("t", "c", dead.org_id, dead.id)
    await events.prune("t", older_than=0, limit=1)


async def fill(
    control: asyncpg.Connection, count: int, state: str, at: int, *, key: str | None
) -> None:
    """Deliveries of the one consumer, and their events, behind those that there are."""
    await control.execute(
        "insert into gnl_events (topic, org, id, key, payload, emitted_at) "
        "select 't', '', 'fill' || n, $2::text, '0', 1 from generate_series(1, $1::bigint) as n",
        count,
        key,
    )
    await control.execute(
        "insert into gnl_log (topic, position, seq, org, key) "
        "select 't', (select last from gnl_topics) + row_number() over (order by seq), seq, '', "
        "key from gnl_events where id like 'fill%'"
    )
    await control.execute(
        "insert into gnl_deliveries (consumer, position, seq, org, key, state, blocked, at, "
        "due_at, attempts, token, reclaimed, error, quarantined_at) "
        "select (select min(number) from gnl_consumers), l.position, l.seq, '', l.key, $1::text, "
        "l.key is not null, $2::bigint, $2::bigint, 1, 0, false, 'e', 0 "
        "from gnl_log as l join gnl_events as e on e.seq = l.seq where e.id like 'fill%'",
        state,
        at,
    )
    await control.execute("update gnl_topics set last = (select max(position) from gnl_log)")
    await control.execute("update gnl_consumers set reach = (select last from gnl_topics)")


async def test_no_hot_statement_reads_a_whole_table(space: Any) -> None:
    async with space.opened(pool_size=1, wake_ups="off") as store, space.connected() as control:
        plans: list[str] = []

        def note(_: object, message: asyncpg.PostgresLogMessage) -> None:
            plans.append(message.message or "")

        for database in (store._database, store._urgent):
            async with database._connections.use() as connection:
                await connection.execute(EXPLAIN)
                connection.add_log_listener(note)
        # Planned on empty tables, and used until they are large.
        for number in range(8):
            await every_call(store, f"a{number}-")
        await fill(control, 50_000, "retry", FAR, key=None)
        await control.execute("analyze")
        for number in range(3):
            await every_call(store, f"b{number}-")
        await asyncio.sleep(0.1)
        seen = [plan for plan in plans if "gnl_" in plan]
        assert len(seen) > 100
        for plan in seen:
            for table in re.findall(r"Seq Scan on (?:\w+\.)?(\w+)", plan):
                assert table in SMALL or not table.startswith("gnl_"), plan
            assert "JIT" not in plan, plan
        scans = " ".join(seen)
        for index in ("gnl_deliveries_next", "gnl_deliveries_line", "gnl_log_pkey"):
            assert re.search(rf"Index (Only )?Scan using {index}", scans), index


async def pages_read(connection: asyncpg.Connection, sql: str, *values: object) -> int:
    """How many pages a statement touches, with all that it calls."""
    explained = await connection.fetchval(f"explain (analyze, buffers, format json) {sql}", *values)
    plan = json.loads(explained)[0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


DELIVER = "select * from gnl_deliver('t', 'c', 10, 60000000, 'w', 2, 0, true)"


@pytest.mark.parametrize(
    ("state", "at", "key"),
    [
        ("retry", FAR, None),
        ("quarantined", 0, None),
        ("held", FAR, None),
        ("back", 0, "k"),
    ],
)
async def test_a_poll_reads_the_same_whatever_is_not_to_be_handed_out(
    state: str, at: int, key: str | None, space: Any
) -> None:
    async with space.opened(wake_ups="off") as store, space.connected() as control:
        await store.events.append([event("first", "k")])
        held = (await deliver(store, by_key=True)).grants
        await store.events.settle([EventOutcome(g.hold, Retry(FAR, "later")) for g in held])

        async def polled(name: str) -> tuple[int, int]:
            """Pages of a poll without work, and of one with two events."""
            empty = await pages_read(control, DELIVER)
            await store.events.append([event(name, name), event(f"{name}-2", f"{name}-2")])
            work = await pages_read(control, DELIVER)
            return empty, work

        for number in range(10):  # its plans are made by now
            await polled(f"w{number}")
        empty, work = await polled("a")
        await fill(control, MANY, state, at, key=key)
        await control.execute("analyze")
        await polled("planned-anew")
        empty_2, work_2 = await polled("b")
        # A larger index may be some levels deeper.
        assert empty_2 <= empty + 30
        assert work_2 <= work + 60
        await store.events.append([event("more", "k")])
        assert await pages_read(control, DELIVER) <= work + 60


async def test_a_consumer_without_work_writes_nothing(space: Any) -> None:
    async with space.opened(wake_ups="off") as store, space.connected() as control:
        await deliver(store)
        before = await control.fetchval("select pg_snapshot_xmax(pg_current_snapshot())::text")
        for _ in range(3):
            await deliver(store)
            await deliver(store, by_key=True)
        after = await control.fetchval("select pg_snapshot_xmax(pg_current_snapshot())::text")
        assert after == before
