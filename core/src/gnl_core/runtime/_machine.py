"""What a worker takes from the machine it runs on: time, chance, and a thread for its leases.

A simulation gives its own, so that real workers run in virtual time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gnl_core.runtime._keeper_thread import KeeperThread


class Aside(Protocol):
    """Something that runs beside the event loop of the handlers, whatever they do to it."""

    async def start(self) -> None:
        """Start, and wait until it runs."""
        ...

    async def stop(self, seconds: float) -> None:
        """End it; wait for that at most `seconds`."""
        ...


RunAside: TypeAlias = Callable[[Callable[[], Coroutine[None, None, None]], str], Aside]
"""Makes an `Aside` of what is to run and its name."""


@dataclass(frozen=True, slots=True)
class Machine:
    """`clock` is in seconds, only differences count, and may be read from any thread."""

    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random
    aside: RunAside = KeeperThread


MACHINE: Final = Machine()
"""The real one."""
