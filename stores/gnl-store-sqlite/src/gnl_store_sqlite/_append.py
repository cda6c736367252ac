"""Appending events. There is one writer at a time, so an event gets its position at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final

from gnl_core.spi import Appended, KnownEvent, NewEvent, TopicRefused
from gnl_store_sql import Step, Steps, org_text
from gnl_store_sqlite._clock import Tick

_KNOWN: Final = (
    "SELECT e.topic, e.org, e.id, e.payload, e.key FROM json_each(?) k CROSS JOIN gnl_events e "
    "ON e.topic = json_extract(k.value, '$[0]') AND e.org = json_extract(k.value, '$[1]') "
    "AND e.id = json_extract(k.value, '$[2]')"
)
_LAST_SEQ: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'gnl_events'"
_INSERT: Final = (
    "INSERT INTO gnl_events (seq, topic, org, id, key, payload, emitted_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LAST: Final = "SELECT topic, last FROM gnl_topics WHERE topic IN (SELECT value FROM json_each(?))"
_LOG: Final = "INSERT INTO gnl_log (topic, position, seq, org, key) VALUES (?, ?, ?, ?, ?)"
_SAVE_LAST: Final = (
    "INSERT INTO gnl_topics (topic, last) VALUES (?, ?) "
    "ON CONFLICT (topic) DO UPDATE SET last = excluded.last"
)
_DEPTH: Final = (
    "SELECT count(*) FROM gnl_log WHERE topic = ? AND org = ? AND position > "
    "coalesce((SELECT min(reach) FROM gnl_consumers WHERE topic = ?), 0)"
)

_Name = tuple[str, str, str]


def append(
    tick: Tick, events: Sequence[NewEvent], max_depth: int | None
) -> Steps[Appended | TopicRefused]:
    """All of `events` or none. The write lock is held and `tick` has just been read."""
    known = yield from _find(events)
    created = [event for event in events if _name(event) not in known]
    if max_depth is not None:
        refused = yield from _too_deep(created, max_depth)
        if refused is not None:
            return refused
    if created:
        yield from _insert(tick, created)
        tick.woken += 1
        yield tick.save()
    return Appended(tuple([known.get(_name(event)) for event in events]))


def _insert(tick: Tick, events: Sequence[NewEvent]) -> Steps[None]:
    last = yield Step(_LAST_SEQ, ())
    numbered = list(enumerate(events, (last[0][0] if last else 0) + 1))
    rows = [(seq, *_name(e), e.key, e.payload, tick.now) for seq, e in numbered]
    yield Step(_INSERT, rows, many=True)
    topics = json.dumps(sorted({event.topic for event in events}), ensure_ascii=False)
    rows_of_topics = yield Step(_LAST, (topics,))
    positions = Counter(dict(map(tuple, rows_of_topics)))
    log = []
    for seq, event in numbered:
        positions[event.topic] += 1
        position = positions[event.topic]
        log.append((event.topic, position, seq, org_text(event.org_id), event.key))
    yield Step(_LOG, log, many=True)
    yield Step(_SAVE_LAST, list(positions.items()), many=True)


def _too_deep(created: Sequence[NewEvent], limit: int) -> Steps[TopicRefused | None]:
    new = Counter((event.topic, event.org_id) for event in created)
    for (topic, org_id), count in new.items():
        rows = yield Step(_DEPTH, (topic, org_text(org_id), topic))
        depth: int = rows[0][0]
        if depth + count > limit:
            return TopicRefused(topic, org_id, depth, count, limit)
    return None


def _find(events: Sequence[NewEvent]) -> Steps[dict[_Name, KnownEvent]]:
    """Those events of the call that are in the store."""
    names = json.dumps([_name(event) for event in events], ensure_ascii=False)
    rows = yield Step(_KNOWN, (names,))
    return {(topic, org, id_): KnownEvent(payload, key) for topic, org, id_, payload, key in rows}


def _name(event: NewEvent) -> _Name:
    return event.topic, org_text(event.org_id), event.id
