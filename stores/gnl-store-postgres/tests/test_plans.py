"""Plans of the hot statements: by index, whatever the tables held when they were planned."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import asyncpg

from gnl_core.spi import SECOND, Done, EveryLane, NewJob, OneLane, Outcome, Retry
from gnl_store_postgres import PostgresStore

EXPLAIN = """
load 'auto_explain';
set auto_explain.log_min_duration = 0;
set auto_explain.log_nested_statements = on;
set client_min_messages = log
"""
# One row; and leases that run out are found by a look at all that are held.
SCANNED = {"gnl_clock", "gnl_meta", "gnl_stamps", "gnl_held"}


def job(id: str, org: str | None = None) -> NewJob:
    return NewJob(id, org, "t", "0")


async def every_call(store: PostgresStore, name: str) -> None:
    jobs = store.jobs
    await jobs.add([job(name + str(n), f"org{n % 3}") for n in range(6)], max_depth=10**6)
    await jobs.add([job(name + "one"), NewJob(name + "later", None, "t", "0", delay=1)])
    got = await jobs.claim(["t", "u"], 4, 30 * SECOND, "w", max_attempts=5)
    await jobs.extend([grant.hold for grant in got.grants], SECOND)
    verdicts = [Done("0"), Retry(0, "e"), Retry(SECOND, "e"), Done("0")]
    await jobs.settle([Outcome(g.hold, v) for g, v in zip(got.grants, verdicts, strict=True)])
    await jobs.get(None, name + "one")
    for scope in (EveryLane(), OneLane(None), OneLane("org1")):
        page = await jobs.page(scope, None, 3)
        if page.position is not None:
            await jobs.page(scope, page.position, 3)
    await jobs.cancel("org1", name + "1")


async def test_no_hot_statement_reads_a_whole_table(space: Any) -> None:
    async with space.opened(pool_size=1, wake_ups="off") as store, space.connected() as control:
        plans: list[str] = []

        def note(_: object, message: asyncpg.PostgresLogMessage) -> None:
            plans.append(message.message or "")

        async with store._database._connections.use() as connection:
            await connection.execute(EXPLAIN)
            connection.add_log_listener(note)
        # Planned on empty tables, and used until they are large.
        for number in range(8):
            await every_call(store, f"a{number}-")
        await control.execute(
            "insert into gnl_jobs (org, id, type, payload, enqueued_at) "
            "select '', 'f' || n, 't', '0', 1 from generate_series(1, 50000) as n;"
            "insert into gnl_finished (seq, org, state, attempts, finished_at) "
            "select seq, org, 'done', 1, 1 from gnl_jobs where id like 'f%';"
            "analyze"
        )
        for number in range(3):
            await every_call(store, f"b{number}-")
        await asyncio.sleep(0.1)
        seen = [plan for plan in plans if "gnl_" in plan]
        assert len(seen) > 100
        for plan in seen:
            for table in re.findall(r"Seq Scan on (?:\w+\.)?(\w+)", plan):
                assert table in SCANNED or not table.startswith("gnl_"), plan
            assert "JIT" not in plan, plan
        scans = " ".join(seen)
        for index in ("gnl_lanes_turn", "gnl_ready_pkey", "gnl_held_pkey", "gnl_jobs_listing"):
            assert re.search(rf"Index (Only )?Scan using {index}", scans), index
