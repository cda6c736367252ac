"""Broken stores whose events processes must catch as well."""

from __future__ import annotations

from gnl_conformance._rules import Part
from gnl_conformance.mutants.delivery import AcksAreLost, OneMarkerForAll
from gnl_conformance.mutants.delivery_lease import (
    ExpiresEarly,
    NeverReclaims,
    SettleIgnoresToken,
    TokenIsTheAttempt,
)
from gnl_conformance.mutants.delivery_order import RetriesLoseTheirAttempts
from gnl_conformance.mutants.log import ForgetsIds, RowByRow
from gnl_conformance.mutants.reference import FileConformance, FileStore
from gnl_conformance.mutants.registry import breaks, table_with
from gnl_core.memory._store import _Data


@breaks("delivery.each", "never handed to")
class OneMarkerForAllInAFile(FileConformance):
    """Keeps one marker for all consumers of a topic."""

    event_table = OneMarkerForAll


@breaks("delivery.acked", "and was granted again")
class AcksAreLostInAFile(FileConformance):
    """Takes the ack, and hands the event out again when its lease runs out."""

    event_table = table_with(AcksAreLost)


@breaks("delivery.exclusive", "before the lease before it ran out")
class EndsLeasesOfEventsEarly(FileConformance):
    """Ends a lease long before its time."""

    event_table = table_with(ExpiresEarly)


@breaks("delivery.token", "got token")
class TokenIsTheAttemptAtAnEventInAFile(FileConformance):
    """Takes the attempt's number for a token."""

    event_table = table_with(TokenIsTheAttempt)


@breaks("delivery.fenced", "was taken from a stale token")
class SettleIgnoresTokensOfEventsInAFile(FileConformance):
    """Settles what somebody else holds by now."""

    event_table = SettleIgnoresToken


@breaks("delivery.reclaimed", "not one was reclaimed")
@breaks("store.live", "did not end in the quiet phase", part=Part.EVENTS)
class NeverReclaimsEventsInAFile(FileConformance):
    """Leaves an event with a process that died."""

    event_table = table_with(NeverReclaims)


@breaks("delivery.attempt", "got attempt")
class RetriesLoseTheirAttemptsInAFile(FileConformance):
    """Counts from one again whenever an event is retried."""

    event_table = table_with(RetriesLoseTheirAttempts)


@breaks("log.once", "was created")
@breaks("log.once", "came to")
class ForgetsIdsInAFile(FileConformance):
    """Appends an id as often as it comes."""

    event_table = ForgetsIds


class _SlowRowByRow(RowByRow):
    pause = 0.01


class _RowByRowStore(FileStore):
    def _open(self, data: _Data) -> None:
        super()._open(data)
        self._events = _SlowRowByRow(data.events, data.wake)


@breaks("log.atomic", "events of its own left")
class EventsRowByRowInAFile(FileConformance):
    """Appends each event of a call for itself, so that a kill leaves some."""

    store = _RowByRowStore
