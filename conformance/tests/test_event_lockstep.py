"""The lockstep of events: what the interface leaves open is not held against a store."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gnl_conformance.model.event_lockstep import EventLockstep, OtherAnswer
from gnl_core.memory._event_store import MemoryEvents
from gnl_core.memory._events import EventTable
from gnl_core.spi import Duration, Instant, NewEvent, TopicRefused


class NamesTheLastTooDeep(EventTable):
    """Of several topics and organizations over the limit it names the last, not the first."""

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        return super()._too_deep([*reversed(created)], limit)


class CountsOneTooMany(NamesTheLastTooDeep):
    """It is wrong about how many events the call would append."""

    def _too_deep(self, created: Sequence[NewEvent], limit: int) -> TopicRefused | None:
        found = super()._too_deep(created, limit)
        return found and replace(found, new=found.new + 1)


def play(table: type[EventTable]) -> None:
    async def scripts() -> None:
        for seed in range(20):
            at = [0]

            async def move(by: Duration, at: list[Instant] = at) -> Instant:
                at[0] += by
                return at[0]

            def clock(at: list[Instant] = at) -> Instant:
                return at[0]

            events = MemoryEvents(table(clock), lambda: None)
            await EventLockstep(events, now=0, move=move, seed=seed).play(60)

    asyncio.run(scripts())


def test_a_refusal_may_name_any_topic_that_is_over_the_limit() -> None:
    play(NamesTheLastTooDeep)


def test_a_refusal_has_to_be_right_about_the_one_it_names() -> None:
    with pytest.raises(OtherAnswer, match="append"):
        play(CountsOneTooMany)
