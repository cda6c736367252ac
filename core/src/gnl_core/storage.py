"""Opening a storage: a store found by its URL, with tables of the right version."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import Self

from gnl_core._store_urls import find_store, hide_in, hide_password
from gnl_core.errors import InvalidInput, SchemaMismatch, StoreError
from gnl_core.spi import Capability, Store

__all__ = ["Storage", "open_storage", "open_store", "upgrade_storage"]


class Storage:
    """An open store. Used on one event loop; safe for concurrent tasks there.

    `work` is what `enqueue` and its like take first. `Storage(store)` wraps a store opened by
    other means, for instance a memory store in tests, and closes it in the end.
    """

    def __init__(self, store: Store, *, url: str | None = None) -> None:
        self.work = store
        self.url = url

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What is true of the store's environment."""
        return self.work.capabilities

    async def close(self) -> None:
        """Close the store. A second call does nothing."""
        await self.work.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        where = type(self.work).__name__ if self.url is None else hide_password(self.url)
        return f"<Storage {where}>"


def work_of(storage: object) -> Store:
    """The store of `storage`. Raises `InvalidInput` for what is no storage."""
    if not isinstance(storage, Storage):
        raise InvalidInput(
            f"storage is a {type(storage).__name__}; give what open_storage() answers"
        )
    return storage.work


class _Opening:
    """What `open_storage` gives: to be awaited, or entered with ``async with``."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._storage: Storage | None = None

    def __await__(self) -> Generator[object, None, Storage]:
        return _open(self._url).__await__()

    async def __aenter__(self) -> Storage:
        self._storage = await _open(self._url)
        return self._storage

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._storage is not None, "entered before left"
        await self._storage.close()


def open_storage(url: str) -> _Opening:
    """Open the storage at `url`, to be used with ``async with``, or awaited and closed.

    The scheme of the URL chooses the store among those installed; its driver is imported now.
    The tables are created on first use.

    Raises:
        StoreNotFound: No store for this scheme is installed; the message names what to install.
        InvalidInput: The URL is malformed.
        SchemaMismatch: The tables are older than this library needs (run the command that the
            message names), or newer (upgrade the library).
        StoreUnavailable: The server does not answer.
        StoreRejected: The server refuses, for instance the password.

    """
    return _Opening(url)


async def open_store(url: str) -> Store:
    """Open the store at `url` whatever the version of its tables. Raises as `open_storage`."""
    factory = find_store(url)
    try:
        return await factory(url)
    except StoreError as error:
        raise _named(error, url) from error
    except ValueError as error:
        raise InvalidInput(f"{hide_password(url)}: {hide_in(str(error), url)}") from error


async def upgrade_storage(url: str) -> tuple[int | None, int]:
    """Create the tables at `url` or bring them up to date; answers the versions before and after.

    Keeps all data, and is safe to run from several processes at once. Raises as `open_storage`,
    `SchemaMismatch` only if the tables are newer than this library.
    """
    store = await open_store(url)
    try:
        before = (await store.schema()).found
        after = await store.upgrade()
        assert after.found is not None, "an upgrade leaves tables"
        if after.found > after.needed:
            raise _mismatch(after.found, after.needed, url)
        return before, after.found
    except StoreError as error:
        raise _named(error, url) from error
    finally:
        await store.close()


async def _open(url: str) -> Storage:
    store = await open_store(url)
    try:
        await _check_schema(store, url)
    except StoreError as error:
        await store.close()
        raise _named(error, url) from error
    except BaseException:
        await store.close()
        raise
    return Storage(store, url=url)


async def _check_schema(store: Store, url: str) -> None:
    version = await store.schema()
    if version.found is None:
        version = await store.upgrade()
    if version.found != version.needed:
        raise _mismatch(version.found or 0, version.needed, url)


def _mismatch(found: int, needed: int, url: str) -> SchemaMismatch:
    if found < needed:
        advice = f"run: gnl upgrade --store {hide_password(url)}"
    else:
        advice = "a newer gnl has upgraded them; upgrade gnl here as well"
    return SchemaMismatch(
        f"the tables at {hide_password(url)} have version {found}, this gnl needs {needed};"
        f" {advice}",
        found=found,
        needed=needed,
    )


def _named(error: StoreError, url: str) -> StoreError:
    """The same kind of error, saying which store it was, without its password."""
    return type(error)(f"{hide_password(url)}: {hide_in(str(error), url)}")
