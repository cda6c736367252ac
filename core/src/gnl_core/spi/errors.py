"""Errors that a store may raise, and the root of all errors of gnl.

::

    GnlError
    ├── StoreError
    │   ├── StoreUnavailable   no answer, or an ambiguous one: the call may have happened
    │   └── StoreRejected      the store said no: the call had no effect
    └── SchemaMismatch         the tables are older or newer than this library
"""

from __future__ import annotations


class GnlError(Exception):
    """Root of every error that gnl raises on purpose."""


class StoreError(GnlError):
    """A store could not do what it was asked."""


class StoreUnavailable(StoreError):
    """The store gave no clear answer; the call may or may not have happened.

    Calls are safe to repeat: ids, tokens and conditional writes make a second one harmless. But
    a second one is answered as such: a settlement that a driver repeats by itself is answered as
    lost. So the caller repeats, not the store.
    """


class StoreRejected(StoreError):
    """The store refused the call; nothing was written."""


class SchemaMismatch(GnlError):
    """The tables in the store are not of the version that this library needs.

    gnl itself raises it, by what `Store.schema` answers. A store never does.
    """

    def __init__(self, message: str, *, found: int, needed: int) -> None:
        super().__init__(message)
        self.found = found
        self.needed = needed
