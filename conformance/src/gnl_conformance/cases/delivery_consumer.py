"""Moving, removing and counting consumers."""

from __future__ import annotations

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_core.spi import Ack, ConsumerRecord, Edge, HoldState, Quarantine, Retry


@case("delivery.rewind")
async def everything_behind_a_rewind_is_new_again(t: Trial) -> None:
    await t.emit(*events(6))
    grants = await t.deliver(5)
    await t.ack(grants[0], grants[1])
    await t.end(grants[2], Retry(LONG, "again"))
    await t.end(grants[3], Quarantine("no"))
    t.check(await t.events.rewind(TOPIC, CONSUMER, Edge.EARLIEST), "no consumer was found")
    t.equal(await t.owed(), (6, 0, 0, 0), "what is owed after a rewind to the beginning")
    t.equal(await t.end(grants[4], Ack()), None, "settlement of a hold from before the rewind")
    (answer,) = await t.events.extend([grants[4].hold], LONG)
    t.equal(answer.state, HoldState.LOST, "extension of a hold from before the rewind")
    again = await t.deliver(9)
    t.equal(event_ids(again), [f"e{n}" for n in range(1, 7)], "handed out after the rewind")
    t.equal({g.attempt for g in again}, {1}, "attempts then")
    t.equal(await t.end(grants[4], Ack()), None, "settlement by the old hold, with a new one")


@case("delivery.rewind")
async def what_lies_in_front_of_a_rewind_stays_as_it_is(t: Trial) -> None:
    await t.emit(*events(6))
    held, retried, dead, acked, last = await t.deliver(5)
    await t.end(retried, Retry(LONG, "again"))
    await t.end(dead, Quarantine("no"))
    await t.ack(acked)
    await t.events.rewind(TOPIC, CONSUMER, acked.position)
    t.equal(await t.owed(), (2, 1, 1, 1), "what is owed after a rewind to the middle")
    t.equal(event_ids(await t.deliver(9)), ["e5", "e6"], "handed out then")
    t.check(await t.end(held, Ack()) is not None, "a hold in front of the rewind was lost")
    t.equal(await t.end(last, Ack()), None, "settlement of a hold behind the rewind")


@case("delivery.rewind")
async def a_consumer_can_be_moved_ahead(t: Trial) -> None:
    await t.emit(*events(5))
    held = await t.deliver_one()
    await t.events.rewind(TOPIC, CONSUMER, Edge.LATEST)
    t.equal(await t.owed(), (0, 1, 0, 0), "what is owed after a move to the end")
    await t.emit(event("new"))
    t.equal(event_ids(await t.deliver(9)), ["new"], "handed out then")
    t.check(await t.end(held, Ack()) is not None, "a hold in front of the move was lost")


@case("delivery.rewind")
async def a_rewind_is_of_one_consumer(t: Trial) -> None:
    await t.emit(*events(3))
    await t.emit(*events(3, topic="other"))
    for topic, consumer in ((TOPIC, "a"), (TOPIC, "b"), ("other", "a")):
        await t.ack(*await t.deliver(9, consumer, topic))
    await t.events.rewind(TOPIC, "a", 0)
    t.equal(await t.owed("b"), (0, 0, 0, 0), "what another consumer owes")
    t.equal(await t.owed("a", "other"), (0, 0, 0, 0), "what it owes in another topic")
    t.check(not await t.events.rewind(TOPIC, "nobody", 0), "a consumer that is none was moved")
    t.equal(len(await t.events.consumers(TOPIC)), 2, "consumers after a rewind of none")


@case("delivery.removed")
async def a_removed_consumer_is_forgotten(t: Trial) -> None:
    await t.emit(*events(4))
    held, dead, acked = await t.deliver(3)
    await t.end(dead, Quarantine("no"))
    await t.ack(acked)
    t.check(await t.events.remove(TOPIC, CONSUMER), "no consumer was found")
    t.equal(await t.events.consumers(), (), "consumers after a removal")
    t.equal(await t.dead(), [], "quarantined events of a removed consumer")
    t.equal(await t.end(held, Ack()), None, "settlement of a hold of a removed consumer")
    t.check(not await t.events.remove(TOPIC, CONSUMER), "it was removed twice")


@case("delivery.removed")
async def a_name_is_free_again_after_a_removal(t: Trial) -> None:
    await t.emit(*events(3))
    held = await t.deliver(2)
    await t.events.remove(TOPIC, CONSUMER)
    again = await t.deliver(9)
    t.equal(event_ids(again), ["e1", "e2", "e3"], "handed out to a new consumer of that name")
    t.check(again[0].consumer != held[0].consumer, "it has the number of the one removed")
    t.equal(await t.end(held[0], Ack()), None, "settlement of a hold of the old consumer")
    (answer,) = await t.events.extend([held[1].hold], LONG)
    t.equal(answer.state, HoldState.LOST, "extension of a hold of the old consumer")
    t.equal(await t.owed(), (0, 3, 0, 0), "what the new one owes")


@case("delivery.removed")
async def a_removal_is_of_one_consumer(t: Trial) -> None:
    await t.emit(event("x"), event("x", topic="other"))
    for topic, consumer in ((TOPIC, "a"), (TOPIC, "b"), ("other", "a")):
        await t.deliver(9, consumer, topic)
    await t.events.remove(TOPIC, "a")
    t.equal(await t.owed("b"), (0, 1, 0, 0), "what another consumer owes")
    t.equal(await t.owed("a", "other"), (0, 1, 0, 0), "what it owes in another topic")


@case("delivery.lag")
async def consumers_are_counted_by_what_they_owe(t: Trial) -> None:
    t.equal(await t.events.consumers(), (), "consumers of an empty store")
    await t.emit(*events(9))
    grants = await t.deliver(7, "b")
    await t.ack(grants[0], grants[6])
    await t.end(grants[1], Retry(LONG, "again"))
    await t.end(grants[2], Quarantine("no"))
    await t.end(grants[3], Quarantine("no"))
    await t.deliver(9, "a", start=Edge.LATEST)
    last = (await t.deliver(9, "probe"))[-1].position
    await t.events.remove(TOPIC, "probe")
    reach = grants[-1].position
    expected = (
        ConsumerRecord(TOPIC, "a", last, lag=0, held=0, parked=0, quarantined=0),
        ConsumerRecord(TOPIC, "b", reach, lag=2, held=2, parked=1, quarantined=2),
    )
    t.equal(await t.events.consumers(TOPIC), expected, "consumers")


@case("delivery.lag")
async def consumers_are_listed_by_topic_and_name(t: Trial) -> None:
    names = ("b", "a", "\U0001f600", "\ufb00", "Z")
    for topic in ("y", "X", "x"):
        for name in names:
            await t.deliver(1, name, topic)
    in_order = sorted(names, key=lambda name: name.encode())
    found = [(one.topic, one.name) for one in await t.events.consumers()]
    t.equal(found, [(topic, n) for topic in ("X", "x", "y") for n in in_order], "consumers of all")
    one = [(one.topic, one.name) for one in await t.events.consumers("x")]
    t.equal(one, [("x", name) for name in in_order], "consumers of one topic")
    t.equal(await t.events.consumers("none"), (), "consumers of a topic without any")


@case("delivery.lag")
async def new_events_count_before_anyone_asks_for_them(t: Trial) -> None:
    await t.deliver(1)
    await t.emit(*events(3))
    t.equal(await t.owed(), (3, 0, 0, 0), "what is owed of events just appended")
