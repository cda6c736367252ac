"""What a URL may say, and how one that is wrong is refused."""

from __future__ import annotations

import pytest

from gnl_store_postgres import Options, read_url


def test_a_plain_url() -> None:
    dsn = "postgresql://u:p%40@h:5433/db"
    assert read_url(dsn) == Options(dsn, listen_dsn=dsn)


def test_options() -> None:
    options = read_url(
        "postgres://h/db?schema=work&pool_size=3&pooler=transaction&sslmode=require"
        "&listen_url=postgresql%3A%2F%2Fdirect%2Fdb&connect_timeout=2&command_timeout=7.5"
    )
    assert options == Options(
        "postgres://h/db?sslmode=require",
        schema="work",
        pool_size=3,
        pooled=True,
        listen_dsn="postgresql://direct/db",
        connect_timeout=2.0,
        command_timeout=7.5,
    )


def test_behind_a_pooler_nothing_listens_unless_told_where() -> None:
    assert read_url("postgresql://h/db?pooler=transaction").listen_dsn is None
    assert read_url("postgresql://h/db?wake_ups=off").listen_dsn is None


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("schemas=x", "unknown option 'schemas'"),
        ("schema=", "schema=''"),
        ("schema=a&schema=b", "given twice"),
        ("pool_size=0", "pool_size='0'"),
        ("pool_size=x", "pool_size='x'"),
        ("pooler=session", "pooler='session'"),
        ("wake_ups=yes", "wake_ups='yes'"),
        ("listen_url=mysql://x", "listen_url="),
        ("connect_timeout=nan", "connect_timeout='nan'"),
        ("command_timeout=0", "command_timeout='0'"),
    ],
)
def test_a_bad_option_is_refused_by_name(query: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("[", r"\[")):
        read_url(f"postgresql://h/db?{query}")


def test_another_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="postgresql://"):
        read_url("mysql://h/db")
