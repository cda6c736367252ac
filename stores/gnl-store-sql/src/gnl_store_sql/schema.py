"""The version of the tables: creating them, and bringing older ones up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, insert, select, update

from gnl_store_sql.statements import SqlDialect, Step, Steps
from gnl_store_sql.tables import VERSION, Tables

_NAME = "schema"


class Schema:
    """Reads and raises the version in gnl_meta.

    `present` is a step with a row if gnl_meta exists. `create` makes all tables of `VERSION`;
    ``upgrades[n]`` turns those of version n into those of n + 1.
    """

    def __init__(
        self,
        tables: Tables,
        dialect: SqlDialect,
        *,
        present: Step,
        create: Sequence[str],
        upgrades: Mapping[int, Sequence[str]],
    ) -> None:
        self._present = present
        self._create = create
        self._upgrades = upgrades
        meta = tables.meta
        named = meta.c.name == bindparam("key")
        self._read = dialect.compile(select(meta.c.value).where(named))
        self._insert = dialect.compile(
            insert(meta).values(name=bindparam("key"), value=bindparam("found"))
        )
        self._update = dialect.compile(update(meta).where(named).values(value=bindparam("found")))

    def version(self) -> Steps[int | None]:
        """The version found; None: no tables yet."""
        if not (yield self._present):
            return None
        rows = yield self._read(key=_NAME)
        return int(rows[0][0]) if rows else None

    def upgrade(self) -> Steps[int]:
        """Create the tables or upgrade them step by step; answers the version afterwards.

        To be run in one transaction that no other upgrade can run beside. A newer version is
        left alone.
        """
        found = yield from self.version()
        if found is None:
            yield from _run(self._create)
            yield self._insert(key=_NAME, found=str(VERSION))
            return VERSION
        for version in range(found, VERSION):
            yield from _run(self._upgrades[version])
            yield self._update(key=_NAME, found=str(version + 1))
        return max(found, VERSION)


def _run(statements: Sequence[str]) -> Steps[None]:
    for sql in statements:
        yield Step(sql, ())
