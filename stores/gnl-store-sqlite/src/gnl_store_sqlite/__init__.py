"""gnl on SQLite."""

from gnl_store_sqlite._store import SqliteStore, open_sqlite

__all__ = ["SqliteStore", "open_sqlite"]
