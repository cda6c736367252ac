"""Who is measured, and by which operations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

PEERS = Path(__file__).resolve().parent / "peers"


class Kind(Enum):
    """Which database a contender keeps its jobs or events in."""

    POSTGRES = "PostgreSQL"
    SQLITE = "SQLite"
    REDIS = "Redis"
    NONE = "no database"


@dataclass(frozen=True)
class Contender:
    """One row of the table.

    `unfinished` is SQL that is true while the store holds unfinished jobs; None where a job
    leaves the store before its handler runs. `scheme` stands before the path of a SQLite file.
    `drained`, `awaited` and `bulk` are job counts,
    smaller for those who would take minutes with the usual ones.
    """

    title: str
    kind: Kind
    program: str
    environment: str
    takes: frozenset[str]
    variant: str = ""
    unfinished: str | None = None
    scheme: str = ""
    drained: int = 30_000
    awaited: int = 30_000
    bulk: int = 30_000

    @property
    def path(self) -> Path:
        return PEERS / self.program


_POSTGRES = frozenset({"one", "bulk", "drain", "drain-2", "pickup"})
_SQLITE = frozenset({"one", "bulk", "drain", "pickup"})
_GROWTH = frozenset({"empty", "finished", "waiting", "snapshot", "transaction", "workers-8"})
_LANES = frozenset({"lanes-16", "lanes-10000"})

_EVENTS = frozenset({"emit", "emit-bulk", "consume-1", "consume-3", "consume-10", "event-pickup"})

_FLOOR_POSTGRES = (
    "select exists(select from jobs where status = 0) or exists(select from jobs where status = 1)"
)
_FLOOR_SQLITE = "select exists(select 1 from jobs where status < 2)"
_PROCRASTINATE = (
    "select exists(select from procrastinate_jobs where status = 'todo')"
    " or exists(select from procrastinate_jobs where status = 'doing')"
)
_PGQUEUER = "select exists(select from pgqueuer)"

_GNL = (
    "select exists(select from gnl_ready) or exists(select from gnl_delayed)"
    " or exists(select from gnl_held)"
)
_GNL_SQLITE = _GNL.replace("select from", "select 1 from")

CONTENDERS = {
    "floor": Contender(
        "floor, batches of 100",
        Kind.POSTGRES,
        "floor_postgres.py",
        "floor",
        _POSTGRES | _GROWTH,
        "100",
        _FLOOR_POSTGRES,
    ),
    "floor-500": Contender(
        "floor, batches of 500",
        Kind.POSTGRES,
        "floor_postgres.py",
        "floor",
        frozenset({"drain", "drain-2"}),
        "500",
        _FLOOR_POSTGRES,
    ),
    "gnl": Contender(
        "gnl",
        Kind.POSTGRES,
        "gnl_queue.py",
        "gnl",
        _POSTGRES | _GROWTH | _LANES | {"awaited", "idle"},
        unfinished=_GNL,
    ),
    "slots": Contender(
        "100 slots without a queue",
        Kind.NONE,
        "bare_slots.py",
        "floor",
        frozenset({"awaited"}),
    ),
    "procrastinate": Contender(
        "Procrastinate",
        Kind.POSTGRES,
        "procrastinate_queue.py",
        "procrastinate",
        _POSTGRES | {"awaited", "idle"},
        unfinished=_PROCRASTINATE,
        drained=5_000,
        awaited=2_000,
    ),
    "pgqueuer": Contender(
        "PgQueuer, batches of 10",
        Kind.POSTGRES,
        "pgqueuer_queue.py",
        "pgqueuer",
        _POSTGRES | {"awaited", "idle"},
        "10",
        _PGQUEUER,
    ),
    "pgqueuer-100": Contender(
        "PgQueuer, batches of 100",
        Kind.POSTGRES,
        "pgqueuer_queue.py",
        "pgqueuer",
        frozenset({"drain", "drain-2", "awaited"}),
        "100",
        _PGQUEUER,
    ),
    "floor-sqlite": Contender(
        "floor, batches of 100",
        Kind.SQLITE,
        "floor_sqlite.py",
        "floor",
        _SQLITE,
        "100",
        _FLOOR_SQLITE,
    ),
    "gnl-sqlite": Contender(
        "gnl",
        Kind.SQLITE,
        "gnl_queue.py",
        "gnl",
        _SQLITE,
        unfinished=_GNL_SQLITE,
        scheme="sqlite:///",
    ),
    "huey": Contender(
        "Huey, 1 thread",
        Kind.SQLITE,
        "huey_queue.py",
        "huey",
        _SQLITE,
        "1",
        drained=10_000,
        bulk=10_000,
    ),
    "floor-events": Contender(
        "floor, batches of 100",
        Kind.POSTGRES,
        "floor_events.py",
        "floor",
        _EVENTS | {"history"},
    ),
    "gnl-events": Contender(
        "gnl", Kind.POSTGRES, "gnl_events.py", "gnl", _EVENTS | {"history", "parked"}
    ),
    "redis-streams": Contender(
        "Redis Streams", Kind.REDIS, "redis_streams.py", "redis", _EVENTS | {"history"}
    ),
}
