"""The floor on SQLite: the standard library's driver, WAL, every commit on disk.

Variant: how many jobs one transaction claims and one finishes. While idle it looks at
`data_version`, which another process's commit changes, every 5 ms.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence

from peer import OnJob, Payload, Peer, main

TABLES = """
create table jobs(
  id integer primary key,
  status int not null default 0,
  attempts int not null default 0,
  run_at real not null,
  locked_by text,
  locked_until real,
  finished_at real,
  payload text not null);
create index jobs_pending on jobs(run_at, id) where status = 0;
create index jobs_running on jobs(locked_until) where status = 1;
"""
CLAIM = """
update jobs set status = 1, attempts = attempts + 1, locked_by = 'worker', locked_until = ?
where id in (select id from jobs where status = 0 and run_at <= ? order by run_at, id limit ?)
returning id, payload"""
FINISH = """
update jobs set status = 2, finished_at = ?, locked_by = null, locked_until = null
where id = ? and status = 1 and locked_by = 'worker'"""


class FloorSqlite(Peer):
    def connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.target, isolation_level=None, timeout=10)
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")
        return connection

    async def setup(self) -> None:
        self.connect().executescript(TABLES)

    @contextlib.asynccontextmanager
    async def producing(self) -> AsyncIterator[None]:
        self.connection = self.connect()
        yield

    async def enqueue_one(self, one: Payload) -> None:
        self.connection.execute(
            "insert into jobs(run_at, payload) values(?, ?)", (time.time(), json.dumps(one))
        )

    async def enqueue_bulk(self, many: Sequence[Payload]) -> None:
        now = time.time()
        self.connection.execute("begin immediate")
        self.connection.executemany(
            "insert into jobs(run_at, payload) values(?, ?)",
            ((now, json.dumps(one)) for one in many),
        )
        self.connection.execute("commit")

    async def work(self, concurrency: int, on_job: OnJob, wait: float) -> None:
        connection, batch = self.connect(), int(self.variant)
        while True:
            version = connection.execute("pragma data_version").fetchone()
            now = time.time()
            rows = connection.execute(CLAIM, (now + 30, now, batch)).fetchall()
            if not rows:
                while connection.execute("pragma data_version").fetchone() == version:
                    time.sleep(0.005)
                continue
            for _, text in rows:
                on_job(json.loads(text))
            connection.execute("begin immediate")
            connection.executemany(FINISH, ((time.time(), id) for id, _ in rows))
            connection.execute("commit")


main(FloorSqlite)
