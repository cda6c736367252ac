"""What a handler may raise to ask for something."""

from __future__ import annotations

from gnl_core._durations import Seconds, to_duration
from gnl_core.spi import SECOND


class Retry(Exception):
    """Raise it to fail this attempt and be tried again after `delay` instead of the usual wait.

    The attempt counts: after the last one the job or event is dead all the same. The text, or
    else the error it was raised from, is kept as the failure.
    """

    __module__ = "gnl_core"  # where users import it from; stored failures name it

    def __init__(self, delay: Seconds, reason: str = "the handler asked for a retry") -> None:
        super().__init__(reason)
        self.delay = to_duration(delay, "delay")


class GiveBack(Exception):
    """Raise it to hand the job or event back for `delay`, without spending an attempt."""

    __module__ = "gnl_core"  # where users import it from; stored failures name it

    def __init__(self, delay: Seconds = 1.0) -> None:
        self.delay = to_duration(delay, "delay")
        super().__init__(f"the handler gave it back for {self.delay / SECOND:g} s")


class DeadLetter(Exception):
    """Raise it to declare the job or event dead at once: trying again would be of no use."""

    __module__ = "gnl_core"  # where users import it from; stored failures name it

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
