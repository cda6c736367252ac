"""Keeping the log short, and seeing how long it is."""

from __future__ import annotations

from gnl_conformance._case import case
from gnl_conformance._event_trial import TOPIC, event, event_ids, events
from gnl_conformance._trial import LONG, Trial
from gnl_core.spi import Edge, Quarantine, Retry, TopicRecord


async def _log(t: Trial, topic: str = TOPIC) -> list[str]:
    """What is left, as a consumer sees it that is gone at once."""
    found = event_ids(await t.deliver(999, "counter", topic))
    await t.events.remove(topic, "counter")
    return found


@case("log.pruned")
async def no_event_is_pruned_that_a_consumer_owes(t: Trial) -> None:
    await t.emit(*events(6))
    acked, dead, retried, _, last = await t.deliver(5)
    await t.ack(acked, last)
    await t.end(dead, Quarantine("no"))
    await t.end(retried, Retry(LONG, "again"))
    counts = (LONG, 0), (0, 2), (None, 0)
    for older_than, expected in counts:
        count = await t.events.prune(TOPIC, older_than=older_than)
        t.equal(count, expected, f"events pruned with older_than={older_than}")
    t.equal(await t.owed(), (1, 1, 1, 1), "new, held, parked and quarantined events after it")
    t.equal(await _log(t), ["e2", "e3", "e4", "e6"], "events left")


@case("log.pruned")
async def no_event_is_pruned_that_one_of_many_consumers_owes(t: Trial) -> None:
    await t.emit(*events(3))
    await t.ack(*await t.deliver(3, "fast"))
    await t.ack(*await t.deliver(1, "slow"))
    t.equal(await t.events.prune(TOPIC), 1, "events pruned that every consumer acked")
    await t.events.remove(TOPIC, "slow")
    t.equal(await t.events.prune(TOPIC), 2, "events pruned after the slow one was removed")


@case("log.pruned")
async def a_topic_without_consumers_is_pruned_by_age_alone(t: Trial) -> None:
    await t.emit(*events(2, "old"))
    await t.age(1.1)
    await t.emit(*events(2, "new"))
    t.equal(await t.events.prune(TOPIC), 0, "events pruned of a topic without consumers")
    t.equal(await t.events.prune(TOPIC, older_than=t.tick), 2, "old events pruned")
    t.equal(await _log(t), ["new1", "new2"], "events left")


@case("log.pruned")
async def age_spares_what_every_consumer_has_acked(t: Trial) -> None:
    await t.emit(*events(2, "old"))
    await t.age(1.1)
    await t.emit(*events(2, "new"))
    await t.ack(*await t.deliver(9))
    t.equal(await t.events.prune(TOPIC, older_than=t.tick), 2, "acked events pruned by age")
    t.equal(await _log(t), ["new1", "new2"], "events left")


@case("log.pruned")
async def the_oldest_go_first_up_to_a_limit(t: Trial) -> None:
    await t.emit(*events(6), event("x", topic="other"))
    await t.ack(*await t.deliver(9), *await t.deliver(9, topic="other"))
    t.equal(await t.events.prune(TOPIC, limit=4), 4, "events pruned up to a limit")
    t.equal(await _log(t), ["e5", "e6"], "events left")
    t.equal(await _log(t, "other"), ["x"], "events left of a topic that was not named")
    t.equal(await t.events.prune(None), 3, "events pruned of every topic")


@case("log.pruned")
async def topics_are_pruned_in_byte_order(t: Trial) -> None:
    topics = ("b", "\ufb00", "a", "\U0001f600")
    await t.emit(*[event(f"{n}", topic=topic) for n in range(3) for topic in topics])
    for topic in topics:
        await t.ack(*await t.deliver(9, topic=topic))
    t.equal(await t.events.prune(None, limit=7), 7, "events pruned up to a limit")
    left = [(one.topic, one.events) for one in await t.events.topics()]
    expected = [("a", 0), ("b", 0), ("\ufb00", 2), ("\U0001f600", 3)]
    t.equal(left, expected, "events left of each topic")


@case("log.pruned")
async def a_pruned_id_is_free_and_its_position_is_not(t: Trial) -> None:
    await t.emit(*events(3))
    grants = await t.deliver(3)
    await t.ack(*grants)
    await t.events.prune(TOPIC)
    t.equal((await t.emit(event("e3"))).known, (None,), "answer when a pruned id comes again")
    again = await t.deliver(9)
    t.equal(event_ids(again), ["e3"], "handed out then")
    first = grants[-1]
    t.check(again[0].position > first.position, "the position of a pruned event came again")
    t.check(again[0].run_id != first.run_id, "a new event has the run id of a pruned one")


@case("log.counted")
async def topics_are_counted_with_their_last_position(t: Trial) -> None:
    t.equal(await t.events.topics(), (), "topics of an empty store")
    names = ("b", "a", "\U0001f600", "\ufb00", "Z")
    await t.emit(*[event(f"{n}", topic=name) for n in range(3) for name in names])
    last = {name: (await t.deliver(9, topic=name))[-1].position for name in names}
    await t.deliver(1, topic="consumers only")
    expected = [TopicRecord(name, 3, last[name]) for name in names]
    expected.append(TopicRecord("consumers only", 0, 0))
    expected.sort(key=lambda one: one.topic.encode())
    t.equal(list(await t.events.topics()), expected, "topics")


@case("log.counted")
async def what_was_pruned_is_not_counted_and_the_last_position_stays(t: Trial) -> None:
    await t.emit(*events(3))
    grants = await t.deliver(9)
    await t.ack(*grants)
    await t.events.prune(TOPIC)
    last = grants[-1].position
    t.equal(await t.events.topics(), (TopicRecord(TOPIC, 0, last),), "topics of an empty log")
    t.equal(await t.deliver(9, "new", start=Edge.LATEST), (), "events behind the end")
    t.equal((await t.record_of("new")).reach, last, "where a consumer at the end begins")
