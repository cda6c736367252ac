"""One grant on its way through a handler."""

from __future__ import annotations

import asyncio
from typing import Generic

from gnl_core.runtime._boundary import GrantT
from gnl_core.runtime._signal import Signal


class Execution(Generic[GrantT]):
    """A grant, its signal, and what engine and lease keeper remember about it."""

    __slots__ = (
        "abandoned",
        "deadline",
        "grant",
        "interrupted",
        "missed",
        "revoked_at",
        "signal",
        "task",
        "warned",
    )

    def __init__(self, grant: GrantT, loop: asyncio.AbstractEventLoop) -> None:
        self.grant = grant
        self.signal = Signal(loop)
        self.missed = 0  # renewals without an answer, in a row
        self.revoked_at: float | None = None  # by the keeper's loop
        self.warned = False
        self.deadline: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None  # while an `async def` handler runs in it
        self.interrupted = False
        self.abandoned = False  # given back although its handler has not ended
