"""Every error that gnl raises on purpose.

::

    GnlError
    ├── InvalidInput           an argument was refused before anything was done
    │   ├── InvalidJob         ... one that describes a job; nothing was written
    │   ├── InvalidEvent       ... one that describes an event; nothing was written
    │   └── InvalidCursor      ... a cursor that is damaged, or belongs to another listing
    ├── UndecodableText        stored text is not what the codec writes
    ├── IdConflict             an id is known with another type or payload
    ├── QueueFull              max_depth would be exceeded; nothing was written
    ├── TopicFull              the same, for the events of a topic
    ├── StoreNotFound          no store is installed for the scheme of a URL
    ├── StoreError
    │   ├── StoreUnavailable   no answer, or an ambiguous one: the call may have happened
    │   └── StoreRejected      the store said no: the call had no effect
    ├── SchemaMismatch         the tables are older or newer than this library
    └── ExecutionRevokedError  a handler's right to run ended while it ran; see `RevokedWhy`
"""

from __future__ import annotations

from enum import Enum

from gnl_core.spi.errors import (
    GnlError,
    SchemaMismatch,
    StoreError,
    StoreRejected,
    StoreUnavailable,
)

__all__ = [
    "ExecutionRevokedError",
    "GnlError",
    "IdConflict",
    "InvalidCursor",
    "InvalidEvent",
    "InvalidInput",
    "InvalidJob",
    "QueueFull",
    "RevokedWhy",
    "SchemaMismatch",
    "StoreError",
    "StoreNotFound",
    "StoreRejected",
    "StoreUnavailable",
    "TopicFull",
    "UndecodableText",
]


class InvalidInput(GnlError, ValueError):
    """An argument was refused before anything was done."""


class InvalidJob(InvalidInput):
    """A job was refused before anything was written.

    `index` is its position in the call to `enqueue_many`, None for a single job.
    """

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message if index is None else f"jobs[{index}]: {message}")
        self.index = index


class InvalidEvent(InvalidInput):
    """An event was refused before anything was written.

    `index` is its position in the call to `emit_many`, None for a single event.
    """

    def __init__(self, message: str, *, index: int | None = None) -> None:
        super().__init__(message if index is None else f"events[{index}]: {message}")
        self.index = index


class InvalidCursor(InvalidInput):
    """A cursor is damaged, or was made by another listing. Start again without a cursor."""


class UndecodableText(GnlError, ValueError):
    """Stored text is not what the codec writes: damaged, or written by a newer version."""


class IdConflict(GnlError):
    """An id is known in its organization with other content; what has it is unchanged.

    Content is type and payload of a job, key and payload of an event. `index` is the position
    in the call, None for a single one. `written` is true if the rest of the call is in the store
    all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        id: str,
        org_id: str | None,
        index: int | None = None,
        written: bool = False,
    ) -> None:
        super().__init__(message if index is None else f"jobs[{index}]: {message}")
        self.id = id
        self.org_id = org_id
        self.index = index
        self.written = written


class QueueFull(GnlError):
    """The call would have left more live jobs than `limit`; nothing was written.

    `depth` counts the live jobs of `org_id` before the call, `new` those it would have added.
    """

    def __init__(self, *, org_id: str | None, depth: int, new: int, limit: int) -> None:
        lane = "jobs without organization" if org_id is None else f"organization {org_id!r}"
        super().__init__(
            f"queue is full: {lane}: {depth} live and {new} new would pass max_depth={limit};"
            " try again when some have finished, or raise max_depth"
        )
        self.org_id = org_id
        self.depth = depth
        self.new = new
        self.limit = limit


class TopicFull(GnlError):
    """More than `limit` events would wait for the slowest consumer; nothing was written.

    `depth` counts the events of `org_id` in `topic` that some consumer (or all, if there is
    none) was not handed yet, `new` those the call would have added.
    """

    def __init__(self, *, topic: str, org_id: str | None, depth: int, new: int, limit: int) -> None:
        whose = "events without organization" if org_id is None else f"organization {org_id!r}"
        super().__init__(
            f"topic {topic!r} is full: {whose}: {depth} not handed to every consumer and {new}"
            f" new would pass max_depth={limit}; try again when consumers have gone on, or raise"
            " max_depth"
        )
        self.topic = topic
        self.org_id = org_id
        self.depth = depth
        self.new = new
        self.limit = limit


class StoreNotFound(GnlError, LookupError):
    """No store is installed for the scheme of a URL; the message names what to install."""


class RevokedWhy(Enum):
    """Why a handler's right to run ended."""

    CANCELED = "canceled"
    LEASE_LOST = "lease-lost"
    TIMEOUT = "timeout"
    SHUTDOWN = "shutdown"


_EXPLAINED = {
    RevokedWhy.CANCELED: "the job was canceled",
    RevokedWhy.LEASE_LOST: "the lease was lost; another worker may hold it now",
    RevokedWhy.TIMEOUT: "it was held longer than max_hold",
    RevokedWhy.SHUTDOWN: "the worker shuts down; it will be given back",
}


class ExecutionRevokedError(GnlError):
    """A handler's right to run ended while it ran. `why` says how, and never changes."""

    def __init__(self, why: RevokedWhy) -> None:
        super().__init__(f"execution revoked ({why.value}): {_EXPLAINED[why]}")
        self.why = why

    def __reduce__(self) -> tuple[type[ExecutionRevokedError], tuple[RevokedWhy]]:
        return type(self), (self.why,)
