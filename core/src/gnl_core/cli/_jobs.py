"""``gnl jobs`` and ``gnl lanes``."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, TypeAlias

import typer

from gnl_core.cli._answers import for_each, print_page
from gnl_core.cli._print import (
    job_as_json,
    lane_as_json,
    print_job,
    print_jobs,
    print_json,
    print_lanes,
)
from gnl_core.cli._run import AsJson, ExitCode, Org, StoreUrl, fail, on_storage
from gnl_core.queue import (
    JobInfo,
    Page,
    cancel_job,
    get_job,
    list_all_jobs,
    list_jobs,
    list_lanes,
    retry_job,
)
from gnl_core.spi import JobState
from gnl_core.storage import Storage

jobs = typer.Typer(no_args_is_help=True, help="List, show, retry and cancel jobs.")

Ids: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of jobs.")]


@jobs.command("list")
def list_command(
    *,
    store: StoreUrl,
    org: Org = None,
    all_: Annotated[bool, typer.Option("--all", help="Jobs of every organization.")] = False,
    state: Annotated[
        JobState | None, typer.Option("--state", help="Only jobs in this state.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Jobs to look at.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on where a page ended.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a page of jobs in enqueue order; the cursor for the next page goes to stderr."""
    if all_ and org is not None:
        fail("--all and --org exclude each other; leave one out", ExitCode.USAGE)

    def page(storage: Storage) -> Awaitable[Page[JobInfo]]:
        if all_:
            return list_all_jobs(storage.work, cursor=cursor, limit=limit, state=state)
        return list_jobs(storage.work, org, cursor=cursor, limit=limit, state=state)

    found = on_storage(store, page)
    print_page(found, print_jobs, job_as_json if as_json else None)


@jobs.command("show")
def show_command(
    store: StoreUrl,
    id: Annotated[str, typer.Argument(metavar="ID", help="Id of the job.")],
    org: Org = None,
    as_json: AsJson = False,
) -> None:
    """Show one job with payload, result and failures."""
    job = on_storage(store, lambda storage: get_job(storage.work, id, org_id=org))
    if job is None:
        fail(_unknown(id, org))
    elif as_json:
        print_json(job_as_json(job))
    else:
        print_job(job)


@jobs.command("retry")
def retry_command(store: StoreUrl, ids: Ids, org: Org = None, as_json: AsJson = False) -> None:
    """Revive dead jobs: same id, same run, fresh budget. Exits 1 unless all were dead."""
    for_each(store, ids, org, as_json, lambda work, job: retry_job(work, job, org_id=org))


@jobs.command("cancel")
def cancel_command(store: StoreUrl, ids: Ids, org: Org = None, as_json: AsJson = False) -> None:
    """Cancel jobs: waiting ones never start, running ones are told. Exits 1 unless all were."""
    for_each(store, ids, org, as_json, lambda work, job: cancel_job(work, job, org_id=org))


def lanes_command(store: StoreUrl, as_json: AsJson = False) -> None:
    """List the lanes that have live jobs."""
    lanes = on_storage(store, lambda storage: list_lanes(storage.work))
    if as_json:
        print_json([lane_as_json(lane) for lane in lanes])
    else:
        print_lanes(lanes)


def _unknown(id: str, org: str | None) -> str:
    where = "without organization (try --org)" if org is None else f"of organization {org!r}"
    return f"no job {where} has the id {id!r}"
