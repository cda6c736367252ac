"""Judges a history: pure functions, one a property, from calls to violations.

What was asked but never answered may or may not have happened, and is never held against a
store. Leases are judged by the store's own instants, so no process's clock matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeAlias

from gnl_conformance._violation import Violation
from gnl_conformance.history import Call, Granted, History, Key, Write, called, keys_of

Found: TypeAlias = Iterator[Violation]

_FINISHED = ("done", "dead", "canceled")


def nothing_is_lost(history: History) -> Found:
    """Every job whose add was answered is there at the end, or was pruned."""
    there = {*history.final, *history.prunable}
    for add in history.adds:
        if add.answered is not None and "created" in add.answered:
            lost = [key for key in keys_of(add) if key not in there]
            if lost:
                yield violation("store.kept", f"acknowledged and then lost: {lost[:5]}", [add])


def what_ended_stays_ended(history: History) -> Found:
    """A settlement that was acknowledged is not undone, save by a revival."""
    final = {job["seq"]: job["state"] for jobs in history.final.values() for job in jobs}
    for seq, writes in history.settled.items():
        for write in writes:
            if write.answer not in _FINISHED or _may_be_revived(history, write):
                continue
            again = [g for g in history.grants.get(seq, ()) if after(g.call, write.call)]
            if again:
                sentence = f"{called(seq)} was {write.answer} and was granted again"
                yield violation("store.kept", sentence, [write, *again])
            elif final.get(seq, write.answer) != write.answer:
                sentence = f"{called(seq)} was {write.answer} and ended as {final[seq]}"
                yield violation("store.kept", sentence, [write])


def no_job_has_two_live_leases(history: History) -> Found:
    """A job is granted again only once its lease has ended, by settlement or by time."""
    for seq, grants in history.grants.items():
        for first, second in pairwise(grants):
            if first.token == second.token or _may_have_ended(history, first, second):
                continue
            kept = [
                write
                for write in history.extended.get(seq, ())
                if write.token == first.token and write.until is not None
            ]
            until = max([first.expires_at, *[write.until or 0 for write in kept]])
            if second.granted_at < until:
                early = until - second.granted_at
                sentence = (
                    f"{called(seq)} was granted {early} us before the lease before it ran out"
                )
                yield violation("lease.exclusive", sentence, [first, *kept[-2:], second])


def tokens_grow(history: History) -> Found:
    """Each grant of a job has a token of its own, larger than any that was answered before."""
    for seq, grants in history.grants.items():
        in_time = sorted(grants, key=lambda grant: (grant.call.began, grant.token))
        for first, second in combinations(in_time, 2):
            shrunk = second.token < first.token and after(second.call, first.call)
            if shrunk or second.token == first.token:
                sentence = f"{called(seq)} got token {second.token} after {first.token}"
                yield violation("lease.token", sentence, [first, second])


def stale_tokens_change_nothing(history: History) -> Found:
    """Nothing is extended or settled by a token once a newer one was given out."""
    for writes in (*history.settled.values(), *history.extended.values()):
        for write in writes:
            newer = [
                grant
                for grant in history.grants.get(write.seq, ())
                if grant.token > write.token and after(write.call, grant.call)
            ]
            if write.applied and newer:
                sentence = f"{write.verdict} of {called(write.seq)} was taken from a stale token"
                yield violation("lease.fenced", sentence, [newer[0], write])


def a_hold_ends_once(history: History) -> Found:
    """A token settles at most once."""
    for seq, writes in history.settled.items():
        applied = [write for write in writes if write.applied]
        for token, times in Counter(write.token for write in applied).items():
            if times > 1:
                events = [write for write in applied if write.token == token]
                sentence = f"token {token} of {called(seq)} settled it {times} times"
                yield violation("lease.fenced", sentence, events)


def attempts_are_counted(history: History) -> Found:
    """Each grant is one attempt more, unless the one before was given back or buried."""
    for seq, grants in history.grants.items():
        for grant in grants:
            if grant.attempt > grant.budget:
                sentence = f"{called(seq)} was granted attempt {grant.attempt} of {grant.budget}"
                yield violation("attempt.bounded", sentence, [grant])
        for first, second in pairwise(grants):
            least = first.attempt + (0 if _may_be_released(history, first) else 1)
            if second.attempt < least and not may_begin_anew(history, first, second):
                sentence = f"{called(seq)} got attempt {second.attempt} after {first.attempt}"
                yield violation("attempt.bounded", sentence, [first, second])


def adds_are_whole(history: History) -> Found:
    """Of the jobs that only one call added, all are there or none."""
    calls = Counter(key for add in history.adds for key in keys_of(add))
    for add in history.adds:
        own = [key for key in keys_of(add) if calls[key] == 1 and key not in history.prunable]
        there = [key for key in own if key in history.final]
        if there and len(there) < len(own):
            sentence = f"a call of {len(own)} jobs of its own left {len(there)}"
            yield violation("enqueue.atomic", sentence, [add])


def an_id_is_one_job(history: History) -> Found:
    """No id is created twice, and none has two sequence numbers."""
    creators: dict[Key, list[Call]] = {}
    for add in history.adds:
        flags = (add.answered or {}).get("created", ())
        for key, created in zip(keys_of(add), flags, strict=False):
            if created:
                creators.setdefault(key, []).append(add)
    for key, adds in creators.items():
        if len(adds) > 1 and key not in history.prunable:
            yield violation("enqueue.once", f"{key} was created {len(adds)} times", adds)
    for key, jobs in history.final.items():
        if len(jobs) > 1:
            yield violation("enqueue.once", f"{key} is {len(jobs)} jobs in the end", jobs)


def listings_are_snapshots(history: History) -> Found:
    """A listing holds what was added before its first page, once, and nothing added after."""
    for listing in history.listings:
        first, items = listing.pages[0], listing.items
        times = Counter(items)
        once = times.keys() - history.prunable  # a pruned id may be added and listed again
        twice = [key for key in times if times[key] > 1]
        if twice:
            yield violation("list.snapshot", f"listed more than once: {twice[:5]}", listing.pages)
        for add in history.adds:
            keys = keys_of(add)
            missing = [key for key in keys if key not in times and key not in history.prunable]
            if missing and "created" in (add.answered or {}) and after(first, add):
                sentence = f"added before page 1 but not listed: {missing[:5]}"
                yield violation("list.snapshot", sentence, [add, *listing.pages])
            if after(add, first) and add.answered is not None:
                flags = zip(keys, add.answered.get("created", ()), strict=False)
                late = [key for key, created in flags if created and key in once]
                if late:
                    sentence = f"added after page 1 and listed: {late[:5]}"
                    yield violation("list.snapshot", sentence, [first, add, *listing.pages[1:]])


def all_work_ends(history: History) -> Found:
    """After a quiet phase no job is waiting or running."""
    left = [
        (key, job["state"])
        for key, jobs in history.final.items()
        for job in jobs
        if job["state"] not in _FINISHED
    ]
    if left:
        sentence = f"{len(left)} jobs did not end in the quiet phase: {left[:5]}"
        keys = [key for key, _ in left]
        last = [grants[-1] for grants in history.grants.values() if grants[-1].key in keys]
        yield violation("store.live", sentence, last)


def a_cancel_is_final(history: History) -> Found:
    """A job that was canceled while it waited is not granted; one that ran ends canceled."""
    by_key: dict[Key, list[Granted]] = {}
    for grants in history.grants.values():
        for grant in grants:
            by_key.setdefault(grant.key, []).append(grant)
    for cancel in history.cancels:
        key = (cancel.asked["org"], cancel.asked["id"])
        found = (cancel.answered or {}).get("found")
        if found not in ("waiting", "running") or key in history.prunable:
            continue  # a pruned id is free again, and may be another job
        again = [grant for grant in by_key.get(key, ()) if after(grant.call, cancel)]
        states = [job["state"] for job in history.final.get(key, ())]
        if again:
            yield violation("attempt.cancel", f"{key} was granted after a cancel", [cancel, *again])
        elif states and states != ["canceled"]:
            sentence = f"{key} was canceled while {found} and ended as {states}"
            yield violation("attempt.cancel", sentence, [cancel])


def no_other_errors_escape(history: History) -> Found:
    """A call raises nothing but what the interface names."""
    for call in history.calls:
        name = (call.error or "").partition(":")[0]
        if name not in ("", "StoreUnavailable", "StoreRejected"):
            yield violation("store.errors", f"{call.op} raised {call.error}", [call])


def reclaims_were_seen(history: History) -> Found:
    """Holders died with leases in hand, so some job was granted again."""
    grants = [grant for found in history.grants.values() for grant in found]
    if not any(grant.reclaimed for grant in grants):
        sentence = f"{len(grants)} grants, and not one was reclaimed, although holders were killed"
        yield violation("lease.reclaimed", sentence, [])


def refusals_were_seen(history: History) -> Found:
    """Holders slept for longer than their leases, so some late write was refused."""
    writes = [write for found in history.settled.values() for write in found]
    refused = [w for w in writes if not w.call.unknown and w.answer is None]
    if not refused:
        sentence = (
            f"{len(writes)} settlements, and no stale one was refused, although holders slept"
        )
        yield violation("lease.fenced", sentence, [])


@dataclass(frozen=True, slots=True)
class Property:
    """One thing that must be true of every history."""

    rule: str
    holds: Callable[[History], Found]
    at_end: bool = False
    """True if only a complete history can be judged: what is missing may still come."""
    witness: bool = False
    """True if it asks that something was seen, which takes time: a short run shows nothing."""

    @property
    def name(self) -> str:
        """The name of the function, a sentence."""
        return self.holds.__name__


PROPERTIES = (
    Property("store.kept", nothing_is_lost, at_end=True),
    Property("store.kept", what_ended_stays_ended, at_end=True),
    Property("lease.exclusive", no_job_has_two_live_leases),
    Property("lease.token", tokens_grow),
    Property("lease.fenced", stale_tokens_change_nothing),
    Property("lease.fenced", a_hold_ends_once),
    Property("lease.fenced", refusals_were_seen, at_end=True, witness=True),
    Property("lease.reclaimed", reclaims_were_seen, at_end=True, witness=True),
    Property("attempt.bounded", attempts_are_counted),
    Property("attempt.cancel", a_cancel_is_final),
    Property("enqueue.atomic", adds_are_whole, at_end=True),
    Property("enqueue.once", an_id_is_one_job),
    Property("list.snapshot", listings_are_snapshots),
    Property("store.live", all_work_ends, at_end=True),
    Property("store.errors", no_other_errors_escape),
)


def check(history: History) -> list[Violation]:
    """Every violation of every property."""
    return [found for one in PROPERTIES for found in one.holds(history)]


def so_far(history: History, properties: Sequence[Property] = PROPERTIES) -> set[tuple[str, str]]:
    """Rule and sentence of what an incomplete history already shows to be broken."""
    running = [one for one in properties if not one.at_end]
    return {(found.rule, found.sentence) for one in running for found in one.holds(history)}


def after(later: Call, earlier: Call) -> bool:
    """True if `earlier` was answered before `later` was asked."""
    return earlier.ended is not None and earlier.ended < later.began


def _settlements(history: History, grant: Granted) -> Iterable[Write]:
    """Those of this grant that happened, or may have."""
    for write in history.settled.get(grant.seq, ()):
        if write.token == grant.token and (write.applied or write.call.unknown):
            yield write


def _may_have_ended(history: History, first: Granted, second: Granted) -> bool:
    return any(
        second.call.ended is None or write.call.began < second.call.ended
        for write in _settlements(history, first)
    )


def _may_be_released(history: History, grant: Granted) -> bool:
    return any(write.verdict == "release" for write in _settlements(history, grant))


def _may_be_revived(history: History, write: Write) -> bool:
    """True if somebody revived the dead job, or may have."""
    grants = history.grants.get(write.seq, ())
    return write.answer == "dead" and any(grant.key in history.revivals for grant in grants)


def may_begin_anew(history: History, first: Granted, second: Granted) -> bool:
    """True if the job may have been revived between two grants."""
    return any(
        not after(first.call, revival)
        and (second.call.ended is None or revival.began < second.call.ended)
        for revival in history.revivals.get(first.key, ())
    )


def violation(rule: str, sentence: str, events: Sequence[object]) -> Violation:
    """A break of `rule`, with the calls that show it."""
    return Violation(rule, sentence, events=[str(event) for event in events][:6])
