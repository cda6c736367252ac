"""Names and texts of events."""

from __future__ import annotations

from gnl_conformance._case import case
from gnl_conformance._event_trial import CONSUMER, TOPIC, event, event_ids
from gnl_conformance._trial import Trial
from gnl_conformance.cases._texts import MEBIBYTE, NAMES, PAYLOADS
from gnl_core.spi import DeliveryState, KnownEvent, Quarantine


@case("log.names")
async def ids_and_organizations_are_compared_byte_for_byte(t: Trial) -> None:
    await t.emit(*[event(name) for name in NAMES])
    await t.emit(*[event("x", name) for name in NAMES])
    grants = await t.deliver(200)
    expected = [(None, name) for name in NAMES] + [(name, "x") for name in NAMES]
    t.equal([(g.org_id, g.id) for g in grants], expected, "events of similar names")
    again = await t.emit(*[event(name, payload="2") for name in NAMES])
    t.equal(again.known, (KnownEvent("null", None),) * len(NAMES), "answers to the same names")


@case("log.names")
async def topics_and_consumers_are_compared_byte_for_byte(t: Trial) -> None:
    await t.emit(*[event("x", topic=name, payload=f"{n}") for n, name in enumerate(NAMES)])
    for n, name in enumerate(NAMES):
        found = [(g.topic, g.payload) for g in await t.deliver(9, topic=name)]
        t.equal(found, [(name, f"{n}")], f"events of topic {name[:9]!r}")
        found = [(g.topic, g.id) for g in await t.deliver(9, name, NAMES[0])]
        t.equal(found, [(NAMES[0], "x")], f"events for consumer {name[:9]!r}")
    listed = [one.name for one in await t.events.consumers(NAMES[0])]
    in_order = sorted((*NAMES, CONSUMER), key=lambda name: name.encode())
    t.equal(listed, in_order, "consumers of one topic")
    topics = [one.topic for one in await t.events.topics()]
    t.equal(topics, sorted(NAMES, key=lambda name: name.encode()), "topics")


@case("log.names")
async def keys_are_compared_byte_for_byte(t: Trial) -> None:
    await t.emit(*[event(f"{n}", key=name) for n, name in enumerate(NAMES)])
    grants = await t.deliver(200, by_key=True)
    t.equal([g.key for g in grants], list(NAMES), "events of similar keys, handed out at once")


@case("log.topics")
async def an_id_is_free_in_another_topic_and_organization(t: Trial) -> None:
    places = [(topic, org) for topic in (TOPIC, "other") for org in (None, "a", "b")]
    new = [event("x", org, topic, f'"{topic} {org}"') for topic, org in places]
    t.equal((await t.emit(*new)).known, (None,) * 6, "answers for one id in six places")
    for topic in (TOPIC, "other"):
        found = [(g.org_id, g.payload) for g in await t.deliver(9, topic=topic)]
        expected = [(org, f'"{topic} {org}"') for org in (None, "a", "b")]
        t.equal(found, expected, f"events of {topic}")


@case("log.topics")
async def a_consumer_is_another_one_in_another_topic(t: Trial) -> None:
    await t.emit(event("x"), event("x", topic="other"))
    mine = await t.deliver_one()
    await t.ack(mine)
    await t.end(await t.deliver_one(topic="other"), Quarantine("no"))
    t.equal(await t.owed(), (0, 0, 0, 0), "what is owed in the topic where it was acked")
    t.equal(await t.owed(topic="other"), (0, 0, 0, 1), "what is owed in the other")
    t.equal(await t.events.release(TOPIC, CONSUMER, None, "x"), DeliveryState.ACKED, "a release")
    t.equal(event_ids(await t.dead(topic="other")), ["x"], "quarantined in the other")


@case("log.topics")
async def a_release_is_of_one_organization(t: Trial) -> None:
    orgs = (None, "a", "b")
    await t.emit(*[event("x", org) for org in orgs])
    for grant in await t.deliver(3):
        await t.end(grant, Quarantine("no"))
    await t.release("x", org="a")
    t.equal([one.org_id for one in await t.dead()], [None, "b"], "quarantined after a release")
    t.equal(await t.release("x", org="c"), None, "a release where there is no such id")


@case("log.payload")
async def text_is_given_back_exactly(t: Trial) -> None:
    new = [event(f"{n}", payload=text, key=text[:255] or "-") for n, text in enumerate(PAYLOADS)]
    await t.emit(*new, event("large", payload=MEBIBYTE))
    grants = await t.deliver(99)
    for one, grant in zip(new, grants, strict=False):
        t.equal((grant.payload, grant.key), (one.payload, one.key), f"event {one.id}")
    t.check(grants[-1].payload == MEBIBYTE, "a payload of one MiB came back changed")
    again = await t.emit(*[event(one.id, payload="other") for one in new])
    kept = tuple(KnownEvent(one.payload, one.key) for one in new)
    t.equal(again.known, kept, "what known ids answer")
