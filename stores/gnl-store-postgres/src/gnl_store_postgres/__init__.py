"""gnl on PostgreSQL."""

from gnl_store_postgres._store import PostgresStore, open_postgres
from gnl_store_postgres._url import Options, read_url

__all__ = ["Options", "PostgresStore", "open_postgres", "read_url"]
