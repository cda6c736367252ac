"""Changes to events that are the same on every SQL store: release, rewind, remove, prune.

Each is to be run in one transaction. A consumer's row is locked (where a database runs writers
side by side) before anything of it is read, as in a delivery; a topic before its consumers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from sqlalchemy import (
    and_,
    bindparam,
    delete,
    false,
    func,
    null,
    outerjoin,
    select,
    true,
    update,
)

from gnl_core.spi import LAST_POSITION, DeliveryState, Duration, Edge, Instant, Start
from gnl_store_sql.columns import constant
from gnl_store_sql.event_records import STATES
from gnl_store_sql.event_tables import BACK, QUARANTINED
from gnl_store_sql.records import org_text
from gnl_store_sql.statements import Row, SqlDialect, Steps
from gnl_store_sql.tables import Tables

_CHUNK: Final = 10_000


class EventUpkeep(Protocol):
    """What a store does of its own around these changes, in the same transaction."""

    def now(self) -> Steps[Instant]:
        """The store's clock."""
        ...

    def number(self, topic: str) -> Steps[None]:
        """Give positions to all that has committed; nobody else does so until the end."""
        ...

    def became_due(self) -> Steps[None]:
        """Something can be handed out that could not before."""
        ...

    def forget(self, consumer: int) -> Steps[None]:
        """The consumer is gone: drop what else there is of it."""
        ...


class EventChanges:
    """Release, rewind, remove and prune, compiled for one dialect."""

    def __init__(self, tables: Tables, dialect: SqlDialect, upkeep: EventUpkeep) -> None:
        self._upkeep = upkeep
        self._pack = dialect.pack
        self._prepare_consumers(tables, dialect)
        self._prepare_release(tables, dialect)
        self._prepare_pruning(tables, dialect)

    def _prepare_consumers(self, tables: Tables, dialect: SqlDialect) -> None:
        consumers, deliveries = tables.consumers, tables.deliveries
        consumer, delivery = consumers.c, deliveries.c
        self._lock = dialect.compile(
            select(consumer.number, consumer.reach)
            .where(consumer.topic == bindparam("topic"), consumer.name == bindparam("name"))
            .with_for_update()
        )
        self._last = dialect.compile(
            select(tables.topics.c.last).where(tables.topics.c.topic == bindparam("topic"))
        )
        numbered = consumer.number == bindparam("number")
        self._move = dialect.compile(
            update(consumers)
            .where(numbered)
            .values(reach=bindparam("reach"), rewinds=consumer.rewinds + 1)
        )
        self._drop = dialect.compile(delete(consumers).where(numbered))
        # In order of positions, as settlements lock them.
        self._behind = dialect.compile(
            select(delivery.position)
            .where(delivery.consumer == bindparam("number"), delivery.position > bindparam("after"))
            .order_by(delivery.position)
            .with_for_update()
        )
        self._forget = dialect.compile(
            delete(deliveries).where(
                delivery.consumer == bindparam("number"), delivery.position > bindparam("after")
            )
        )

    def _prepare_release(self, tables: Tables, dialect: SqlDialect) -> None:
        event, log, delivery = tables.events.c, tables.log.c, tables.deliveries.c
        mine = delivery.consumer == bindparam("number")
        self._find = dialect.compile(
            select(log.position, event.org, event.key, delivery.state)
            .select_from(
                outerjoin(tables.events, tables.log, log.seq == event.seq).outerjoin(
                    tables.deliveries, and_(mine, delivery.position == log.position)
                )
            )
            .where(
                event.topic == bindparam("topic"),
                event.org == bindparam("org"),
                event.id == bindparam("id"),
            )
        )
        line = and_(
            mine,
            delivery.org == bindparam("org"),
            delivery.key == bindparam("key"),
            delivery.state != constant(QUARANTINED),
        )
        self._in_front = dialect.compile(
            select(delivery.position)
            .where(line, delivery.position < bindparam("position"))
            .limit(constant(1))
        )
        self._block_rest = dialect.compile(
            update(tables.deliveries)
            .where(line, delivery.position > bindparam("position"), delivery.blocked == false())
            .values(blocked=true())
        )
        self._give_back = dialect.compile(
            update(tables.deliveries)
            .where(mine, delivery.position == bindparam("position"))
            .values(
                state=constant(BACK),
                blocked=bindparam("blocked_now"),
                at=constant(0),
                due_at=bindparam("now"),
                attempts=constant(0),
                reclaimed=false(),
                error=constant(""),
                quarantined_at=null(),
            )
        )

    def _prepare_pruning(self, tables: Tables, dialect: SqlDialect) -> None:
        consumer, delivery = tables.consumers.c, tables.deliveries.c
        log, event, topic = tables.log.c, tables.events.c, tables.topics.c
        self._topics = dialect.compile(select(topic.topic).order_by(topic.topic))
        self._floor = dialect.compile(
            select(func.count(), func.min(consumer.reach)).where(
                consumer.topic == bindparam("topic")
            )
        )
        # Not "exists": PostgreSQL may answer that by reading all deliveries at once.
        owed = (
            select(delivery.position)
            .where(
                consumer.topic == log.topic,
                delivery.consumer == consumer.number,
                delivery.position == log.position,
            )
            .limit(constant(1))
            .scalar_subquery()
            .is_not(None)
        )
        self._oldest = dialect.compile(
            select(log.position, log.seq, event.emitted_at, owed)
            .join_from(tables.log, tables.events, event.seq == log.seq)
            .where(
                log.topic == bindparam("topic"),
                log.position > bindparam("after"),
                log.position <= bindparam("floor"),
            )
            .order_by(log.position)
            .limit(constant(_CHUNK))
        )
        self._delete_log = dialect.compile(
            delete(tables.log).where(
                log.topic == bindparam("topic"), dialect.one_of(log.position, "positions")
            )
        )
        self._delete_events = dialect.compile(
            delete(tables.events).where(dialect.one_of(event.seq, "seqs"))
        )

    def release(
        self, topic: str, name: str, org_id: str | None, id: str
    ) -> Steps[DeliveryState | None]:
        """As `EventStore.release`."""
        yield from self._upkeep.number(topic)
        consumers = yield self._lock(topic=topic, name=name)
        if not consumers:
            return None
        number, reach = consumers[0]
        found = yield self._find(number=number, topic=topic, org=org_text(org_id), id=id)
        if not found:
            return None
        position, org, key, state = found[0]
        if position is None or position > reach:
            return DeliveryState.NEW
        if state is None:
            return DeliveryState.ACKED
        if state == QUARANTINED:
            yield from self._hand_back(number, position, org, key)
        return STATES[state]

    def _hand_back(self, number: int, position: int, org: str, key: str | None) -> Steps[None]:
        blocked = False
        if key is not None:
            line: dict[str, Any] = {"number": number, "org": org, "key": key, "position": position}
            blocked = bool((yield self._in_front(**line)))
            yield self._block_rest(**line)
        now = yield from self._upkeep.now()
        yield self._give_back(number=number, position=position, blocked_now=blocked, now=now)
        yield from self._upkeep.became_due()

    def rewind(self, topic: str, name: str, start: Start) -> Steps[bool]:
        """As `EventStore.rewind`."""
        yield from self._upkeep.number(topic)
        consumers = yield self._lock(topic=topic, name=name)
        if not consumers:
            return False
        reach = yield from self._position_of(topic, start)
        number = consumers[0][0]
        yield self._move(number=number, reach=reach)
        yield self._behind(number=number, after=reach)
        yield self._forget(number=number, after=reach)
        yield from self._upkeep.became_due()
        return True

    def _position_of(self, topic: str, start: Start) -> Steps[int]:
        if start is Edge.EARLIEST:
            return 0
        if start is Edge.LATEST:
            rows = yield self._last(topic=topic)
            return int(rows[0][0]) if rows else 0
        return min(start, LAST_POSITION)

    def remove(self, topic: str, name: str) -> Steps[bool]:
        """As `EventStore.remove`."""
        consumers = yield self._lock(topic=topic, name=name)
        if not consumers:
            return False
        number = consumers[0][0]
        yield self._drop(number=number)
        yield self._behind(number=number, after=0)
        yield self._forget(number=number, after=0)
        yield from self._upkeep.forget(number)
        return True

    def prune(self, topic: str | None, older_than: Duration | None, limit: int) -> Steps[int]:
        """As `EventStore.prune`."""
        now = yield from self._upkeep.now()
        latest = None if older_than is None else now - older_than
        topics = [topic] if topic is not None else [row[0] for row in (yield self._topics())]
        gone = 0
        for each in topics:
            if gone < limit:
                gone += yield from self._prune(each, latest, limit - gone)
        return gone

    def _prune(self, topic: str, latest: Instant | None, limit: int) -> Steps[int]:
        # A rewind waits meanwhile, which might make these events new again.
        yield from self._upkeep.number(topic)
        consumers = yield self._floor(topic=topic)
        count, floor = consumers[0]
        if count == 0 and latest is None:
            return 0
        gone = after = 0
        while gone < limit:
            rows = yield self._oldest(
                topic=topic, after=after, floor=floor if count else LAST_POSITION
            )
            old = _prefix(rows, latest)
            free = [row for row in old if not row[3]][: limit - gone]
            if free:
                gone += len(free)
                positions = self._pack([row[0] for row in free])
                yield self._delete_log(topic=topic, positions=positions)
                yield self._delete_events(seqs=self._pack([row[1] for row in free]))
            if len(old) < _CHUNK:
                break
            after = old[-1][0]
        return gone


def _prefix(rows: Sequence[Row], latest: Instant | None) -> list[Row]:
    """Up to the first event that is too young: what lies behind it is hardly ever older."""
    for at, row in enumerate(rows):
        if latest is not None and row[2] > latest:
            return list(rows[:at])
    return list(rows)
