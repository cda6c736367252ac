"""Broken stores that only processes can catch, or that they must catch as well."""

from __future__ import annotations

from gnl_conformance.mutants.attempt import LateResultWins, ReclaimIsFree
from gnl_conformance.mutants.enqueue import ForgetsFinishedIds, RowByRow
from gnl_conformance.mutants.lease import (
    NeverReclaims,
    SettleIgnoresToken,
    TokenIsTheAttempt,
    cut_short,
)
from gnl_conformance.mutants.list import ListsNewArrivals
from gnl_conformance.mutants.reference import FileConformance, FileStore, FileTable, Table
from gnl_conformance.mutants.registry import breaks
from gnl_core.memory._jobs import JobTable
from gnl_core.memory._store import _Data
from gnl_core.spi import Instant


@breaks("lease.reclaimed", "not one was reclaimed")
@breaks("store.live", "did not end in the quiet phase")
class NeverReclaimsInAFile(FileConformance):
    """Leaves a job with a worker that died."""

    table = NeverReclaims


@breaks("lease.fenced", "was taken from a stale token")
class SettleIgnoresTokenInAFile(FileConformance):
    """Settles a running job for whoever asks."""

    table = SettleIgnoresToken


@breaks("lease.token", "got token")
class TokenIsTheAttemptInAFile(FileConformance):
    """Takes the attempt's number for a token."""

    table = TokenIsTheAttempt


class _EndsLeasesEarly(JobTable):
    def _end_expired_leases(self, now: Instant) -> None:
        cut_short(self, now, 400_000)
        super()._end_expired_leases(now)


@breaks("lease.exclusive", "before the lease before it ran out")
class EndsLeasesEarly(FileConformance):
    """Ends a lease long before its time."""

    table = _EndsLeasesEarly


@breaks("attempt.bounded", "got attempt")
class ReclaimIsFreeInAFile(FileConformance):
    """Does not count an attempt whose worker died."""

    table = ReclaimIsFree


@breaks("attempt.cancel", "was canceled while running and ended as")
class LateResultWinsInAFile(FileConformance):
    """Lets a result overwrite a cancel."""

    table = LateResultWins


@breaks("enqueue.once", "was created")
class ForgetsFinishedIdsInAFile(FileConformance):
    """Takes an id for new once its job has finished."""

    table = ForgetsFinishedIds


@breaks("list.snapshot", "added after page 1 and listed")
class ListsNewArrivalsInAFile(FileConformance):
    """Lists what was added since the first page, too."""

    table = ListsNewArrivals


class _SlowRowByRow(RowByRow):
    pause = 0.01


class _RowByRowStore(FileStore):
    def _open(self, data: _Data) -> None:
        super()._open(data)
        self._jobs = _SlowRowByRow(data)


@breaks("enqueue.atomic", "of its own left")
class RowByRowInAFile(FileConformance):
    """Adds each job of a call for itself, so that a kill leaves some."""

    store = _RowByRowStore


class _WritesBehind(FileTable):
    """Keeps every third write to itself until the next one, which a kill may prevent."""

    behind = 0

    def save(self, table: Table) -> None:
        type(self).behind += 1
        if type(self).behind % 3:
            super().save(table)


@breaks("store.kept", "acknowledged and then lost")
class AcknowledgesBeforeItWrites(FileConformance):
    """Answers before it has written, and loses some of what it answered."""

    file = _WritesBehind
