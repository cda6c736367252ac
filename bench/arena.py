"""Where contenders are measured: fresh databases, their programs, and how large everything is."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from children import Child, Report, first_of
from contenders import Contender, Kind
from environments import python_of
from redis_server import RedisServer
from servers import PostgresServer

DATABASE = "bench"


class Arena:
    """One contender at a time, each measurement from an empty database."""

    def __init__(self, server: PostgresServer, folder: Path, scale: float) -> None:
        self.server = server
        self.scale = scale
        self._folder = folder
        self._redis: RedisServer | None = None
        self._children = 0

    def count(self, n: int, least: int = 200) -> int:
        """`n` jobs at full scale, fewer in a quick run."""
        return max(min(n, least), int(n * self.scale))

    def seconds(self, full: float, quick: float) -> float:
        return full if self.scale >= 1 else quick

    def fresh(self, contender: Contender) -> None:
        """Start from an empty database with the contender's own tables."""
        if contender.kind is Kind.POSTGRES:
            self.server.recreate(DATABASE)
        elif contender.kind is Kind.SQLITE:
            for path in self._folder.glob(f"{DATABASE}.db*"):
                path.unlink()
        self.call(contender, "setup")

    def steady(self, contender: Contender, *, vacuum: bool = False) -> None:
        """Fresh statistics and no checkpoint ahead, as on a server that has run for a while."""
        if contender.kind is Kind.POSTGRES:
            self.server.run(DATABASE, "vacuum analyze" if vacuum else "analyze", "checkpoint")

    def served(self, contender: Contender) -> float:
        """CPU seconds that the contender's server has used; 0 for one without."""
        if contender.kind is Kind.REDIS:
            return self.redis.cpu_seconds()
        return self.server.cpu_seconds() if contender.kind is Kind.POSTGRES else 0.0

    @property
    def redis(self) -> RedisServer:
        """Started when it is first needed."""
        if self._redis is None:
            self._redis = RedisServer()
        return self._redis

    def close(self) -> None:
        if self._redis is not None:
            self._redis.close()

    def start(self, contender: Contender, operation: str, **options: object) -> Child:
        """Start the contender's program."""
        self._children += 1
        command = [str(python_of(contender.environment)), str(contender.path), operation]
        command += ["--target", self._target(contender), "--variant", contender.variant]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        return Child(command, self._folder / f"{self._children}.err")

    def call(
        self, contender: Contender, operation: str, *, timeout: float = 600, **options: object
    ) -> Report:
        """Run the contender's program to its end; its last report."""
        with self.start(contender, operation, **options) as child:
            return child.wait_for("ok", timeout)

    def drain(
        self,
        contender: Contender,
        n: int,
        *,
        processes: int = 1,
        concurrency: int = 100,
        wait: float = 0.0,
        whole: bool = True,
    ) -> dict[str, float]:
        """Jobs a second from the first handler start until the store holds no unfinished job.

        Not `whole`: until the n-th handler start, while more jobs are left.
        """
        options = {"n": n if processes == 1 else 0, "concurrency": concurrency, "wait": wait}
        with contextlib.ExitStack() as stack:
            unfinished = stack.enter_context(self._watching(contender))
            workers = [
                stack.enter_context(self.start(contender, "work", **options))
                for _ in range(processes)
            ]
            began = first_of(workers, "first", 60)["at"]
            used = sum(worker.cpu_seconds() for worker in workers)
            served = self.server.cpu_seconds()
            ended = time.monotonic_ns()
            if processes == 1:
                ended = workers[0].wait_for("last", 600)["at"]
            if whole:
                while unfinished():
                    time.sleep(0.003)
                    ended = time.monotonic_ns()
            return {
                "per_s": n / ((ended - began) / 1e9),
                "worker_us": (sum(w.cpu_seconds() for w in workers) - used) / n * 1e6,
                "server_us": (self.server.cpu_seconds() - served) / n * 1e6,
            }

    @contextlib.contextmanager
    def _watching(self, contender: Contender) -> Iterator[Callable[[], bool]]:
        """A look at whether the store holds unfinished jobs."""
        sql = contender.unfinished
        if sql is None:
            yield lambda: False
        elif contender.kind is Kind.POSTGRES:
            with self.server.session(DATABASE) as session:
                yield lambda: session.is_true(sql)
        else:
            with contextlib.closing(sqlite3.connect(self._file)) as connection:
                yield lambda: bool(connection.execute(sql).fetchone()[0])

    def _target(self, contender: Contender) -> str:
        if contender.kind is Kind.POSTGRES:
            return self.server.url(DATABASE)
        if contender.kind is Kind.REDIS:
            return self.redis.url()
        return f"{contender.scheme}{self._file}"

    @property
    def _file(self) -> Path:
        return self._folder / f"{DATABASE}.db"


@contextlib.contextmanager
def open_arena(scale: float) -> Iterator[Arena]:
    """A server and a folder of our own, gone afterwards."""
    with (
        PostgresServer() as server,
        tempfile.TemporaryDirectory(prefix="gnl-bench-") as folder,
        contextlib.closing(Arena(server, Path(folder), scale)) as arena,
    ):
        yield arena
