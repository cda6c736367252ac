"""The storm of events: emitters and consumers that are killed, under two consumers' names."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Final

from gnl_conformance import _event_entries as event_entries
from gnl_conformance._harness import StoreConformance
from gnl_conformance._rules import Part
from gnl_conformance.event_checker import EVENT_PROPERTIES
from gnl_conformance.history import Writer
from gnl_conformance.process import driver
from gnl_conformance.process.play_events import TOPIC
from gnl_core.spi import Capability, ConsumerRecord, EventStore, Store, StoreUnavailable

CAST: Final = (
    "emitter",
    "emitter",
    "consumer",
    "consumer",
    "single-consumer",
    "sleeping-consumer",
)


async def run_event_storm(harness: StoreConformance, space: str) -> driver.Storm:
    """Torment the events of a store for `harness.seconds` (a third of it is calm)."""
    with tempfile.TemporaryDirectory(prefix="gnl-events-") as folder:
        return await _EventKiller(harness, space, Path(folder), _cast(harness)).play()


def _cast(harness: StoreConformance) -> tuple[str, ...]:
    """With an emitter whose events commit late, if others can commit meanwhile."""
    late = Capability.TRANSACTIONS in harness.capabilities and not harness.one_writer
    return (*CAST, "slow-emitter") if late else CAST


class _EventKiller(driver.Killer):
    targets = ("emitter", "slow-emitter", "consumer", "single-consumer")
    properties = EVENT_PROPERTIES

    async def _calm(self, store: Store) -> None:
        deadline = time.monotonic() + driver.QUIET_LIMIT
        while time.monotonic() < deadline:
            try:
                emitting = any(one.alive for one in self.cast if one.role.endswith("emitter"))
                if not emitting and not any(_owes(one) for one in await _consumers(store)):
                    return
            except StoreUnavailable:
                self.note("the driver's own handle was cut off")
            await asyncio.sleep(0.1)

    async def _write_down_the_end(self, store: Store) -> None:
        writer = Writer(self.folder / "driver.jsonl", "driver")
        number = writer.began("consumers", {})
        writer.ended(number, event_entries.owed(await _consumers(store)))


async def _consumers(store: Store) -> tuple[ConsumerRecord, ...]:
    part: EventStore = getattr(store, Part.EVENTS.value)
    return await part.consumers(TOPIC)


def _owes(one: ConsumerRecord) -> bool:
    return bool(one.lag or one.held or one.parked)
