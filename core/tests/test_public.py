from __future__ import annotations

import subprocess
import sys

import gnl_core


def test_the_public_names_are_sorted_and_there() -> None:
    assert sorted(gnl_core.__all__) == gnl_core.__all__
    for name in gnl_core.__all__:
        assert getattr(gnl_core, name) is not None


def test_the_public_names_of_the_queue_are_pinned() -> None:
    pinned = {
        "Backoff", "CancelAnswer", "Capability", "ExecutionRevokedError", "GnlError",
        "IdConflict", "InvalidCursor", "InvalidInput", "InvalidJob", "Job", "JobFailure",
        "JobInfo", "JobState", "Lane", "Page", "QueueFull", "RetryAnswer", "RevokedWhy",
        "SchemaMismatch", "Storage", "StoreError", "StoreNotFound", "StoreRejected",
        "StoreUnavailable", "UndecodableText", "cancel_job", "enqueue", "enqueue_many",
        "exponential", "fixed", "get_job", "job_depth", "list_all_jobs", "list_jobs",
        "list_lanes", "open_storage", "prune_jobs", "retry_job",
    }  # fmt: skip
    assert pinned <= set(gnl_core.__all__)


DRIVERS = "aiomysql aiosqlite asyncpg libsql motor pymongo sqlalchemy typer rich"


def test_importing_the_library_imports_no_driver_and_no_command_line() -> None:
    code = (
        f"import gnl_core, gnl_core.sync, sys; print(set({DRIVERS!r}.split()) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
