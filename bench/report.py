"""The tables: medians, ratios to the floor, growth, targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from contenders import CONTENDERS, Kind
from growth import GROWTH
from samples import Samples
from targets import target_lines

FLOORS = {Kind.POSTGRES: "floor", Kind.SQLITE: "floor-sqlite"}
EVENT_FLOOR = "floor-events"


@dataclass(frozen=True)
class Column:
    """One number of one operation. `compared`: its ratio to the floor's is shown as well.

    `floor` is another floor than the table's.
    """

    operation: str
    key: str
    heading: str
    compared: bool = True
    floor: str | None = None


COLUMNS = (
    Column("one", "per_s", "enqueue one/s"),
    Column("bulk", "per_s", "bulk jobs/s"),
    Column("drain", "per_s", "drain/s"),
    Column("drain", "worker_us", "worker CPU µs/job", compared=False),
    Column("drain", "server_us", "server CPU µs/job", compared=False),
    Column("drain-2", "per_s", "2 processes/s"),
    Column("awaited", "per_s", "10 ms handlers/s", floor="slots"),
    Column("pickup", "p50_ms", "pickup p50 ms"),
    Column("pickup", "p95_ms", "p95 ms"),
    Column("idle", "statements_per_s", "20 idle, statements/s", compared=False),
)

EVENT_COLUMNS = (
    Column("emit", "per_s", "emit one/s"),
    Column("emit-bulk", "per_s", "bulk events/s"),
    Column("consume-1", "per_s", "1 consumer, deliveries/s"),
    Column("consume-1", "worker_us", "consumer CPU µs/event", compared=False),
    Column("consume-1", "server_us", "server CPU µs/event", compared=False),
    Column("consume-3", "per_s", "3 consumers"),
    Column("consume-10", "per_s", "10 consumers"),
    Column("event-pickup", "p50_ms", "pickup p50 ms"),
    Column("event-pickup", "p95_ms", "p95 ms"),
    Column("history", "per_s", "behind 1,000,000"),
    Column("parked", "per_s", "beside 1,000 parked"),
)

GROWTH_TITLES = {
    "empty": "one lane, nothing else (jobs/s)",
    "finished": "1,000,000 finished",
    "waiting": "200,000 waiting",
    "lanes-16": "16 lanes",
    "lanes-10000": "10,000 lanes",
    "snapshot": "snapshot held open",
    "transaction": "writing transaction held open",
    "workers-8": "eight worker processes",
}


def report(samples: Samples) -> str:
    """Everything that was measured, as Markdown."""
    lines = []
    for kind, floor in FLOORS.items():
        kinds = {kind, Kind.NONE} if kind is Kind.POSTGRES else {kind}
        names = [n for n in samples.contenders() if CONTENDERS[n].kind in kinds]
        lines += [f"## {kind.value}", "", *_table(samples, names, COLUMNS, floor), ""]
    names = samples.contenders()
    lines += ["## Events", "", *_table(samples, names, EVENT_COLUMNS, EVENT_FLOOR), ""]
    lines += ["## Growth", "", *_growth_table(samples), ""]
    lines += ["## Targets", "", *target_lines(samples), ""]
    lines += _failures(samples)
    return "\n".join(lines)


def _table(
    samples: Samples, names: Sequence[str], columns: Sequence[Column], floor: str
) -> Iterator[str]:
    columns = [c for c in columns if any(samples.values(n, c.operation, c.key) for n in names)]
    names = [n for n in names if any(samples.values(n, c.operation, c.key) for c in columns)]
    if not columns:
        yield "Not measured."
        return
    yield "| | " + " | ".join(column.heading for column in columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name in names:
        cells = (_cell(samples, name, column, floor) for column in columns)
        yield f"| {CONTENDERS[name].title} | " + " | ".join(cells) + " |"


def _cell(samples: Samples, name: str, column: Column, floor: str) -> str:
    value = samples.median(name, column.operation, column.key)
    if value is None:
        return "-"
    if not column.compared or name == floor:
        return number(value)
    floor = column.floor or floor
    ratio = samples.ratio((name, column.operation), (floor, column.operation), column.key)
    return number(value) + (f" ({number(ratio[0])})" if ratio else "")


def _growth_table(samples: Samples) -> Iterator[str]:
    names = [n for n in samples.contenders() if samples.values(n, "empty", "per_s")]
    if not names:
        yield "Not measured."
        return
    yield "| | " + " | ".join(CONTENDERS[name].title for name in names) + " |"
    yield "|---" * (len(names) + 1) + "|"
    for operation in GROWTH:
        cells = (_growth_cell(samples, name, operation) for name in names)
        yield f"| {GROWTH_TITLES[operation]} | " + " | ".join(cells) + " |"


def _growth_cell(samples: Samples, name: str, operation: str) -> str:
    if operation == "empty":
        value = samples.median(name, operation, "per_s")
        return "-" if value is None else number(value)
    ratio = samples.ratio((name, operation), (name, "empty"))
    if ratio is None:
        return "-"
    return f"{ratio[0]:.2f} ({ratio[1]:.2f} to {ratio[2]:.2f})"


def _failures(samples: Samples) -> Iterator[str]:
    for sample in samples.all:
        if sample.error is not None:
            yield f"- failed: {sample.contender}, {sample.operation}: {sample.error}"


def number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
