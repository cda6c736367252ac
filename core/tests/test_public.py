from __future__ import annotations

import subprocess
import sys

import gnl_core

PINNED = [
    "Backoff",
    "CancelAnswer",
    "Capability",
    "Consumer",
    "ConsumerRecord",
    "DeadEventInfo",
    "DeadLetter",
    "Event",
    "EventMeta",
    "ExecutionRevokedError",
    "GiveBack",
    "GnlError",
    "IdConflict",
    "InvalidCursor",
    "InvalidEvent",
    "InvalidInput",
    "InvalidJob",
    "Job",
    "JobContext",
    "JobFailure",
    "JobInfo",
    "JobState",
    "Lane",
    "Page",
    "QueueFull",
    "ReleaseAnswer",
    "Retry",
    "RetryAnswer",
    "RevokedWhy",
    "SchemaMismatch",
    "Signal",
    "Storage",
    "StoreError",
    "StoreNotFound",
    "StoreRejected",
    "StoreUnavailable",
    "TopicFull",
    "TopicRecord",
    "UndecodableText",
    "Worker",
    "cancel_job",
    "emit",
    "emit_many",
    "enqueue",
    "enqueue_many",
    "exponential",
    "fixed",
    "get_job",
    "job_depth",
    "list_all_jobs",
    "list_consumers",
    "list_dead_events",
    "list_jobs",
    "list_lanes",
    "list_topics",
    "open_storage",
    "prune_events",
    "prune_jobs",
    "remove_consumer",
    "retry_dead_event",
    "retry_job",
    "rewind_consumer",
]


def test_the_public_names_are_sorted_and_there() -> None:
    assert sorted(gnl_core.__all__) == gnl_core.__all__
    for name in gnl_core.__all__:
        assert getattr(gnl_core, name) is not None


def test_the_public_names_are_pinned() -> None:
    assert gnl_core.__all__ == PINNED


DRIVERS = "aiomysql aiosqlite asyncpg libsql motor pymongo sqlalchemy typer rich"


def test_importing_the_library_imports_no_driver_and_no_command_line() -> None:
    code = (
        f"import gnl_core, gnl_core.sync, sys; print(set({DRIVERS!r}.split()) & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
