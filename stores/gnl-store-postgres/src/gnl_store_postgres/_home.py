"""Which database a store is in, so that a caller's connection to another one is refused."""

from __future__ import annotations

from gnl_store_postgres._database import Database


class Home:
    """The name that gnl_home() answers in the store's own database; asked for once."""

    def __init__(self, database: Database, schema: str) -> None:
        self._database = database
        self._sql = f"select {schema}.gnl_home()"
        self._name: str | None = None

    async def name(self) -> str:
        """The name, as gnl_add and gnl_append compare it with that of the caller's database."""
        if self._name is None:
            rows = await self._database.fetch(self._sql)
            self._name = str(rows[0][0])
        return self._name
