"""A store for gnl on plain files: the example of the page "Write a store"."""

from gnl_store_files.store import FileStore, open_files

__all__ = ["FileStore", "open_files"]
