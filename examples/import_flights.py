"""Work off 30,000 flights of 16 airlines, each airline in its turn. Press Ctrl-C and run it again.

Every flight is a job of its airline. One airline has 5,166 flights, one has a single flight,
and still that one does not wait for the others' thousands.

    python examples/import_flights.py
    python examples/import_flights.py --store postgresql://localhost/mydb
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import gzip
import itertools
import os
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from gnl_core import Job, JobContext, Worker, enqueue_many, open_storage

FLIGHTS = Path(__file__).parent / "data" / "flights-30000.csv.gz"
DEFAULT_STORE = "sqlite:///flights-queue.db"
PARTS = 10
Row: TypeAlias = dict[str, str]

console = Console()


class Flights:
    """The user's own table: what became of each flight, and as which one it was begun."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS flight"
            " (id TEXT PRIMARY KEY, airline TEXT, made_up INTEGER, position INTEGER)"
        )

    def record(self, id: str, airline: str, made_up: int | None, position: int) -> None:
        """Write one flight. A handler may run twice, so a second write changes nothing."""
        self._db.execute(
            "INSERT INTO flight VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (id, airline, made_up, position),
        )

    def done(self) -> Counter[str]:
        """How many flights of each airline are written."""
        return Counter(dict(self._db.execute("SELECT airline, COUNT(*) FROM flight GROUP BY 1")))

    def last_position(self) -> int:
        """As which one the latest flight was begun; 0 if there is none."""
        (last,) = self._db.execute("SELECT COALESCE(MAX(position), 0) FROM flight").fetchone()
        return int(last)

    def order(self) -> list[str]:
        """The airline of each flight, in the order in which they were begun."""
        rows = self._db.execute("SELECT airline FROM flight ORDER BY position")
        return [airline for (airline,) in rows]

    def made_up(self) -> list[tuple[str, float]]:
        """Average minutes that airlines with ten flights or more made up in the air, best first."""
        return self._db.execute(
            "SELECT airline, AVG(made_up) FROM flight"
            " WHERE made_up IS NOT NULL GROUP BY 1 HAVING COUNT(*) >= 10 ORDER BY 2 DESC"
        ).fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def read_jobs(path: Path) -> list[Job]:
    """One job for each row. The id says which flight it is, so enqueuing it twice is harmless."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as file:
        return [
            Job("flight", row, id=flight_id(row), org_id=row["carrier"])
            for row in csv.DictReader(file)
        ]


def flight_id(row: Row) -> str:
    """Date, planned departure, airport, airline and number: no two flights share these."""
    date = f"{row['year']}-{int(row['month']):02}-{int(row['day']):02}"
    return f"{date}/{row['sched_dep_time']}/{row['origin']}/{row['carrier']}{row['flight']}"


def minutes_made_up(row: Row) -> int | None:
    """How much of its delay a flight lost on the way; None if it was canceled or diverted."""
    if "NA" in (row["dep_delay"], row["arr_delay"]):
        return None
    return int(row["dep_delay"]) - int(row["arr_delay"])


async def work_off(storage_url: str, jobs: list[Job], flights: Flights, concurrency: int) -> int:
    """Enqueue what is not there yet, then work until nothing is left; how many ran just now."""
    positions = itertools.count(flights.last_position() + 1)

    with progress(jobs, flights.done()) as advance:

        async def flight(row: Row, ctx: JobContext) -> int | None:
            position = next(positions)
            await asyncio.sleep(0.001)  # what a call to some service would take
            made_up = minutes_made_up(row)
            flights.record(ctx.id, row["carrier"], made_up, position)
            advance(row["carrier"])
            return made_up

        async with open_storage(storage_url) as storage:
            await enqueue_many(storage.work, jobs)
            async with Worker(storage, {"flight": flight}, concurrency=concurrency) as worker:
                return await worker.drain()


def shares(order: list[str], airlines: Sequence[str]) -> Table:
    """A row for each tenth of the run: what part of it went to each airline."""
    table = Table("begun", *airlines, title="share of each airline, in percent", box=SIMPLE_HEAD)
    table.padding = (0, 1, 0, 0)
    for part in range(PARTS):
        first, end = len(order) * part // PARTS, len(order) * (part + 1) // PARTS
        counts = Counter(order[first:end])
        percents = (100 * counts[airline] / (end - first) for airline in airlines)
        table.add_row(f"{first + 1}-{end}", *map(percent, percents))
    return table


def percent(share: float) -> str:
    """Nothing for nothing, and never 0 for something."""
    return f"{share:.0f}" if share >= 1 else "<1" if share else ""


Advance: TypeAlias = Callable[[str], None]


@contextmanager
def progress(jobs: list[Job], done: Counter[str]) -> Iterator[Advance]:
    """Show how far each airline is: a bar each in a terminal, else a line now and then."""
    totals = Counter(job.org_id or "" for job in jobs)
    with bars(totals, done) if console.is_terminal else lines(totals, done) as advance:
        yield advance


@contextmanager
def bars(totals: Counter[str], done: Counter[str]) -> Iterator[Advance]:
    """One bar for each airline, largest first."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console) as shown:
        tasks = {
            airline: shown.add_task(airline, total=total, completed=done[airline])
            for airline, total in totals.most_common()
        }
        yield lambda airline: shown.advance(tasks[airline])


@contextmanager
def lines(totals: Counter[str], done: Counter[str]) -> Iterator[Advance]:
    """A line for each tenth of the way."""
    total = totals.total()
    count = itertools.count(done.total() + 1)

    def advance(_airline: str) -> None:
        n = next(count)
        if n * PARTS // total > (n - 1) * PARTS // total:
            print(f"{n} of {total} flights", flush=True)

    yield advance


def report(flights: Flights, jobs: list[Job]) -> None:
    """What the run showed."""
    order = flights.order()
    totals = Counter(job.org_id or "" for job in jobs)
    console.print(shares(order, [airline for airline, _ in totals.most_common()]))
    airline, total = totals.most_common()[-1]
    row = next(n for n, job in enumerate(jobs, 1) if job.org_id == airline)
    position = order.index(airline) + 1
    print(
        f"{airline} has {total} flight of {totals.total()}, in row {row} of the file."
        f" It was begun as number {position}; there are {len(totals)} airlines."
    )
    best, minutes = flights.made_up()[0]
    print(f"{best} made up most time in the air: {minutes:.1f} minutes a flight.")


def main() -> int:
    """Run the example; 130 after Ctrl-C, as shells expect."""
    options = arguments()
    jobs = read_jobs(options.csv)
    with closing(Flights(options.results)) as flights:
        before = flights.done().total()
        if before:
            print(f"{before} flights are done already; going on with the others.")
        with suppress(KeyboardInterrupt):
            asyncio.run(work_off(options.store, jobs, flights, options.concurrency))
        done = flights.done().total()
        if done < len(jobs):
            print(f"Stopped after {done} of {len(jobs)} flights. Run it again to go on from there.")
            return 130
        report(flights, jobs)
    print(f"To begin anew, delete {options.results} and what is in the store.")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--csv", type=Path, default=FLIGHTS, metavar="FILE", help="flights to read")
    parser.add_argument(
        "--store",
        default=os.environ.get("GNL_STORE", DEFAULT_STORE),
        metavar="URL",
        help=f"where the jobs are kept (default: $GNL_STORE, else {DEFAULT_STORE})",
    )
    parser.add_argument("--results", type=Path, default=Path("flights.db"), metavar="FILE")
    parser.add_argument("--concurrency", type=int, default=8, metavar="N")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
