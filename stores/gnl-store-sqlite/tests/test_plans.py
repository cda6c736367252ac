"""What an operation costs, counted in statements, in plans and in steps of SQLite's machine."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gnl_core.spi import (
    SECOND,
    Dead,
    Done,
    EveryLane,
    JobState,
    NewJob,
    OneLane,
    Outcome,
    Release,
    Retry,
)
from gnl_store_sqlite import SqliteStore

GROWING = "gnl_(jobs|ready|delayed|held|finished|failures|lanes)"
ORGS = 10_000
FINISHED = 1_000_000
DELAYED = 100_000


def connection(store: SqliteStore) -> sqlite3.Connection:
    opened = store._database._connection
    assert opened is not None
    return opened


def fill(db: sqlite3.Connection, *, finished: int, delayed: int, orgs: int) -> None:
    """Much of everything that a claim must not look at; nothing of it is ready or due."""
    db.execute("BEGIN IMMEDIATE")
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "INSERT INTO gnl_jobs SELECT i, 'org' || (i % ?), 'id' || i, 't', '{}', NULL, 0 FROM n",
        (finished + delayed, orgs),
    )
    db.execute(
        "INSERT INTO gnl_finished SELECT seq, org, 'done', 'null', NULL, 1, seq "
        "FROM gnl_jobs WHERE seq <= ?",
        (finished,),
    )
    db.execute(
        "INSERT INTO gnl_delayed SELECT seq, org, 't', ?, 0, 0, NULL FROM gnl_jobs WHERE seq > ?",
        (2**60, finished),
    )
    db.execute("COMMIT")


async def every_operation(store: SqliteStore) -> None:
    jobs = store.jobs
    await jobs.add([NewJob(f"a{n}", None, "tu"[n % 2], "1") for n in range(9)], max_depth=99)
    await jobs.add([NewJob("a1", None, "t", "1"), NewJob("b", "o", "t", "1", delay=1)])
    await jobs.add([NewJob("c", "o", "t", "1"), NewJob("d", "p", "t", "1")])
    await jobs.claim(["t", "u"], 1, 0, "w", max_attempts=1)
    held = (await jobs.claim(["t", "u"], 4, 60 * SECOND, "w", max_attempts=3)).grants
    await jobs.extend([grant.hold for grant in held], 60 * SECOND)
    verdicts = (Done("1"), Retry(0, "e"), Dead("e"), Release(5))
    await jobs.settle([Outcome(g.hold, v) for g, v in zip(held, verdicts, strict=True)])
    for number in range(9):
        await jobs.get(None, f"a{number}")
        await jobs.revive(None, f"a{number}")
        await jobs.cancel(None, f"a{number}")
    await jobs.claim(["t"], 9, 60 * SECOND, "w", max_attempts=3)
    await jobs.cancel("o", "c")
    first = await jobs.page(EveryLane(), None, 3)
    await jobs.page(EveryLane(), first.position, 3)
    await jobs.page(OneLane(None), None, 3)
    await jobs.depth(None)
    await jobs.prune([JobState.CANCELED], older_than=0, keep=1)
    await store.now()
    await store.schema()


async def test_no_statement_reads_a_growing_table_from_end_to_end(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: dict[str, Any] = {}
    async with opened() as store:
        run = store._database._execute

        def note(db: sqlite3.Connection, step: Any) -> Any:
            values = step.values[0] if step.many and step.values else step.values
            sent.setdefault(step.sql, values)
            return run(db, step)

        monkeypatch.setattr(store._database, "_execute", note)
        await every_operation(store)
        tables = {name for sql in sent for name in re.findall(GROWING, sql)}
        assert len(tables) == 7
        for sql, values in sent.items():
            if sql.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
                plan = connection(store).execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
                check_plan(sql, [row[3] for row in plan])


def check_plan(sql: str, plan: list[str]) -> None:
    # Letters under which the statements know the tables, and the lists that they are given.
    names = rf"({GROWING}|[jrdxhl])\b"
    for line in plan:
        # Held jobs are as many as handlers run; counting a lane's has no use for an index.
        counted = "count(*)" in sql and line == "SCAN gnl_held"
        # The first or the last ones of an index, up to a limit.
        end = re.search(r"(LIMIT|max\(|min\()", sql) and "TEMP B-TREE" not in "".join(plan)
        assert counted or end or not re.match(rf"SCAN {names}", line), (sql, plan)
        # Sorted are only rows within an inner limit: those that one claim wakes.
        woken = "gnl_delayed d" in sql and "LIMIT" in sql
        assert woken or "TEMP B-TREE" not in line, (sql, plan)


async def machine_steps(store: SqliteStore, call: Callable[[], Awaitable[object]]) -> int:
    """How many steps SQLite's machine takes for `call`: work, free of time."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection(store).set_progress_handler(count, 1)
    await call()
    connection(store).set_progress_handler(None, 1)
    return steps


async def test_looking_for_work_costs_the_same_whatever_lies_there(opened: Any) -> None:
    async with opened() as store:

        async def claim() -> None:
            claimed = await store.jobs.claim(["t", "u"], 100, SECOND, "w", max_attempts=1)
            assert claimed.grants == ()

        async def work(number: int) -> None:
            await store.jobs.add([NewJob(f"n{number}", f"org{number}", "u", "1")])
            claimed = await store.jobs.claim(["u"], 10, 2**50, "w", max_attempts=1)
            (grant,) = claimed.grants
            await store.jobs.extend([grant.hold], 2**50)
            await store.jobs.settle([Outcome(grant.hold, Done("1"))])
            await store.jobs.add([NewJob("a", f"org{number}", "u", "1", delay=2**50)])
            assert await store.jobs.get(f"org{number}", "a") is not None
            assert await store.jobs.cancel(f"org{number}", "a") is JobState.WAITING

        await claim()
        before = store.statements
        empty_claim = await machine_steps(store, claim)
        assert store.statements - before == 1
        empty_work = await machine_steps(store, lambda: work(1))
        connection(store).execute("DELETE FROM gnl_finished")
        connection(store).execute("DELETE FROM gnl_jobs")

        fill(connection(store), finished=FINISHED, delayed=DELAYED, orgs=ORGS)
        before = store.statements
        full_claim = await machine_steps(store, claim)
        assert store.statements - before == 1
        # A few steps more where there is a next due job to be found at all.
        assert full_claim <= empty_claim + 10
        full_work = await machine_steps(store, lambda: work(2))
        assert full_work <= empty_work + 100


async def test_a_claim_costs_the_lanes_that_it_serves_not_those_that_wait(opened: Any) -> None:
    async with opened() as store:

        async def claim() -> None:
            claimed = await store.jobs.claim(["t"], 10, 2**50, "w", max_attempts=1)
            assert len(claimed.grants) == 10

        await store.jobs.add([NewJob("a", f"org{n}", "t", "1") for n in range(50)])
        few = await machine_steps(store, claim)
        await store.jobs.add([NewJob("a", f"more{n}", "t", "1") for n in range(ORGS)])
        many = await machine_steps(store, claim)
        assert many <= few * 1.2


async def test_a_page_costs_its_size_wherever_it_is(opened: Any) -> None:
    async with opened() as store:
        await store.jobs.add([NewJob(str(n), f"o{n % 7}", "t", "1") for n in range(5_000)])
        position: str | None = None
        costs = []
        while True:

            async def read() -> None:
                nonlocal position
                page = await store.jobs.page(EveryLane(), position, 100)
                assert page.items
                position = page.position

            costs.append(await machine_steps(store, read))
            if position is None:
                break
            # Jobs that came after the first page: each page leaves every lane at its first.
            await store.jobs.add(
                [NewJob(f"{len(costs)}-{n}", f"o{n % 7}", "t", "1") for n in range(200)]
            )
        assert len(costs) == 50
        assert max(costs[:-1]) <= 3 * min(costs[:-1])


async def test_statements_do_not_grow_with_the_batch(opened: Any) -> None:
    async with opened() as store:
        counts = []
        for size in (10, 1_000):
            start = store.statements
            await store.jobs.add([NewJob(f"{size}-{n}", None, "t", "1") for n in range(size)])
            grants = (await store.jobs.claim(["t"], size, SECOND, "w", max_attempts=1)).grants
            assert len(grants) == size
            await store.jobs.settle([Outcome(grant.hold, Done("1")) for grant in grants])
            counts.append(store.statements - start)
        assert counts[1] <= counts[0] + 1


async def test_any_number_of_jobs_in_one_call(opened: Any, path: Path) -> None:
    async with opened() as store:
        jobs = [NewJob(str(n), f"o{n % 3}", "t", "1") for n in range(30_000)]
        added = await store.jobs.add(jobs, max_depth=10_000)
        assert added.known == (None,) * 30_000
        again = await store.jobs.add([*jobs, NewJob("new", None, "t", "1")])
        assert [known is None for known in again.known] == [False] * 30_000 + [True]
        grants = (await store.jobs.claim(["t"], 30_001, SECOND, "w", max_attempts=1)).grants
        assert len({grant.seq for grant in grants}) == 30_001
        # One call moves a lane's turn once: the three take turns to the end.
        assert [grant.org_id for grant in grants[:4]] == ["o0", "o1", "o2", None]
