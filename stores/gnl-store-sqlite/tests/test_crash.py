from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from gnl_core.spi import SECOND

PRODUCER = """
import asyncio, sys
from gnl_core.spi import NewJob
from gnl_store_sqlite import open_sqlite

async def main(url):
    store = await open_sqlite(url)
    for n in range(1_000_000):
        await store.jobs.add([NewJob(f"{n}-{k}", None, "t", "1") for k in range(3)])
        print(n, flush=True)

asyncio.run(main(sys.argv[1]))
"""


async def test_a_kill_loses_no_acknowledged_job_and_leaves_no_half_call(
    opened: Any, path: Path
) -> None:
    async with opened() as store:
        producer = subprocess.Popen(
            [sys.executable, "-c", PRODUCER, f"sqlite:///{path}"], stdout=subprocess.PIPE
        )
        assert producer.stdout is not None
        acknowledged = [int(producer.stdout.readline()) for _ in range(60)]
        producer.kill()
        acknowledged += [int(line) for line in producer.stdout.read().split()]
        producer.stdout.close()
        producer.wait()
        depth = await store.jobs.depth(None)
        assert depth % 3 == 0
        assert depth // 3 in (len(acknowledged), len(acknowledged) + 1)
        claimed = await store.jobs.claim(["t"], depth, 60 * SECOND, "w", max_attempts=1)
        calls = depth // 3
        assert [g.id for g in claimed.grants] == [
            f"{n}-{k}" for n in range(calls) for k in range(3)
        ]
