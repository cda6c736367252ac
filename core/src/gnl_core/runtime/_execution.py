"""One grant on its way through a handler."""

from __future__ import annotations

import asyncio
from typing import Generic

from gnl_core.runtime._boundary import GrantT
from gnl_core.runtime._signal import Signal


class Execution(Generic[GrantT]):
    """A grant, its signal, and what engine and lease keeper remember about it."""

    __slots__ = (
        "done",
        "grant",
        "interrupted",
        "lost",
        "missed",
        "on_loop",
        "revoked_at",
        "signal",
        "task",
        "warned",
    )

    def __init__(self, grant: GrantT, loop: asyncio.AbstractEventLoop) -> None:
        self.grant = grant
        self.signal = Signal(loop)
        self.missed = 0  # renewals without an answer, in a row
        self.lost = False  # the lease, also if the handler was revoked for another cause before
        self.revoked_at: float | None = None  # by the keeper's clock
        self.warned = False
        self.task: asyncio.Task[None] | None = None  # once it has a slot
        self.on_loop = False  # an `async def` handler runs in `task`, and may be cancelled
        self.interrupted = False
        self.done = False  # its outcome is decided; whatever its handler does later is ignored
