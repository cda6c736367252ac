"""The consumer: takes the events of one topic from a store and runs a handler on each."""

from __future__ import annotations

import logging
import math
from typing import ClassVar, Final

from gnl_core._counts import to_count
from gnl_core._durations import Seconds, to_duration
from gnl_core.backoff import RetryDelay, exponential, to_backoff
from gnl_core.events._deliveries_boundary import DeliveriesBoundary, Subscription
from gnl_core.events._handlers import Handler
from gnl_core.events._start import StartAt, to_start
from gnl_core.ids import check_name
from gnl_core.runtime import OnRevoke, Service, check_handler, engine_options
from gnl_core.spi import EventGrant, EventVerdict
from gnl_core.storage import Storage, work_of

DEFAULT_BACKOFF: Final = exponential(60, factor=2, cap=3_600, jitter=0)
"""60 s, 120 s, 240 s, ... up to an hour."""


class Consumer(Service[EventGrant, EventVerdict]):
    """Runs `handler` on every event of `topic`, for the consumer called `name`.

    Consumers of different names each see every event. Processes that run one under the same name
    share its events. An event counts as done for the consumer once its handler has returned and
    the store has noted that; until then it comes again, whatever crashes.

    A handler is ``async def handler(payload, meta)``, cancelled at its next await when it is
    revoked, or a plain ``def``, which runs in a thread and looks at ``meta.signal``.

    `start`: where a consumer begins that the topic does not know yet: ``"earliest"``,
    ``"latest"``, or behind the event at a position. One that is known goes on where it was.
    `concurrency`: so many handlers at once. With 1, and one process, events are handled in the
    order of the log, those that failed apart.
    `by_key`: events of one organization with the same key are handled in order, one after the
    other, by all processes together; one that fails holds up its key until it is done or
    quarantined.
    `lease`: in seconds; a process that dies loses its events after so long.
    `max_attempts`: after so many an event is quarantined; ``math.inf`` never gives up.
    `retry_delay`: seconds before a failed event comes again: a number, or a function of the
    attempt; 60 s, doubling up to an hour, by default.
    The other options are those of `Worker`.

    Raises `InvalidInput` for any option that makes no sense, before anything is done.
    """

    _kind = "consumer"
    _logger: ClassVar[logging.Logger] = logging.getLogger("gnl.consumer")

    def __init__(
        self,
        storage: Storage,
        topic: str,
        name: str,
        handler: Handler,
        *,
        start: StartAt = "earliest",
        concurrency: int = 10,
        by_key: bool = False,
        lease: Seconds = 30.0,
        max_attempts: float = 8,
        retry_delay: RetryDelay | None = None,
        max_hold: Seconds | None = None,
        grace: Seconds = 10.0,
        on_revoke: OnRevoke = "cancel",
        claim_ahead: int = 100,
        poll_shortest: Seconds = 0.2,
        poll_longest: Seconds = 6.4,
        holder: str | None = None,
    ) -> None:
        store = work_of(storage)
        check_handler(handler, "the handler", "(payload, meta)")
        self._handler = handler
        self.topic = check_name(topic, "topic")
        self._subscription = Subscription(
            topic=self.topic,
            consumer=check_name(name, "name"),
            start=to_start(start),
            by_key=bool(by_key),
            ttl=to_duration(lease, "lease"),
            max_attempts=_budget(max_attempts),
            backoff=to_backoff(retry_delay, "retry_delay", default=DEFAULT_BACKOFF),
            default_backoff=DEFAULT_BACKOFF,
        )
        options = engine_options(
            concurrency=concurrency,
            ttl=lease,
            ttl_name="lease",
            claim_ahead=claim_ahead,
            max_hold=max_hold,
            grace=grace,
            poll_shortest=poll_shortest,
            poll_longest=poll_longest,
            on_revoke=on_revoke,
        )
        super().__init__(store, options, None if holder is None else check_name(holder, "holder"))
        self.holder, self.name = self.name, self._subscription.consumer

    def _boundary(self) -> DeliveriesBoundary:
        return DeliveriesBoundary(
            self._store,
            self._handler,
            self._subscription,
            worker=self.holder,
            random=self._machine.random,
        )


def _budget(value: object) -> int | None:
    return None if value == math.inf else to_count(value, "max_attempts", least=1)
