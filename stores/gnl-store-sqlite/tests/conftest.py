"""Async tests without a plugin, each on an event loop of its own; a database for each test."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gnl_store_sqlite import SqliteStore, open_sqlite


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where this test's database is."""
    return tmp_path / "jobs.db"


Opener = Callable[..., contextlib.AbstractAsyncContextManager[SqliteStore]]


@pytest.fixture
def opened(path: Path) -> Opener:
    """Open a handle on `path`, with its tables unless told otherwise."""

    @contextlib.asynccontextmanager
    async def open_it(*, upgrade: bool = True, timeout: float = 5.0) -> AsyncIterator[SqliteStore]:
        store = await open_sqlite(f"sqlite:///{path}?timeout={timeout}")
        try:
            if upgrade:
                await store.upgrade()
            yield store
        finally:
            await store.close()

    return open_it
