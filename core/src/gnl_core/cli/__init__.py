"""The command line, `gnl`.

Exit codes: 0 done, 1 not found or not done, 2 wrong use, 3 the store is unavailable or refuses,
4 the tables are of another version.
"""

from __future__ import annotations

import typer

from gnl_core.cli._consumer import consumer_command
from gnl_core.cli._events import events
from gnl_core.cli._jobs import jobs, lanes_command
from gnl_core.cli._upgrade import upgrade_command
from gnl_core.cli._worker import worker_command

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Background work that survives crashes, on the database you already have.",
    epilog="Exit codes: 0 done, 1 not found or not done, 2 wrong use, 3 store unavailable or"
    " refusing, 4 tables of another version.",
)
app.add_typer(jobs, name="jobs")
app.add_typer(events, name="events")
app.command("consumer")(consumer_command)
app.command("lanes")(lanes_command)
app.command("upgrade")(upgrade_command)
app.command("worker")(worker_command)


def main() -> None:
    """Run the command line."""
    app()
