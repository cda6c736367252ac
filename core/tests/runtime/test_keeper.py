from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from gnl_core.errors import RevokedWhy
from gnl_core.memory import MemoryStore
from gnl_core.runtime._execution import Execution
from gnl_core.runtime._keeper import LeaseKeeper
from gnl_core.runtime._keeper_thread import KeeperThread


def a_keeper() -> LeaseKeeper[Any, Any]:
    boundary: Any = SimpleNamespace(extend=None, name=repr)
    return LeaseKeeper(
        boundary,
        MemoryStore().sibling,
        ttl=3_600,
        interrupt=lambda execution: None,
        logger=logging.getLogger("gnl.test"),
    )


async def test_what_has_ended_is_neither_kept_nor_limited_nor_remembered() -> None:
    keeper = a_keeper()
    thread = KeeperThread(keeper.run, "test-leases")
    await thread.start()
    executions = [Execution(i, asyncio.get_running_loop()) for i in range(10)]
    for execution in executions:
        keeper.add(execution)
        keeper.limit(execution, 3_600)
        keeper.remove(execution)
    late: Execution[Any] = Execution("late", asyncio.get_running_loop())
    keeper.add(late)
    keeper.limit(late, 0.001)  # shorter than what the keeper waits for already
    async with asyncio.timeout(20):
        assert (await late.signal.wait()).why is RevokedWhy.TIMEOUT
    keeper.remove(late)
    await thread.stop(20)
    assert not keeper._held
    assert not keeper._limits
    assert not any(execution.signal.revoked for execution in executions)


async def test_a_thread_that_is_stopped_before_it_started_is_stopped() -> None:
    await KeeperThread(a_keeper().run, "never").stop(20)


async def test_a_thread_whose_start_is_cancelled_can_be_stopped() -> None:
    thread = KeeperThread(a_keeper().run, "cut-short")
    starting = asyncio.create_task(thread.start())
    await asyncio.sleep(0)
    starting.cancel()
    await asyncio.wait([starting])
    async with asyncio.timeout(20):
        await thread.stop(20)
    assert not thread._thread.is_alive()


async def test_a_keeper_that_cannot_start_says_why() -> None:
    def broken() -> Any:
        raise OSError("no file descriptors left")

    thread = KeeperThread(broken, "broken")
    with pytest.raises(OSError, match="no file descriptors"):
        await thread.start()
    await thread.stop(20)
