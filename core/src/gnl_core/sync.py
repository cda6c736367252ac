"""The same calls for plain programs: no event loop in sight.

::

    from gnl_core import sync

    with sync.open_storage("sqlite:///work.db") as storage:
        sync.enqueue(storage.work, "reindex", {"doc_id": "d-9"})

Every open storage has one background thread with an event loop, on which its calls run; they
may come from any number of threads. Arguments, answers and errors are those of the functions of
the same name in `gnl_core`; only `connection` cannot be passed, since the caller's transaction
belongs to the caller's thread.

A storage does not survive a fork: open one in each process, after forking.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import os
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from gnl_core import events, queue
from gnl_core import storage as _async
from gnl_core.errors import GnlError, InvalidInput
from gnl_core.spi import Capability, Store

__all__ = [
    "Storage",
    "Work",
    "cancel_job",
    "emit",
    "emit_many",
    "enqueue",
    "enqueue_many",
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

_P = ParamSpec("_P")
_T = TypeVar("_T")


class _LoopThread:
    """An event loop that runs in a thread of its own until it is stopped."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._stopping = threading.Lock()
        # A daemon: a program that forgets to close its storage still ends.
        self._thread = threading.Thread(target=self._run, name="gnl-sync", daemon=True)
        self._thread.start()

    def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run `coroutine` there and wait for it."""
        refusal = self._why_not()
        if refusal is not None:
            coroutine.close()
            raise GnlError(refusal)
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise GnlError("the storage was closed during the call; it may have happened") from None
        except BaseException:
            future.cancel()  # of use when the wait was interrupted, as by Ctrl-C
            raise

    def stop(self) -> None:
        """End the loop, its open calls and the thread. A second call does nothing."""
        if self._process != os.getpid():
            return
        with self._stopping:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._cancel_calls()
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()

    def _cancel_calls(self) -> None:
        open_calls = asyncio.all_tasks(self._loop)
        for task in open_calls:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*open_calls, return_exceptions=True))

    def _why_not(self) -> str | None:
        if self._process != os.getpid():
            return "this storage was opened before a fork; open one in this process"
        if threading.current_thread() is self._thread:
            return "a call of gnl_core.sync was made from its own event loop; use gnl_core there"
        if self._loop.is_closed() or not self._thread.is_alive():
            return "this storage is closed"
        return None


class Work:
    """A store reached through a background thread: what the functions here take first."""

    def __init__(self, store: Store, thread: _LoopThread) -> None:
        self._store = store
        self._thread = thread


class Storage:
    """An open store for plain programs. Any thread may use it; close it in the end."""

    def __init__(self, storage: _async.Storage, thread: _LoopThread) -> None:
        self._storage = storage
        self._thread = thread
        self.work = Work(storage.work, thread)
        self.url = storage.url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What is true of the store's environment."""
        return self._storage.capabilities

    def close(self) -> None:
        """Close the store and end its thread. A second call does nothing."""
        if self._thread._why_not() is None:
            try:
                self._thread.call(self._storage.close())
            finally:
                self._thread.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return repr(self._storage)


def open_storage(url: str) -> Storage:
    """Open the storage at `url`, as `gnl_core.open_storage` does; use it with ``with``."""
    return _open(_async.open_storage(url).__aenter__)


def _open(opening: Callable[[], Coroutine[Any, Any, _async.Storage]]) -> Storage:
    thread = _LoopThread()
    try:
        return Storage(thread.call(opening()), thread)
    except BaseException:
        thread.stop()
        raise


def _blocking(
    function: Callable[Concatenate[Store, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Work, _P], _T]:
    """`function` of `gnl_core` as a plain call."""

    @functools.wraps(function)
    def call(work: Work, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        if not isinstance(work, Work):
            raise InvalidInput("pass `storage.work` of a storage that gnl_core.sync opened")
        if kwargs.get("connection") is not None:
            raise InvalidInput("gnl_core.sync cannot join a transaction; leave out `connection`")
        return work._thread.call(function(work._store, *args, **kwargs))

    return call


cancel_job = _blocking(queue.cancel_job)
emit = _blocking(events.emit)
emit_many = _blocking(events.emit_many)
enqueue = _blocking(queue.enqueue)
enqueue_many = _blocking(queue.enqueue_many)
get_job = _blocking(queue.get_job)
job_depth = _blocking(queue.job_depth)
list_all_jobs = _blocking(queue.list_all_jobs)
list_consumers = _blocking(events.list_consumers)
list_dead_events = _blocking(events.list_dead_events)
list_jobs = _blocking(queue.list_jobs)
list_lanes = _blocking(queue.list_lanes)
list_topics = _blocking(events.list_topics)
prune_events = _blocking(events.prune_events)
prune_jobs = _blocking(queue.prune_jobs)
remove_consumer = _blocking(events.remove_consumer)
retry_dead_event = _blocking(events.retry_dead_event)
retry_job = _blocking(queue.retry_job)
rewind_consumer = _blocking(events.rewind_consumer)
