"""What a rule is, and which part of a store it is about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gnl_core.spi import Store


class Part(Enum):
    """What a store may keep, each with promises of its own. The value names `Store`'s attribute.

    Every store keeps JOBS. One without EVENTS conforms for jobs, and its verdict says so.
    """

    JOBS = "jobs"
    EVENTS = "events"


_OF_EVENTS = ("log", "delivery", "quarantine")


@dataclass(frozen=True, slots=True)
class Rule:
    """One promise, as something a store can be caught breaking."""

    id: str
    promise: str
    says: str

    @property
    def family(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def part(self) -> Part:
        """The part of a store that the rule is about; what all parts share counts as jobs'."""
        return Part.EVENTS if self.family in _OF_EVENTS else Part.JOBS


def keeps(store: Store, part: Part) -> bool:
    """Whether the store has this part."""
    return getattr(store, part.value, None) is not None


def named(parts: set[Part] | frozenset[Part]) -> str:
    """Parts as a verdict names them: ``jobs and events``."""
    return " and ".join(part.value for part in Part if part in parts)
