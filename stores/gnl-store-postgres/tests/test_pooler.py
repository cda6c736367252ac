"""Behind a pooler in transaction mode, with two connections to the server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from gnl_core.spi import (
    SECOND,
    Capability,
    Done,
    EveryLane,
    JobState,
    NewJob,
    Outcome,
    StoreError,
    StoreUnavailable,
)
from gnl_store_postgres import open_postgres

SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
server_reset_query =
"""


@pytest.fixture
def pooler(own_server: Any, not_run: Callable[[str], None]) -> Iterator[str]:
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        not_run("no pgbouncer: install it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    users = own_server.folder / "users.txt"
    users.write_text('"gnl" ""\n')
    settings = own_server.folder / "pooler.ini"
    settings.write_text(SETTINGS.format(server=own_server.port, port=port, users=users))
    for file in (users, settings):
        file.chmod(0o644)  # the pooler runs as the server's user
    process = own_server.launch(program, "-q", str(settings))
    try:
        asyncio.run(reachable(port))
        yield f"postgresql://gnl@127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait()


async def reachable(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


async def test_everything_works_with_the_option(pooler: str) -> None:
    store = await open_postgres(pooler + "?pooler=transaction&pool_size=8")
    assert Capability.WAKE_UPS not in store.capabilities
    await store.upgrade()
    await store.schema()
    done = 0

    async def work(name: str) -> None:
        nonlocal done
        for number in range(15):
            await store.jobs.add([NewJob(f"{name}{number}", name, "t", "0")], max_depth=1_000)
            got = await store.jobs.claim(["t"], 3, 30 * SECOND, name, max_attempts=5)
            await store.jobs.extend([grant.hold for grant in got.grants], SECOND)
            ends = [Outcome(grant.hold, Done("0")) for grant in got.grants]
            settled = await store.jobs.settle(ends)
            done += sum(settlement.state is JobState.DONE for settlement in settled)

    await asyncio.gather(*(work(f"w{n}") for n in range(8)))
    while got := (await store.jobs.claim(["t"], 9, 30 * SECOND, "w", max_attempts=5)).grants:
        await store.jobs.settle([Outcome(grant.hold, Done("0")) for grant in got])
        done += len(got)
    assert done == 8 * 15
    page = await store.jobs.page(EveryLane(), None, 50)
    rest = await store.jobs.page(EveryLane(), page.position, 500)
    assert len(page.items) + len(rest.items) == done

    connection = await asyncpg.connect(pooler, statement_cache_size=0)
    async with connection.transaction():
        await store.jobs.add([NewJob("mine", "new", "t", "0")], connection=connection)
        assert await store.jobs.get("new", "mine") is None
    assert await store.jobs.cancel("new", "mine") is JobState.WAITING
    assert await store.jobs.prune(list(JobState), keep=0) == done + 1
    assert await store.jobs.lanes() == ()
    await connection.close()
    await store.close()


async def test_without_the_option_the_error_names_it(pooler: str) -> None:
    """Each connection's statements have the same names, and sessions are shared."""
    store = await open_postgres(pooler + "?pooler=transaction")
    await store.upgrade()
    await store.close()
    plain = [await open_postgres(pooler + "?pool_size=1&wake_ups=off") for _ in range(4)]
    said: list[str] = []
    for _ in range(5):
        answers = await asyncio.gather(
            *(store.jobs.depth(None) for store in plain),
            *(store.now() for store in plain),
            return_exceptions=True,
        )
        said += [str(answer) for answer in answers if isinstance(answer, StoreError)]
    assert said
    assert all("pooler=transaction" in text for text in said), said
    for store in plain:
        await store.close()


async def test_listening_through_it_is_noticed(pooler: str) -> None:
    through = quote(pooler, safe="")
    store = await open_postgres(f"{pooler}?pooler=transaction&listen_url={through}")
    assert Capability.WAKE_UPS in store.capabilities
    with pytest.raises(StoreUnavailable, match="listen_url"):
        async with asyncio.timeout(60):
            await store.listen(lambda: None)
    await store.close()


async def test_listening_beside_it_works(pooler: str, own_server: Any) -> None:
    direct = quote(own_server.url, safe="")
    store = await open_postgres(f"{pooler}?pooler=transaction&listen_url={direct}")
    await store.upgrade()
    heard = asyncio.Event()
    listening = asyncio.create_task(store.listen(heard.set))
    async with asyncio.timeout(60):
        for number in itertools.count():
            await store.jobs.add([NewJob(str(number), None, "t", "0")])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(heard.wait(), 0.1)
                break
    listening.cancel()
    await asyncio.wait([listening])
    await store.close()
