"""Crashes, lost connections, canceled tasks and servers that hang."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gnl_core import JobContext, Storage, Worker
from gnl_core.spi import SECOND, Dead, Done, NewJob, Outcome, StoreUnavailable
from gnl_store_postgres import PostgresStore, open_postgres

PATIENCE = 60.0


async def persist(call: Callable[[], Awaitable[Any]], losses: list[str]) -> Any:
    """Call until there is an answer, as a worker's loop does."""
    while True:
        try:
            return await call()
        except StoreUnavailable as error:
            losses.append(str(error))
            await asyncio.sleep(0.02)


async def test_a_store_recovers_by_itself_from_a_crash_of_the_server(own_server: Any) -> None:
    store = await open_postgres(own_server.url + "?pool_size=4")
    await store.upgrade()
    losses: list[str] = []
    added: list[str] = []
    done: set[str] = set()
    stopping = False

    async def produce(name: str) -> None:
        number = 0
        while not stopping:
            job = NewJob(f"{name}{number}", None, "t", "0")
            await persist(lambda: store.jobs.add([job]), losses)  # noqa: B023
            added.append(job.id)
            number += 1

    async def consume() -> None:
        while not stopping or len(done) < len(added):
            got = await persist(
                lambda: store.jobs.claim(["t"], 10, SECOND // 2, "w", max_attempts=99), losses
            )
            ends = [Outcome(grant.hold, Done("0")) for grant in got.grants]
            settled = await persist(lambda: store.jobs.settle(ends), losses)  # noqa: B023
            for grant, settlement in zip(got.grants, settled, strict=True):
                if settlement.state is not None:
                    done.add(grant.id)
                elif (await persist(lambda: store.jobs.get(None, grant.id), losses)).result:  # noqa: B023
                    # The answer was lost, the effect was not.
                    done.add(grant.id)
            if not got.grants:
                await asyncio.sleep(0.05)

    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(produce(name))
        for _ in range(3):
            group.create_task(consume())
        for _ in range(2):
            await asyncio.sleep(0.3)
            own_server.kill()
            await asyncio.sleep(0.1)
            await asyncio.to_thread(own_server.start)
        await asyncio.sleep(0.3)
        stopping = True
    assert losses, "nothing was lost, so nothing was tested"
    assert done >= set(added)
    await store.close()


async def test_no_server_is_unavailable(own_server: Any) -> None:
    own_server.kill()
    store = await open_postgres(own_server.url)
    with pytest.raises(StoreUnavailable):
        await store.schema()
    with pytest.raises(StoreUnavailable):
        await store.listen(lambda: None)
    await store.close()


async def backend(store: PostgresStore) -> int:
    async with store._database._connections.use() as connection:
        return connection.get_server_pid()


async def test_a_killed_session_is_replaced(space: Any) -> None:
    async with space.opened(pool_size=2) as store, space.connected() as control:
        pid = await backend(store)
        await control.execute("select pg_terminate_backend($1, 5000)", pid)
        for _ in range(2):
            try:
                await store.now()
            except StoreUnavailable:
                await asyncio.sleep(0.01)
        assert await store.now() > 0
        assert await backend(store) != pid


async def test_a_canceled_call_leaves_a_pool_of_one_usable(space: Any) -> None:
    async with space.opened(pool_size=1) as store, space.connected() as control:
        for table in ("gnl_ready", "gnl_finished"):
            async with control.transaction():
                await control.execute(f"lock table {table}")
                call = (
                    store.jobs.prune([], keep=0)
                    if table == "gnl_finished"
                    else store.jobs.add([NewJob("a", None, "t", "0")])
                )
                task = asyncio.create_task(call)
                await asyncio.sleep(0.1)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert await store.now() > 0
        answers = await asyncio.gather(*(store.now() for _ in range(20)))
        assert list(answers) == sorted(answers)


async def test_a_server_that_hangs_does_not_hang_a_worker(own_server: Any) -> None:
    store = await open_postgres(own_server.url + "?command_timeout=0.3&pool_size=1")
    await store.upgrade()
    pid = await backend(store)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailable):
            await store.now()
        task = asyncio.create_task(store.now())
        assert await task > 0
        assert await backend(store) != pid
    finally:
        os.kill(pid, signal.SIGCONT)
    await store.close()


async def test_a_closed_store_says_so(space: Any) -> None:
    async with space.opened() as store:
        await store.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            await store.now()
        await store.close()


@pytest.mark.parametrize("pool_size", [1, 2])
async def test_handlers_that_use_up_the_pool_cost_no_lease(space: Any, pool_size: int) -> None:
    async with space.opened(pool_size=pool_size) as store:
        attempts: list[int] = []

        async def hold_a_connection(payload: object, ctx: JobContext) -> None:
            attempts.append(ctx.attempt)
            async with store._database._connections.use():
                await asyncio.sleep(1.2)  # longer than a lease
            assert not ctx.signal.revoked

        for number in range(6):
            await store.jobs.add([NewJob(str(number), None, "t", "0")])
        worker = Worker(Storage(store), {"t": hold_a_connection}, concurrency=10, ttl=1)
        async with asyncio.timeout(PATIENCE):
            assert await worker.drain() == 6
        assert attempts == [1] * 6


async def test_two_that_revive_a_job_at_once_revive_it_once(space: Any) -> None:
    async with space.opened() as store, space.opened() as other:
        for number in range(30):
            await store.jobs.add([NewJob(str(number), None, "t", "0", max_attempts=1)])
            got = await store.jobs.claim(["t"], 1, SECOND, "w", max_attempts=1)
            await store.jobs.settle([Outcome(got.grants[0].hold, Dead("x"))])
            found = await asyncio.gather(
                *(handle.jobs.revive(None, str(number)) for handle in (store, other))
            )
            assert sorted(state.value for state in found) == ["dead", "waiting"]
            got = await store.jobs.claim(["t"], 1, SECOND, "w", max_attempts=1)
            await store.jobs.settle([Outcome(got.grants[0].hold, Done("0"))])
