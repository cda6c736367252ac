"""The events' part of the store: most calls are one statement."""

from __future__ import annotations

from collections.abc import Sequence

from gnl_core.spi import (
    Appended,
    ConsumerRecord,
    DeadPage,
    Delivered,
    DeliveryState,
    Duration,
    EventHold,
    EventOutcome,
    EventSettlement,
    Extension,
    Instant,
    KnownEvent,
    NewEvent,
    Start,
    TopicRecord,
    TopicRefused,
)
from gnl_store_postgres._append import (
    APPEND,
    APPEND_ONE,
    appended,
    event_batch,
    values_of_event,
)
from gnl_store_postgres._callers import recognise
from gnl_store_postgres._database import CHANGE, READ, Database
from gnl_store_postgres._deliver import DELIVER, delivered, reach_of
from gnl_store_postgres._event_holds import (
    EXTEND,
    SETTLE,
    columns_of,
    distinct,
    ends_of,
    extensions,
    settlements,
)
from gnl_store_postgres._home import Home
from gnl_store_postgres._scripts import quoted
from gnl_store_postgres._tables import postgres_dialect, postgres_tables
from gnl_store_postgres._wakeups import Hints
from gnl_store_sql import EventChanges, EventReads, Step, Steps


class PostgresEvents:
    """`EventStore` on PostgreSQL."""

    def __init__(
        self, database: Database, urgent: Database, schema: str, channel: str, hints: Hints
    ) -> None:
        self._database = database
        self._urgent = urgent
        self._channel = channel
        self._hints = hints
        self._name = quoted(schema)
        self._home = Home(database, self._name)
        self._append, self._append_one, self._deliver, self._settle, self._extend = (
            sql.replace("{schema}", self._name)
            for sql in (APPEND, APPEND_ONE, DELIVER, SETTLE, EXTEND)
        )
        tables, dialect = postgres_tables(schema), postgres_dialect()
        self._reads = EventReads(tables, dialect)
        self._changes = EventChanges(tables, dialect, _Upkeep(self._name))

    async def append(
        self,
        events: Sequence[NewEvent],
        *,
        max_depth: int | None = None,
        connection: object | None = None,
    ) -> Appended | TopicRefused:
        """As `EventStore.append`; `connection` and `max_depth` as for `PostgresJobs.add`."""
        if not events:
            return Appended(())
        if connection is not None:
            caller = await recognise(connection)
            last = (await self._home.name(), self._channel)
            batch = event_batch(events)
            rows = await caller.fetch(self._append, *batch, max_depth, False, *last)
            return appended(rows, len(events), max_depth)
        ride = self._hints.ride()
        answer = await self._append_here(events, max_depth, ride.channel)
        if isinstance(answer, Appended) and None in answer.known:
            self._hints.arrived(ride)
        return answer

    async def _append_here(
        self, events: Sequence[NewEvent], max_depth: int | None, channel: str | None
    ) -> Appended | TopicRefused:
        if len(events) == 1 and max_depth is None:
            rows = await self._database.fetch(
                self._append_one, *values_of_event(events[0]), channel
            )
            return Appended((KnownEvent(*rows[0]) if rows else None,))
        batch = event_batch(events)
        rows = await self._database.fetch(self._append, *batch, max_depth, True, None, channel)
        return appended(rows, len(events), max_depth)

    async def deliver(
        self,
        topic: str,
        consumer: str,
        limit: int,
        ttl: Duration,
        worker: str,
        *,
        max_attempts: int | None,
        start: Start,
        by_key: bool = False,
    ) -> Delivered:
        """As `EventStore.deliver`."""
        place = (topic, consumer, limit, ttl, worker, max_attempts, reach_of(start), by_key)
        rows = await self._database.fetch(self._deliver, *place)
        return delivered(rows, topic, ttl, max_attempts)

    async def extend(self, holds: Sequence[EventHold], ttl: Duration) -> tuple[Extension, ...]:
        """As `EventStore.extend`."""
        if not holds:
            return ()
        asked = distinct(holds)
        rows = await self._urgent.fetch(self._extend, *columns_of(asked), ttl)
        return extensions(rows[0], asked, holds)

    async def settle(self, outcomes: Sequence[EventOutcome]) -> tuple[EventSettlement, ...]:
        """As `EventStore.settle`."""
        if not outcomes:
            return ()
        ends = ends_of(outcomes)
        rows = await self._urgent.fetch(self._settle, *ends)
        if rows[0][1]:
            self._hints.send()
        return settlements(rows[0], ends, len(outcomes))

    async def dead(self, topic: str, consumer: str, position: int | None, limit: int) -> DeadPage:
        """As `EventStore.dead`."""
        return await self._database.run(
            lambda: self._reads.dead(topic, consumer, position, limit), begin=READ
        )

    async def release(
        self, topic: str, consumer: str, org_id: str | None, id: str
    ) -> DeliveryState | None:
        """As `EventStore.release`."""
        found = await self._database.run(
            lambda: self._changes.release(topic, consumer, org_id, id), begin=CHANGE
        )
        if found is DeliveryState.QUARANTINED:
            self._hints.send()
        return found

    async def consumers(self, topic: str | None = None) -> tuple[ConsumerRecord, ...]:
        """As `EventStore.consumers`."""
        await self._number(topic)
        return await self._database.run(lambda: self._reads.consumers(topic), begin=READ)

    async def topics(self) -> tuple[TopicRecord, ...]:
        """As `EventStore.topics`."""
        await self._number(None)
        return await self._database.run(self._reads.topics, begin=READ)

    async def rewind(self, topic: str, consumer: str, start: Start) -> bool:
        """As `EventStore.rewind`."""
        found = await self._database.run(
            lambda: self._changes.rewind(topic, consumer, start), begin=CHANGE
        )
        if found:
            self._hints.send()
        return found

    async def remove(self, topic: str, consumer: str) -> bool:
        """As `EventStore.remove`."""
        return await self._database.run(lambda: self._changes.remove(topic, consumer), begin=CHANGE)

    async def prune(
        self, topic: str | None, *, older_than: Duration | None = None, limit: int = 10_000
    ) -> int:
        """As `EventStore.prune`."""
        await self._number(topic)
        return await self._database.run(
            lambda: self._changes.prune(topic, older_than, limit), begin=CHANGE
        )

    async def _number(self, topic: str | None) -> None:
        """Give positions to what has committed, some at a time."""
        sql = f"select {self._name}.gnl_number_all($1::text)"
        while (await self._database.fetch(sql, topic))[0][0]:
            pass


class _Upkeep:
    """What the shared changes need of this store."""

    def __init__(self, name: str) -> None:
        self._name = name

    def now(self) -> Steps[Instant]:
        rows = yield Step(f"select {self._name}.gnl_now(), $1::text", ("",))
        now: Instant = rows[0][0]
        return now

    def number(self, topic: str) -> Steps[None]:
        yield Step(f"select {self._name}.gnl_own_topic($1::text)", (topic,))

    def became_due(self) -> Steps[None]:
        # The hint is sent when this has committed.
        yield from ()

    def forget(self, consumer: int) -> Steps[None]:
        yield Step(
            f"delete from {self._name}.gnl_left_lines where consumer = $1::bigint",  # noqa: S608
            (consumer,),
        )
