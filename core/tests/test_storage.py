from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest

from gnl_core import Storage, _store_urls, open_storage
from gnl_core._store_urls import hide_in, hide_password
from gnl_core.errors import (
    InvalidInput,
    SchemaMismatch,
    StoreError,
    StoreNotFound,
    StoreRejected,
    StoreUnavailable,
)
from gnl_core.memory import MemoryStore
from gnl_core.spi import SchemaVersion, Store
from gnl_core.storage import upgrade_storage

URL = "example://app:s3cret@db.example/work"


class Versioned(MemoryStore):
    """A store whose tables are of the version that a test wants."""

    def __init__(self, found: int | None, needed: int = 3) -> None:
        super().__init__()
        self.found, self.needed = found, needed
        self.closed = 0

    async def schema(self) -> SchemaVersion:
        return SchemaVersion(self.found, self.needed)

    async def upgrade(self) -> SchemaVersion:
        self.found = max(self.found or 0, self.needed)
        return await self.schema()

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> Callable[[Store | Exception], None]:
    def use(answer: Store | Exception) -> None:
        async def factory(url: str, /) -> Store:
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("gnl_core.storage.find_store", lambda url: factory)

    return use


async def test_a_storage_is_entered_or_awaited() -> None:
    async with open_storage("memory://") as storage:
        assert storage.url == "memory://"
        assert storage.capabilities == storage.work.capabilities
    storage = await open_storage("memory://")
    await storage.close()
    await storage.close()
    async with await open_storage("MEMORY://"):
        pass


async def test_an_opened_store_can_be_wrapped() -> None:
    store = Versioned(3)
    async with Storage(store) as storage:
        assert storage.work is store
        assert repr(storage) == "<Storage Versioned>"
    assert store.closed == 1


async def test_tables_are_created_on_first_use(opening) -> None:
    store = Versioned(None)
    opening(store)
    async with open_storage(URL):
        assert store.found == 3
    assert store.closed == 1


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        (2, "run: gnl upgrade --store example://app:***@db.example/work"),
        (4, "upgrade gnl here as well"),
    ],
)
async def test_tables_of_another_version_are_refused(opening, found: int, advice: str) -> None:
    store = Versioned(found)
    opening(store)
    with pytest.raises(SchemaMismatch) as caught:
        await open_storage(URL)
    assert advice in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert (caught.value.found, caught.value.needed) == (found, 3)
    assert store.closed == 1
    assert store.found == found


async def test_upgrading_answers_both_versions(opening) -> None:
    for found in (None, 2, 3):
        store = Versioned(found)
        opening(store)
        assert await upgrade_storage(URL) == (found, 3)
        assert store.closed == 1
    opening(Versioned(4))
    with pytest.raises(SchemaMismatch, match="upgrade gnl here"):
        await upgrade_storage(URL)


@pytest.mark.parametrize("kind", [StoreUnavailable, StoreRejected])
async def test_a_store_that_refuses_is_named_without_its_password(opening, kind) -> None:
    opening(kind(f"wrong password 's3cret' for {URL}"))
    with pytest.raises(kind) as caught:
        await open_storage(URL)
    assert str(caught.value).startswith("example://app:***@db.example/work: wrong password")
    assert "s3cret" not in str(caught.value)
    with pytest.raises(kind):
        await upgrade_storage(URL)


async def test_a_store_that_fails_at_its_first_look_is_closed(opening) -> None:
    class Failing(Versioned):
        async def schema(self) -> SchemaVersion:
            raise StoreUnavailable("gone")

    store = Failing(3)
    opening(store)
    with pytest.raises(StoreError, match=r"db\.example"):
        await open_storage(URL)
    assert store.closed == 1


async def test_a_bad_url_is_bad_input(opening) -> None:
    opening(ValueError(f"no database in {URL}"))
    with pytest.raises(InvalidInput, match=r"example://app:\*\*\*@db.example/work: no database"):
        await open_storage(URL)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://a:b@h/d", "run: pip install gnl-store-postgres"),
        ("mysql://a:b@h/d", "run: pip install gnl-store-mysql"),
        ("mongodb://h/d", "run: pip install gnl-store-mongo"),
        ("libsql://h", "run: pip install gnl-store-libsql"),
        ("sqlite:///x", "run: pip install gnl-store-sqlite"),
        ("redis://h", "check the URL; stores of this project serve libsql, "),
    ],
)
def test_a_missing_store_is_named_with_what_to_install(monkeypatch, url, message) -> None:
    monkeypatch.setattr(_store_urls, "entry_points", lambda **_: ())
    with pytest.raises(StoreNotFound) as caught:
        _store_urls.find_store(url)
    assert message in str(caught.value)


@pytest.mark.parametrize("url", ["", "work.db", "./work.db", "C", None, 5, "://x"])
def test_what_is_no_url_is_refused(url) -> None:
    with pytest.raises(InvalidInput, match="store URL"):
        _store_urls.find_store(url)


class Entry:
    def __init__(self, value: str, error: Exception | None = None) -> None:
        self.value, self.error = value, error
        self.module = value.partition(":")[0]

    def load(self) -> object:
        if self.error:
            raise self.error
        return self


def test_a_store_without_its_driver_is_named_with_what_to_install(monkeypatch) -> None:
    broken = Entry("gnl_store_postgres:open", ModuleNotFoundError("No module named 'asyncpg'"))
    monkeypatch.setattr(_store_urls, "entry_points", lambda **_: (broken,))
    with pytest.raises(StoreNotFound, match=r"'asyncpg'; run: pip install gnl-store-postgres"):
        _store_urls.find_store("postgresql://h/d")


def test_two_stores_for_one_scheme_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(
        _store_urls, "entry_points", lambda **_: (Entry("a:open"), Entry("b:open"), Entry("a:open"))
    )
    with pytest.raises(StoreNotFound, match="a:open, b:open"):
        _store_urls.find_store("sqlite:///x")


def test_finding_a_store_imports_no_other(monkeypatch) -> None:
    for driver in ("asyncpg", "aiosqlite"):
        monkeypatch.delitem(sys.modules, driver, raising=False)
    assert callable(_store_urls.find_store("memory://"))
    assert not {"asyncpg", "aiosqlite"} & set(sys.modules)
    assert isinstance(sys.modules["gnl_core.memory"], ModuleType)


@pytest.mark.parametrize(
    ("url", "hidden"),
    [
        ("postgresql://a:b@h/d", "postgresql://a:***@h/d"),
        ("postgresql://a@h:5432/d", "postgresql://a@h:5432/d"),
        ("postgresql://h:5432/d", "postgresql://h:5432/d"),
        ("postgresql://:pw@h/d", "postgresql://:***@h/d"),
        ("postgresql://a:p@ss:/w?rd#@h/d", "postgresql://a:***@h/d"),
        ("postgresql:///d?user=a&password=b&x=1", "postgresql:///d?user=a&password=***&x=1"),
        ("libsql://h?authToken=eyJ.x", "libsql://h?authToken=***"),
        ("sqlite:///a/b.db", "sqlite:///a/b.db"),
    ],
)
def test_passwords_are_hidden(url: str, hidden: str) -> None:
    assert hide_password(url) == hidden


def test_a_password_quoted_by_a_driver_is_hidden_in_both_spellings() -> None:
    message = hide_in("bad: p%40ss or p@ss", "postgresql://a:p%40ss@h/d")
    assert message == "bad: *** or ***"
