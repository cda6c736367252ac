from __future__ import annotations

from pathlib import Path

import pytest

from gnl_store_sqlite import open_sqlite
from gnl_store_sqlite._url import Location, read_url


def test_an_absolute_path_has_four_slashes(tmp_path: Path) -> None:
    assert read_url(f"sqlite:///{tmp_path}/a.db") == Location(tmp_path / "a.db", 5.0)


def test_a_relative_path_stays_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_url("sqlite:///a.db").path == tmp_path / "a.db"


def test_the_path_is_percent_decoded(tmp_path: Path) -> None:
    assert read_url(f"sqlite:///{tmp_path}/a%3Fb%20c.db?timeout=0.5") == Location(
        tmp_path / "a?b c.db", 0.5
    )


@pytest.mark.parametrize(
    "url", ["sqlite:", "sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://:memory:"]
)
async def test_a_url_without_a_file_is_told_of_the_memory_store(url: str) -> None:
    with pytest.raises(ValueError, match="memory://"):
        await open_sqlite(url)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("sqlite://host/a.db", "three slashes"),
        ("sqlite:a.db", "three slashes"),
        ("sqlite:///a.db?cache=shared", "unknown option 'cache'"),
        ("sqlite:///a.db?timeout=soon", "timeout='soon'"),
        ("sqlite:///a.db?timeout=-1", "timeout='-1'"),
        ("sqlite:///a.db?timeout=inf", "timeout='inf'"),
        ("sqlite:///missing/a.db", "there is no directory"),
        ("sqlite:///.", "is a directory"),
    ],
)
async def test_a_bad_url_is_refused_with_its_reason(
    url: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        await open_sqlite(url)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, but long enough to be taken for one")
    with pytest.raises(ValueError, match="is not a SQLite database"):
        await open_sqlite(f"sqlite:///{tmp_path}/notes.txt")


async def test_opening_creates_nothing(tmp_path: Path) -> None:
    store = await open_sqlite(f"sqlite:///{tmp_path}/a.db")
    assert (await store.schema()).found is None
    await store.close()
    assert list(tmp_path.iterdir()) == []


async def test_a_strange_file_name_is_one_file(tmp_path: Path) -> None:
    store = await open_sqlite(f"sqlite:///{tmp_path}/a%3Fmode=memory%23é 100%25.db")
    await store.upgrade()
    await store.close()
    assert (tmp_path / "a?mode=memory#é 100%.db").exists()
