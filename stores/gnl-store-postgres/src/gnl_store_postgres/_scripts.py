"""The SQL that ships with the package: one file an operation, for one schema."""

from __future__ import annotations

from importlib import resources
from typing import Final

from gnl_core.spi import LEASE_EXPIRED

FUNCTIONS: Final = (
    "clock",
    "cluster",
    "lanes",
    "add",
    "add_one",
    "reclaim",
    "claim",
    "settle",
    "extend",
    "number",
    "append",
    "append_one",
    "deliveries",
    "deliver",
    "settle_events",
)
"""Files of functions, each after those that it calls."""


def quoted(name: str) -> str:
    """The name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as a string of SQL, without the quotes around it."""
    return text.replace("'", "''")


def script(name: str, schema: str) -> str:
    """The text of one file, its names qualified by `schema`."""
    text = resources.files("gnl_store_postgres").joinpath("sql", f"{name}.sql").read_text("utf-8")
    text = text.replace("{lease_expired}", literal(LEASE_EXPIRED))
    return text.replace("{schema_text}", literal(schema)).replace("{schema}", schema)
