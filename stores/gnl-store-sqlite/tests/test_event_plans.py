"""What calls about events cost, counted in statements, in plans and in steps of the machine."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Awaitable, Callable
from typing import Any

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
from gnl_store_sqlite import SqliteStore

GROWING = "gnl_(events|log|deliveries)"
MANY = 100_000
FAR = 2**60


def connection(store: SqliteStore) -> sqlite3.Connection:
    opened = store._database._connection
    assert opened is not None
    return opened


def event(id: str, key: str | None = None, org_id: str | None = None) -> NewEvent:
    return NewEvent(id, org_id, "t", "1", key)


async def deliver(store: SqliteStore, limit: int = 10, *, by_key: bool = False) -> Delivered:
    return await store.events.deliver(
        "t", "c", limit, 60 * SECOND, "w", max_attempts=2, start=Edge.EARLIEST, by_key=by_key
    )


async def every_call(store: SqliteStore) -> None:
    events = store.events
    await events.append([event(f"a{n}", "k" if n % 2 else None) for n in range(9)], max_depth=99)
    await events.append([event("a1"), event("b", "k", "org")])
    for by_key in (False, True):
        held = (await deliver(store, 4, by_key=by_key)).grants
        await events.extend([grant.hold for grant in held], 60 * SECOND)
        verdicts = (Ack(), Retry(SECOND, "e"), Quarantine("e"), Release())
        await events.settle([EventOutcome(g.hold, v) for g, v in zip(held, verdicts, strict=False)])
    await events.dead("t", "c", None, 1)
    for number in range(9):
        await events.release("t", "c", None, f"a{number}")
    await events.rewind("t", "c", 3)
    await events.prune(None, older_than=0, limit=2)


async def test_no_statement_reads_a_growing_table_from_end_to_end(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: dict[str, Any] = {}
    async with opened() as store:
        run = store._database._execute

        def note(db: sqlite3.Connection, step: Any) -> Any:
            values = step.values[0] if step.many and step.values else step.values
            if not step.many or step.values:
                sent.setdefault(step.sql, values)
            return run(db, step)

        monkeypatch.setattr(store._database, "_execute", note)
        await every_call(store)
        tables = {name for sql in sent for name in re.findall(GROWING, sql)}
        assert len(tables) == 3
        for sql, values in sent.items():
            if sql.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")):
                plan = connection(store).execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
                for *_, line in plan:
                    assert not re.match(rf"SCAN ({GROWING}|[eld])\b", line), (sql, plan)


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


def fill(store: SqliteStore, count: int, state: str, at: int, *, key: str | None) -> None:
    """Deliveries of the one consumer, and their events, beside those that there are."""
    db = connection(store)
    db.execute("BEGIN IMMEDIATE")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
    db.execute(
        f"{numbers} INSERT INTO gnl_events SELECT i, 't', '', 'f' || i, ?, '1', 0 FROM n",
        (count + 9, key),
    )
    db.execute(f"{numbers} INSERT INTO gnl_log SELECT 't', i, i, '', ? FROM n", (count + 9, key))
    db.execute("UPDATE gnl_topics SET last = ?", (count + 9,))
    db.execute("UPDATE gnl_consumers SET reach = ?", (count + 9,))
    db.execute(
        f"{numbers} INSERT INTO gnl_deliveries SELECT 1, i, i, '', ?, ?, ?, ?, ?, 1, 0, NULL, "
        "NULL, 0, 'e', 0 FROM n",
        (count + 9, key, state, int(key is not None), at, at),
    )
    db.execute("COMMIT")


@pytest.mark.parametrize(
    ("state", "at", "key"),
    [
        ("retry", FAR, None),
        ("quarantined", 0, None),
        ("held", FAR, None),
        ("back", 0, "k"),
    ],
)
async def test_a_poll_costs_the_same_whatever_is_not_to_be_handed_out(
    state: str, at: int, key: str | None, opened: Any
) -> None:
    async with opened() as store:
        await store.events.append([event("first", "k")])
        held = (await deliver(store, by_key=True)).grants
        await store.events.settle([EventOutcome(g.hold, Retry(FAR, "later")) for g in held])

        async def poll() -> None:
            assert (await deliver(store, by_key=True)).grants == ()

        async def work(name: str) -> None:
            await store.events.append([event(name, name)])
            (grant,) = (await deliver(store, by_key=True)).grants
            await store.events.extend([grant.hold], 60 * SECOND)
            await store.events.settle([EventOutcome(grant.hold, Ack())])
            await store.events.dead("t", "c", MANY, 5)

        empty_poll = await machine_steps(store, poll)
        empty_work = await machine_steps(store, lambda: work("a"))
        fill(store, MANY, state, at, key=key)
        assert await machine_steps(store, poll) <= empty_poll + 30
        assert await machine_steps(store, lambda: work("b")) <= empty_work + 200


async def test_a_consumer_without_work_writes_nothing(opened: Any) -> None:
    async with opened() as store:
        await deliver(store)
        before = connection(store).total_changes
        await deliver(store)
        await deliver(store, by_key=True)
        assert connection(store).total_changes == before


async def test_statements_do_not_grow_with_the_batch(opened: Any) -> None:
    async with opened() as store:
        await deliver(store)
        counts = []
        for size in (10, 1_000):
            start = store.statements
            await store.events.append([event(f"{size}-{n}", f"k{n}") for n in range(size)])
            grants = (await deliver(store, size, by_key=True)).grants
            assert len(grants) == size
            await store.events.settle([EventOutcome(grant.hold, Ack()) for grant in grants])
            counts.append(store.statements - start)
        assert counts[1] <= counts[0] + 1
