"""What shows that replies were lost although the call had taken effect.

A run in which that was not seen says nothing about lost replies, unless no call of the kind ever
went without an answer: then the store has repeated what was lost by itself.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from gnl_conformance._violation import Violation
from gnl_conformance.checker import Found, Property, reclaims_were_seen, refusals_were_seen
from gnl_conformance.history import Call, History, Key, keys_of

_NOTHING: Final = "the run proves nothing about lost replies"


def a_lost_add_was_seen(history: History) -> Found:
    """Some add was repeated that had happened: nobody else ever asked for its job."""
    askers: dict[Key, list[Call]] = {}
    for add in history.adds:
        for key in keys_of(add):
            askers.setdefault(key, []).append(add)
    for key, adds in askers.items():
        *before, last = adds
        alone = len({add.who for add in adds}) == 1
        if alone and before and all(add.unknown for add in before) and _knew(last, key):
            return
    if _some_unanswered(history, "add"):
        yield Violation("enqueue.once", f"no repeated add was known already: {_NOTHING}")


def _knew(add: Call, key: Key) -> bool:
    """True if the add was answered that the job was there."""
    flags = (add.answered or {}).get("created", ())
    return (key, False) in zip(keys_of(add), flags, strict=False)


def a_lost_settlement_was_seen(history: History) -> Found:
    """Some settlement was refused because it had happened: nobody else ever got the job."""
    for seq, writes in history.settled.items():
        latest = max((grant.token for grant in history.grants.get(seq, ())), default=0)
        own = [write for write in writes if write.token == latest]
        for first, again in pairwise(own):
            if first.call.unknown and not again.call.unknown and again.answer is None:
                return
    if _some_unanswered(history, "settle"):
        yield Violation("lease.fenced", f"no repeated settlement was refused: {_NOTHING}")


def a_lost_claim_was_seen(history: History) -> Found:
    """Some job was granted with an attempt more than anybody was told of."""
    for grants in history.grants.values():
        attempts = [0, *[grant.attempt for grant in grants]]
        if any(second > first + 1 for first, second in pairwise(attempts)):
            return
    if _some_unanswered(history, "claim"):
        yield Violation("lease.reclaimed", f"no job was claimed by a lost call: {_NOTHING}")


def _some_unanswered(history: History, op: str) -> bool:
    return any(call.op == op and call.unknown for call in history.calls)


LOST: Final = (
    Property("enqueue.once", a_lost_add_was_seen, at_end=True, witness=True),
    Property("lease.fenced", a_lost_settlement_was_seen, at_end=True, witness=True),
    Property("lease.reclaimed", a_lost_claim_was_seen, at_end=True, witness=True),
)


def all_were_seen(history: History) -> bool:
    """Whether a run proves something."""
    signs = [*[one.holds for one in LOST], reclaims_were_seen, refusals_were_seen]
    return not any(True for holds in signs for _ in holds(history))
