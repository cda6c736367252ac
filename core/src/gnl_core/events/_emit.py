"""Emitting: everything is checked and encoded first, then appended in one decision."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from gnl_core._counts import check_count
from gnl_core._shown import shown
from gnl_core.codec import same_content
from gnl_core.errors import InvalidEvent, InvalidInput, TopicFull
from gnl_core.events._event import Event, to_new_event
from gnl_core.events._store import events_of
from gnl_core.ids import check_name, new_id, new_ids
from gnl_core.spi import KnownEvent, NewEvent, Store, TopicRefused

_log = logging.getLogger("gnl.events")


async def emit(
    work: Store,
    topic: str,
    payload: object = None,
    *,
    id: str | None = None,
    org_id: str | None = None,
    key: str | None = None,
    max_depth: int | None = None,
    connection: object | None = None,
) -> str:
    """Append an event to the log of `topic` and return its id.

    Args:
        work: The store, ``storage.work``.
        topic: Whose consumers see it.
        payload: A JSON value, or one that holds dates, decimals and the like; see `codec`.
        id: Names the event within topic and organization; made at random if left out. An event
            that already has the id stays as it is and is the answer; if its payload or key is
            another one, a warning is logged.
        org_id: The organization that it belongs to.
        key: What it is about. A consumer may ask for the events of one key in order.
        max_depth: Refuse if more events than this of the organization would wait for the
            slowest consumer of the topic, or in all if it has none.
        connection: The caller's own transaction, in a form that the store documents; the event
            is committed with it, gone with it, and not visible before.

    Raises:
        InvalidEvent: An argument was refused; nothing was written.
        TopicFull: `max_depth` would be exceeded; nothing was written.

    """
    event = Event(topic, payload, id=id, org_id=org_id, key=key)
    try:
        new = to_new_event(event, new_id() if id is None else check_name(id, "id"))
        limit = check_count(max_depth, "max_depth", least=0)
    except InvalidInput as error:
        raise InvalidEvent(str(error)) from None
    await _append(work, [new], limit, connection)
    return new.id


async def emit_many(
    work: Store,
    events: Iterable[Event],
    *,
    max_depth: int | None = None,
    connection: object | None = None,
) -> list[str]:
    """Append any number of events, of any topics, all or none; their ids in call order.

    An id that is known already, or repeated in the call for one topic and organization, is one
    event; the first payload and key stay. Within a topic, the log keeps call order.

    Raises:
        InvalidEvent: An event was refused, its `index` says which; nothing was written.
        TopicFull: `max_depth` would be exceeded; nothing was written.

    """
    try:
        limit = check_count(max_depth, "max_depth", least=0)
    except InvalidInput as error:
        raise InvalidEvent(str(error)) from None
    new = _checked(list(events))
    distinct: dict[tuple[str, str | None, str], NewEvent] = {}
    for one in new:
        first = distinct.setdefault((one.topic, one.org_id, one.id), one)
        if first is not one:
            _warn_if_other(one, KnownEvent(first.payload, first.key))
    if distinct:
        await _append(work, list(distinct.values()), limit, connection)
    return [one.id for one in new]


def _checked(events: Sequence[object]) -> list[NewEvent]:
    fresh = iter(new_ids(len(events)))
    return [_check(event, index, next(fresh)) for index, event in enumerate(events)]


def _check(event: object, index: int, fresh: str) -> NewEvent:
    if not isinstance(event, Event):
        found = f"{type(event).__name__}: {shown(event)}"
        raise InvalidEvent(f"expected an Event, not {found}", index=index)
    try:
        return to_new_event(event, fresh if event.id is None else check_name(event.id, "id"))
    except InvalidInput as error:
        raise InvalidEvent(str(error), index=index) from None


async def _append(
    work: Store, events: Sequence[NewEvent], max_depth: int | None, connection: object | None
) -> None:
    store = events_of(work)
    answer = await store.append(events, max_depth=max_depth, connection=connection)
    if isinstance(answer, TopicRefused):
        raise TopicFull(
            topic=answer.topic,
            org_id=answer.org_id,
            depth=answer.depth,
            new=answer.new,
            limit=answer.limit,
        )
    for event, known in zip(events, answer.known, strict=True):
        if known is not None:
            _warn_if_other(event, known)


def _warn_if_other(event: NewEvent, known: KnownEvent) -> None:
    if event.key != known.key:
        difference = "another key"
    elif not same_content(event.payload, known.payload):
        difference = "another payload"
    else:
        return
    whose = "" if event.org_id is None else f" of organization {shown(event.org_id)}"
    _log.warning(
        "event id %s%s is known in topic %s with %s; that event stays",
        shown(event.id),
        whose,
        shown(event.topic),
        difference,
    )
