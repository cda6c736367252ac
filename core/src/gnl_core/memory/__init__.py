"""The reference store, in memory. Graded by the conformance kit like any other."""

from gnl_core.memory._store import MemoryStore, open_memory

__all__ = ["MemoryStore", "open_memory"]
