"""What only worlds can show, since they know the true time and see handlers run.

In their histories the stamps of calls are the time of the store's clock, and there are calls
``run``, of handlers: asked is the hold, answered is why the handler was told to stop, or None.
Like the checker's other properties these are pure functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from gnl_conformance._violation import Violation
from gnl_conformance.checker import Found, Property, may_begin_anew
from gnl_conformance.history import Call, Granted, History, Seq, Write
from gnl_conformance.world.wire import EPOCH

CALM_FROM: Final = "calm from "
"""Notes from when on (microseconds into the world) no trouble was left, if handlers ran singly."""

ENDED: Final = "ended in calm: "
"""Notes a worker's process that ended in its own time, with nothing in its way."""

WHOLE: Final = "whole"
"""Notes a history in which every grant, settlement and revival is known."""

_TOLD: Final = ("lost", "canceled")


def instants_are_the_stores(history: History) -> Found:
    """A grant is stamped with the store's time, between its claim's beginning and its end."""
    for grants in history.grants.values():
        for grant in grants:
            call, at = grant.call, grant.granted_at - EPOCH
            ended = math.inf if call.ended is None else call.ended
            if not call.began // 1_000 <= at <= ended // 1_000:
                sentence = f"a grant of job {grant.seq} is stamped {at} us into the world"
                yield Violation("lease.clock", sentence, events=[str(call), str(grant)])


def attempts_are_exact(history: History) -> Found:
    """An attempt that was given back is not counted, and every other is, once."""
    if WHOLE not in history.notes:
        return
    for seq, grants in history.grants.items():
        for first, second in pairwise(grants):
            back = [one for one in history.settled.get(seq, ()) if _gave_back(one, first)]
            due = first.attempt + (0 if back else 1)
            if second.attempt != due and not may_begin_anew(history, first, second):
                sentence = f"job {seq} got attempt {second.attempt} in place of {due}"
                events = [str(one) for one in (first, *back, second)]
                yield Violation("attempt.release", sentence, events=events)


def a_grant_runs_once(history: History) -> Found:
    """No handler is called twice for one token."""
    for (seq, token), runs in _runs(history).items():
        if len(runs) > 1:
            sentence = f"the handler of job {seq} ran {len(runs)} times for token {token}"
            yield Violation("worker.once", sentence, events=list(map(str, runs)))


def a_handler_is_told(history: History) -> Found:
    """Once a renewal has said that a lease or job is gone, its handler knows or does not begin."""
    for write, run in _known_gone(history):
        if run.answered is not None and run.answered["why"] is None:
            sentence = f"the handler of job {write.seq} was not told that it was {write.answer}"
            yield Violation("worker.told", sentence, events=[str(write.call), str(run)])


def a_lost_lease_is_left_alone(history: History) -> Found:
    """Nothing is written for a lease that the worker knew to be lost before its handler ended."""
    for write, run in _known_gone(history):
        settlements = [
            one.call
            for one in history.settled.get(write.seq, ())
            if one.token == write.token and one.call.began > (write.call.ended or 0)
        ]
        if write.answer == "lost" and settlements:
            sentence = f"job {write.seq} was settled by a worker that knew its lease was lost"
            events = [str(write.call), str(run), str(settlements[0])]
            yield Violation("worker.silent", sentence, events=events)


def a_shutdown_costs_no_attempt(history: History) -> Found:
    """What a worker stops because it stops itself is given back, and nothing else."""
    for (seq, token), runs in _runs(history).items():
        for run in runs:
            if run.answered is None or run.answered["why"] != "shutdown":
                continue
            sent = [one for one in history.settled.get(seq, ()) if one.token == token]
            wrong = [one for one in sent if one.verdict != "release"]
            if wrong:
                sentence = f"stopping its worker cost job {seq} an attempt"
                events = list(map(str, [run, *wrong]))
                yield Violation("attempt.release", sentence, events=events)


def outcomes_are_written(history: History) -> Found:
    """A handler's outcome is sent until the store says what became of it."""
    ended = [note.removeprefix(ENDED) for note in history.notes if note.startswith(ENDED)]
    for (seq, token), runs in _runs(history).items():
        for run in runs:
            if run.who not in ended or run.answered is None or run.answered["why"] is not None:
                continue
            sent = [one for one in history.settled.get(seq, ()) if one.token == token]
            if all(one.call.unknown for one in sent):
                sentence = f"the outcome of job {seq} was given up by a worker that went on"
                yield Violation("worker.written", sentence, events=list(map(str, [run, *sent])))


def a_lease_outlasts_its_handler(history: History) -> Found:
    """Where nothing goes wrong no lease runs out, even if a handler blocks the event loop."""
    calm = [int(n.removeprefix(CALM_FROM)) for n in history.notes if n.startswith(CALM_FROM)]
    for seq, grants in history.grants.items():
        for first, second in pairwise(grants):
            if second.reclaimed and any(first.granted_at - EPOCH >= since for since in calm):
                sentence = f"the lease of job {seq} ran out though nothing was wrong"
                runs = _runs(history).get((seq, first.token), [])
                yield Violation(
                    "worker.renews", sentence, events=[str(first), *map(str, runs), str(second)]
                )


PROPERTIES: Final = (
    Property("lease.clock", instants_are_the_stores),
    Property("attempt.release", attempts_are_exact),
    Property("worker.once", a_grant_runs_once),
    Property("worker.told", a_handler_is_told),
    Property("worker.silent", a_lost_lease_is_left_alone),
    Property("attempt.release", a_shutdown_costs_no_attempt),
    Property("worker.written", outcomes_are_written),
    Property("worker.renews", a_lease_outlasts_its_handler),
)


def _gave_back(write: Write, grant: Granted) -> bool:
    return write.token == grant.token and (write.verdict, write.answer) == ("release", "waiting")


def _runs(history: History) -> dict[tuple[Seq, int], list[Call]]:
    found: dict[tuple[Seq, int], list[Call]] = {}
    for call in history.calls:
        if call.op == "run":
            found.setdefault((call.asked["seq"], call.asked["token"]), []).append(call)
    return found


def _known_gone(history: History) -> Iterator[tuple[Write, Call]]:
    """Renewals that said no, each with the handler that ran on after the answer came.

    Both in one microsecond says nothing: a process that goes on after a pause finds the answer,
    and the end of the handler, at once and in any order.
    """
    runs = _runs(history)
    for writes in history.extended.values():
        for write in writes:
            known = write.call.ended
            if write.answer not in _TOLD or known is None:
                continue
            for run in runs.get((write.seq, write.token), ()):
                ends_later = run.ended is None or run.ended // 1_000 > known // 1_000
                if run.who == write.call.who and ends_later:
                    yield write, run
