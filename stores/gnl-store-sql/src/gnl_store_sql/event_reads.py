"""Reads of events that are the same on every SQL store: consumers, topics, dead."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    exists,
    false,
    func,
    select,
    union,
)

from gnl_core.spi import ConsumerRecord, DeadPage, TopicRecord
from gnl_store_sql.columns import constant
from gnl_store_sql.event_records import consumer_record, dead_event
from gnl_store_sql.event_tables import BACK, HELD, QUARANTINED, RETRY
from gnl_store_sql.statements import SqlDialect, Steps
from gnl_store_sql.tables import Tables


class EventReads:
    """Reads, compiled for one dialect; each is to be run in one snapshot."""

    def __init__(self, tables: Tables, dialect: SqlDialect) -> None:
        every = _consumers(tables)
        one = every.where(tables.consumers.c.topic == bindparam("topic"))
        self._every_consumer = dialect.compile(every)
        self._consumers_of = dialect.compile(one)
        self._topics = dialect.compile(_topics(tables))
        self._dead = dialect.compile(_dead(tables))

    def consumers(self, topic: str | None) -> Steps[tuple[ConsumerRecord, ...]]:
        """As `EventStore.consumers`."""
        asked = self._every_consumer() if topic is None else self._consumers_of(topic=topic)
        rows = yield asked
        return tuple(map(consumer_record, rows))

    def topics(self) -> Steps[tuple[TopicRecord, ...]]:
        """As `EventStore.topics`."""
        rows = yield self._topics()
        return tuple(TopicRecord(*row) for row in rows)

    def dead(self, topic: str, name: str, position: int | None, limit: int) -> Steps[DeadPage]:
        """As `EventStore.dead`."""
        rows = yield self._dead(topic=topic, name=name, after=position or 0, count=limit + 1)
        page = tuple(map(dead_event, rows[:limit]))
        return DeadPage(page, page[-1].position if len(rows) > limit else None)


def _consumers(tables: Tables) -> Select[Any]:
    consumer, delivery, log = tables.consumers.c, tables.deliveries.c, tables.log.c

    def count(state: str) -> ColumnElement[int]:
        of = and_(delivery.consumer == consumer.number, delivery.state == constant(state))
        return select(func.count()).where(of).scalar_subquery()

    lag = and_(log.topic == consumer.topic, log.position > consumer.reach)
    return select(
        consumer.topic,
        consumer.name,
        consumer.reach,
        select(func.count()).where(lag).scalar_subquery(),
        *map(count, (HELD, BACK, RETRY, QUARANTINED)),
    ).order_by(consumer.topic, consumer.name)


def _topics(tables: Tables) -> Select[Any]:
    log, topic = tables.log.c, tables.topics.c
    with_events = select(topic.topic).where(exists().where(log.topic == topic.topic))
    named = union(with_events, select(tables.consumers.c.topic)).subquery("named")
    events = select(func.count()).where(log.topic == named.c.topic).scalar_subquery()
    last = select(topic.last).where(topic.topic == named.c.topic).scalar_subquery()
    return select(named.c.topic, events, func.coalesce(last, 0)).order_by(named.c.topic)


def _dead(tables: Tables) -> Select[Any]:
    consumer, delivery, event = tables.consumers.c, tables.deliveries.c, tables.events.c
    return (
        select(
            delivery.position,
            event.id,
            event.org,
            event.key,
            event.payload,
            delivery.attempts,
            delivery.error,
            event.emitted_at,
            delivery.quarantined_at,
        )
        .select_from(tables.consumers)
        .join(tables.deliveries, delivery.consumer == consumer.number)
        .join(tables.events, event.seq == delivery.seq)
        .where(consumer.topic == bindparam("topic"), consumer.name == bindparam("name"))
        .where(delivery.state == constant(QUARANTINED), delivery.blocked == false())
        .where(delivery.at == constant(0), delivery.position > bindparam("after"))
        .order_by(delivery.at, delivery.position)
        .limit(bindparam("count"))
    )
