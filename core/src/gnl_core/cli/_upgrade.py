"""``gnl upgrade``: create the tables, or bring them up to date."""

from __future__ import annotations

import typer

from gnl_core.cli._print import print_json
from gnl_core.cli._run import AsJson, StoreUrl, finish
from gnl_core.storage import upgrade_storage


def upgrade_command(store: StoreUrl, as_json: AsJson = False) -> None:
    """Create the tables, or bring them up to what this version needs, keeping all data."""
    before, after = finish(upgrade_storage(store))
    if as_json:
        print_json({"before": before, "after": after})
    elif before is None:
        typer.echo(f"tables created, version {after}")
    elif before == after:
        typer.echo(f"tables are up to date, version {after}")
    else:
        typer.echo(f"tables upgraded from version {before} to {after}")
