"""How jobs and lanes look on a terminal and as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from textwrap import indent

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnl_core.queue import JobInfo
from gnl_core.spi import Lane

_COLUMNS = ("id", "org", "type", "state", "attempts", "enqueued", "error")


def print_json(value: object) -> None:
    """`value` as JSON, for programs."""
    typer.echo(json.dumps(value, indent=2))


def print_jobs(jobs: Sequence[JobInfo]) -> None:
    """A line for each job."""
    print_rows(_COLUMNS, [_row(job) for job in jobs])


def print_lanes(lanes: Iterable[Lane]) -> None:
    """A line for each lane."""
    rows = [
        (org_name(lane.org_id), str(lane.ready), str(lane.delayed), str(lane.running))
        for lane in lanes
    ]
    print_rows(("org", "ready", "delayed", "running"), rows)


def print_job(job: JobInfo) -> None:
    """Everything about one job."""
    for key, value in job_as_json(job).items():
        if key != "failures" and value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            typer.echo(f"{key}: {printable(text, keep_lines=True)}")
    for failure in job.failures:
        typer.echo(f"attempt {failure.attempt} failed at {failure.failed_at.isoformat()}:")
        typer.echo(indent(printable(failure.error.strip(), keep_lines=True), "    "))


def job_as_json(job: JobInfo) -> dict[str, object]:
    """A job for programs; payload and result in the JSON they are stored as."""
    return {
        "id": job.id,
        "org_id": job.org_id,
        "type": job.type,
        "state": job.state.value,
        "run_id": job.run_id,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "enqueued_at": _time(job.enqueued_at),
        "due_at": _time(job.due_at),
        "worker": job.worker,
        "lease_expires_at": _time(job.lease_expires_at),
        "cancel_requested": job.cancel_requested,
        "finished_at": _time(job.finished_at),
        "payload": stored(job.payload_text),
        "result": stored(job.result_text),
        "error": job.error,
        "failures": [
            {"attempt": f.attempt, "error": f.error, "failed_at": _time(f.failed_at)}
            for f in job.failures
        ],
    }


def lane_as_json(lane: Lane) -> dict[str, object]:
    """A lane for programs."""
    return {
        "org_id": lane.org_id,
        "ready": lane.ready,
        "delayed": lane.delayed,
        "running": lane.running,
    }


def printable(text: str, *, keep_lines: bool = False) -> str:
    """`text` without what would move the cursor or end a line: names may hold anything."""
    return "".join(
        c if c.isprintable() or (keep_lines and c == "\n") else ascii(c)[1:-1] for c in text
    )


def _row(job: JobInfo) -> tuple[str, ...]:
    return (
        job.id,
        org_name(job.org_id),
        job.type,
        job.state.value,
        str(job.attempts),
        job.enqueued_at.isoformat(timespec="seconds"),
        (job.error or "").partition("\n")[0],
    )


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; elsewhere tab-separated lines, which nothing cuts short."""
    cells = [[printable(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in (columns, *cells):
            typer.echo("\t".join(row))
        return
    table = Table(*columns, box=None, pad_edge=False)
    for row in cells:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    Console().print(table)


def org_name(org_id: str | None) -> str:
    """An organization in a table."""
    return "-" if org_id is None else org_id


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()


def stored(text: str | None) -> object:
    """Stored JSON as a value."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a damaged row is still to be looked at
        return text
