from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest

from gnl_core import JobContext, Worker
from gnl_core.errors import InvalidInput
from gnl_core.memory import MemoryStore
from gnl_core.storage import Storage


async def handler(payload: object, ctx: JobContext) -> None:
    pass


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("concurrency", 0, "concurrency is 0"),
        ("concurrency", None, "concurrency is None"),
        ("concurrency", True, "concurrency is True"),
        ("concurrency", 2.0, "concurrency is 2.0"),
        ("ttl", 0, "ttl is 0 s; it must be at least 0.1 s"),
        ("ttl", 0.05, "ttl is 0.05 s"),
        ("ttl", "30", "ttl must be seconds or a timedelta"),
        ("ttl", None, "ttl must be seconds or a timedelta"),
        ("ttl", float("inf"), "ttl is inf"),
        ("max_attempts", 0, "max_attempts is 0"),
        ("max_attempts", None, "max_attempts is None"),
        ("retry_delay", -1, "retry_delay"),
        ("retry_delay", "soon", "retry_delay"),
        ("max_hold", 0, "max_hold"),
        ("grace", -1, "grace"),
        ("on_revoke", "kill", "on_revoke is 'kill'; give 'cancel' or 'signal'"),
        ("on_revoke", None, "on_revoke is None"),
        ("on_revoke", ["cancel"], "on_revoke is"),
        ("claim_ahead", -1, "claim_ahead is -1"),
        ("claim_ahead", None, "claim_ahead is None"),
        ("poll_shortest", 0, "poll_shortest"),
        ("poll_longest", 0, "poll_longest"),
        ("poll_longest", 0.1, "poll_longest (0.1) is shorter than poll_shortest (0.2)"),
        ("prune_after", -1, "prune_after"),
        ("prune_keep", -1, "prune_keep is -1"),
        ("name", "", "name"),
        ("name", "a\0b", "name"),
        ("name", "x" * 256, "name"),
        ("handlers", {}, "not empty"),
        ("handlers", [handler], "mapping of job type to function"),
        ("handlers", {"": handler}, "job type"),
        ("handlers", {1: handler}, "job type"),
        ("handlers", {"t": handler, "u": 3}, "handler of 'u' is a int"),
        ("storage", MemoryStore(), "storage is a MemoryStore; give what open_storage() answers"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_by_name(
    storage: Storage, option: str, value: object, message: str
) -> None:
    options: dict[str, Any] = {"storage": storage, "handlers": {"t": handler}} | {option: value}
    with pytest.raises(InvalidInput, match=re.escape(message)):
        Worker(**options)


async def test_durations_may_be_timedeltas_and_whole_seconds(storage: Storage) -> None:
    worker = Worker(
        storage,
        {"t": handler},
        ttl=timedelta(seconds=1),
        max_hold=timedelta(minutes=1),
        grace=0,
        retry_delay=timedelta(seconds=5),
        prune_after=timedelta(days=7),
        prune_keep=0,
        claim_ahead=0,
    )
    assert await worker.drain() == 0


def test_each_worker_has_a_name_of_its_own(storage: Storage) -> None:
    names = {Worker(storage, {"t": handler}).name for _ in range(10)}
    assert len(names) == 10
    assert Worker(storage, {"t": handler}, name="mail-1").name == "mail-1"


async def test_handlers_changed_later_do_not_change_the_worker(storage: Storage) -> None:
    handlers = {"t": handler}
    worker = Worker(storage, handlers)
    handlers.clear()
    assert await worker.drain() == 0
