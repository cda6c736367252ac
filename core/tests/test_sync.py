from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import os
import threading

import pytest

import gnl_core
from gnl_core import sync
from gnl_core.errors import GnlError, InvalidInput, InvalidJob, StoreNotFound


def gnl_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "gnl-sync"]


def test_the_calls_are_those_of_the_async_door() -> None:
    with sync.open_storage("memory://") as storage:
        work = storage.work
        assert sync.enqueue(work, "a", {"n": 1}, id="x", org_id="acme") == "x"
        assert sync.enqueue_many(work, [gnl_core.Job("a", id="y"), gnl_core.Job("a", id="z")])
        job = sync.get_job(work, "x", org_id="acme")
        assert job is not None
        assert job.payload == {"n": 1}
        assert [j.id for j in sync.list_jobs(work).items] == ["y", "z"]
        assert [j.id for j in sync.list_all_jobs(work).items] == ["y", "z", "x"]
        assert sync.job_depth(work) == 2
        assert [lane.org_id for lane in sync.list_lanes(work)] == [None, "acme"]
        assert sync.cancel_job(work, "y") == "canceled"
        assert sync.retry_job(work, "y") == "not-dead"
        assert sync.prune_jobs(work, older_than=0) == 1
        assert "memory" in repr(storage)
        assert storage.capabilities
    assert not gnl_threads()


def test_every_job_call_has_its_synchronous_twin() -> None:
    calls = {
        name for name in gnl_core.__all__ if inspect.iscoroutinefunction(getattr(gnl_core, name))
    }
    assert calls <= set(sync.__all__)
    for name in calls:
        assert inspect.signature(getattr(sync, name)) == inspect.signature(getattr(gnl_core, name))


def test_errors_come_through() -> None:
    with sync.open_storage("memory://") as storage, pytest.raises(InvalidJob, match="id is empty"):
        sync.enqueue(storage.work, "a", id="")
    with pytest.raises(StoreNotFound):
        sync.open_storage("nowhere://")
    assert not gnl_threads()


def test_a_transaction_cannot_be_joined() -> None:
    with sync.open_storage("memory://") as storage:
        with pytest.raises(InvalidInput, match="connection"):
            sync.enqueue(storage.work, "a", connection=object())
        with pytest.raises(InvalidInput, match=r"storage\.work"):
            sync.enqueue(storage, "a")  # type: ignore[arg-type]  # the mistake under test
        assert sync.job_depth(storage.work) == 0


def test_many_threads_share_a_storage() -> None:
    with sync.open_storage("memory://") as storage:

        def produce(producer: int) -> None:
            for n in range(50):
                sync.enqueue(storage.work, "a", id=f"{producer}-{n}")

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(produce, range(8)))
        assert sync.job_depth(storage.work) == 400
        assert len(gnl_threads()) == 1


def test_a_closed_storage_says_so() -> None:
    storage = sync.open_storage("memory://")
    storage.close()
    storage.close()
    with pytest.raises(GnlError, match="this storage is closed"):
        sync.enqueue(storage.work, "a")


def test_it_works_inside_a_running_event_loop_too() -> None:
    async def handler() -> str:
        with sync.open_storage("memory://") as storage:
            return sync.enqueue(storage.work, "a", id="x")

    assert asyncio.run(handler()) == "x"


def test_a_forked_child_is_refused() -> None:
    with sync.open_storage("memory://") as storage:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                sync.enqueue(storage.work, "a")
            except GnlError as error:
                code = 0 if "before a fork" in str(error) else 2
                storage.close()
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert sync.job_depth(storage.work) == 0
