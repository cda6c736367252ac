"""What the children do with events: emit, and consume under names that some of them share."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Final

from gnl_conformance import _entries as entries
from gnl_conformance import _event_entries as event_entries
from gnl_conformance._harness import Transaction
from gnl_conformance._rules import Part
from gnl_conformance.process.play import LANES, QUIET, STOP, TTL, Player
from gnl_core.spi import (
    SECOND,
    Ack,
    Appended,
    Edge,
    EventGrant,
    EventOutcome,
    EventStore,
    EventVerdict,
    NewEvent,
    Quarantine,
    Release,
    Retry,
    StoreUnavailable,
    TopicRefused,
)

TOPIC: Final = "news"
BUDGET: Final = 1_000
"""More attempts than a storm has time for: what is lost with a process has to come again."""


def part_of(player: Player) -> EventStore:
    """The events of the child's store."""
    part: EventStore = getattr(player.store, Part.EVENTS.value)
    return part


async def emit(player: Player) -> None:
    """Append events until the storm is over."""
    while not player.told(QUIET):
        new = _new_events(player)
        ask = partial(part_of(player).append, new)
        await player.call("append", event_entries.appending(new), ask, event_entries.appended)
        await player.pause(0.25)


async def emit_slowly(player: Player) -> None:
    """Append in transactions of the child's own, which stay open while others commit."""
    assert player.transaction is not None, "the driver asks for it only where there are some"
    while not player.told(QUIET):
        new = _new_events(player)
        ask = partial(_append_slowly, player, player.transaction, new)
        await player.call("append", event_entries.appending(new), ask, event_entries.appended)
        await player.pause(0.1)


async def _append_slowly(
    player: Player,
    open_one: Callable[[], AbstractAsyncContextManager[Transaction]],
    new: Sequence[NewEvent],
) -> Appended | TopicRefused:
    """Commit in the end, mostly; nothing is `created` by what was rolled back."""
    raised: Exception | None = None
    try:
        async with open_one() as transaction:
            try:
                answer = await part_of(player).append(new, connection=transaction.connection)
            except Exception as error:
                raised = error
                raise
            await player.pause(0.4)
            if player.rng.random() < 0.2:
                await transaction.rollback()
                return Appended(())
            await transaction.commit()
            return answer
    except Exception as error:
        if error is raised:
            raise
        # What a driver raises for the caller's own transaction is no error of the store's.
        raise StoreUnavailable(f"the caller's transaction ended: {error!r}") from error


def _new_events(player: Player) -> list[NewEvent]:
    rng = player.rng
    new = []
    for _ in range(rng.choice((1, 1, 2, 2, 5, 25))):
        # Some ids are common to all emitters, so that calls meet.
        shared = rng.random() < 0.2
        name = f"shared-{rng.randrange(12)}" if shared else uuid.UUID(int=rng.getrandbits(128)).hex
        new.append(NewEvent(name, rng.choice(LANES), TOPIC, "null"))
    return list({(one.org_id, one.id): one for one in new}.values())


async def consume(player: Player, consumer: str = "many", late: float = 0.05) -> None:
    """Take events, hold them, sometimes extend or oversleep, and settle, until all is over."""
    while not player.told(STOP):
        ask = partial(
            part_of(player).deliver,
            TOPIC,
            consumer,
            player.rng.randint(1, 8),
            TTL,
            player.who,
            max_attempts=BUDGET,
            start=Edge.EARLIEST,
        )
        shown = partial(event_entries.delivered, consumer)
        answer = await player.call("deliver", {"consumer": consumer}, ask, shown)
        if answer is None or not answer.grants:
            await player.pause(0.05)
            continue
        await _hold(player, consumer, answer.grants, late)
        await _settle(player, consumer, answer.grants)


async def _hold(player: Player, consumer: str, grants: tuple[EventGrant, ...], late: float) -> None:
    await player.pause(0.06)
    if player.rng.random() < 0.3:
        holds = [grant.hold for grant in grants]
        ask = partial(part_of(player).extend, holds, TTL)
        asked = event_entries.extending(consumer, holds)
        await player.call("extend", asked, ask, entries.extended)
    if player.rng.random() < late and not player.told(QUIET):
        # Just past the end, when somebody else has the event and has not settled it yet.
        await asyncio.sleep(player.rng.uniform(0.95, 1.3) * TTL / SECOND)


async def _settle(player: Player, consumer: str, grants: tuple[EventGrant, ...]) -> None:
    ends = [EventOutcome(grant.hold, _verdict(player)) for grant in grants]
    ask = partial(part_of(player).settle, ends)
    asked = event_entries.settling(consumer, ends)
    await player.call("settle", asked, ask, event_entries.settled)


def _verdict(player: Player) -> EventVerdict:
    chance = player.rng.random()
    if chance < 0.8:
        return Ack()
    if chance < 0.88:
        return Release()
    if chance < 0.98:
        return Retry(SECOND // 20, "again")
    return Quarantine("broken")


async def consume_alone(player: Player) -> None:
    """Take all events under a name that no other process has."""
    await consume(player, "single")


async def oversleep(player: Player) -> None:
    """Take events, and hold all of them for longer than their leases while the storm lasts."""
    await consume(player, late=1.0)


EVENT_ROLES: dict[str, Callable[[Player], Awaitable[None]]] = {
    "emitter": emit,
    "slow-emitter": emit_slowly,
    "consumer": consume,
    "single-consumer": consume_alone,
    "sleeping-consumer": oversleep,
}
