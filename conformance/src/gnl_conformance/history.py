"""What several processes asked of a store and were answered, as one history.

Each process appends a line before and after every call to a file of its own, so that a kill
loses at most the answer. A call without an answer is *unknown*: it may have happened.
Order between processes is that of the machine's monotonic clock.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

Key: TypeAlias = tuple[str | None, str]
"""Organization and id of a job or event."""

Seq: TypeAlias = int | str
"""What is held: a job's number, or an event's delivery, as in ``event 7 for reader``."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call: who, what, when, and the answer if it came. Instants are nanoseconds."""

    who: str
    op: str
    asked: Mapping[str, Any]
    began: int
    ended: int | None = None
    answered: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def unknown(self) -> bool:
        """True if nobody can say whether it happened."""
        return self.answered is None and not (self.error or "").startswith("StoreRejected")

    def __str__(self) -> str:
        answer = self.error or ("no answer" if self.answered is None else _brief(self.answered))
        return f"{self.place}: {self.op} {_brief(self.asked)} -> {answer}"

    @property
    def place(self) -> str:
        """When it began, in seconds, and who made it."""
        return f"[{self.began / 1e9:.6f}] {self.who}"


@dataclass(frozen=True, slots=True)
class Granted:
    """One grant, in the store's own figures."""

    call: Call
    key: Key
    seq: Seq
    token: int
    attempt: int
    budget: int
    granted_at: int
    expires_at: int
    reclaimed: bool

    def __str__(self) -> str:
        return (
            f"{self.call.place}: granted {called(self.seq)} {self.key} token {self.token}"
            f" attempt {self.attempt} of {self.budget},"
            f" from {self.granted_at} until {self.expires_at}"
        )


@dataclass(frozen=True, slots=True)
class Write:
    """A hold extended or settled: `answer` is the state, None for refused; see `call.unknown`."""

    call: Call
    seq: Seq
    token: int
    verdict: str
    answer: str | None
    until: int | None = None

    @property
    def applied(self) -> bool:
        """True if the store said that it took effect."""
        return self.answer not in (None, "lost")

    def __str__(self) -> str:
        if self.call.unknown:
            said = "no answer"
        else:
            said = f"{self.answer} until {self.until}" if self.until else f"{self.answer}"
        return (
            f"{self.call.place}: {self.verdict} of {called(self.seq)} token {self.token} -> {said}"
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """A listing read to its end."""

    pages: tuple[Call, ...]

    @property
    def items(self) -> list[Key]:
        """All jobs listed, in order."""
        return [_key(item) for page in self.pages for item in (page.answered or {})["items"]]


@dataclass(frozen=True)
class History:
    """All calls, in the order in which they began."""

    calls: tuple[Call, ...]
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def adds(self) -> list[Call]:
        """Every add of jobs and append of events, answered or not."""
        return [call for call in self.calls if call.op in ("add", "append")]

    @cached_property
    def cancels(self) -> list[Call]:
        """Every cancel, answered or not."""
        return [call for call in self.calls if call.op == "cancel"]

    @cached_property
    def revivals(self) -> dict[Key, list[Call]]:
        """Revivals that happened, or may have."""
        found: dict[Key, list[Call]] = {}
        for call in self.calls:
            if call.op == "revive" and (call.unknown or (call.answered or {})["found"] == "dead"):
                found.setdefault((call.asked["org"], call.asked["id"]), []).append(call)
        return found

    @cached_property
    def prunable(self) -> frozenset[Key]:
        """Jobs that may have been pruned: they ended, or may have, before a prune did."""
        ends = [
            math.inf if call.ended is None else call.ended
            for call in self.calls
            if call.op == "prune" and (call.unknown or (call.answered or {})["count"])
        ]
        last = max(ends, default=0)
        ended = {
            write.seq
            for writes in self.settled.values()
            for write in writes
            if write.call.began < last and (write.applied or write.call.unknown)
        }
        canceled = {
            (call.asked["org"], call.asked["id"]) for call in self.cancels if call.began < last
        }
        keys = {grant.key for seq in ended for grant in self.grants.get(seq, ())}
        return frozenset(keys | canceled)

    @cached_property
    def grants(self) -> dict[Seq, list[Granted]]:
        """Grants by job, each in the order of its tokens.

        The order of the store's clock would be another: a claim may read it and then wait, while
        another one grants the job and its holder gives it back.
        """
        found: dict[Seq, list[Granted]] = {}
        for call in self.calls:
            if call.op in ("claim", "deliver") and call.answered is not None:
                for one in call.answered["grants"]:
                    found.setdefault(one["seq"], []).append(_granted(call, one))
        for grants in found.values():
            grants.sort(key=lambda grant: (grant.token, grant.granted_at, grant.call.began))
        return found

    @cached_property
    def settled(self) -> dict[Seq, list[Write]]:
        """Settlements by job."""
        return self._writes("settle")

    @cached_property
    def extended(self) -> dict[Seq, list[Write]]:
        """Extensions by job."""
        return self._writes("extend")

    def _writes(self, op: str) -> dict[Seq, list[Write]]:
        found: dict[Seq, list[Write]] = {}
        for call in self.calls:
            if call.op != op:
                continue
            holds = call.asked["holds"]
            answers = call.answered["answers"] if call.answered else [[None, None]] * len(holds)
            for (seq, token, verdict), (answer, until) in zip(holds, answers, strict=True):
                found.setdefault(seq, []).append(Write(call, seq, token, verdict, answer, until))
        return found

    @cached_property
    def listings(self) -> list[Listing]:
        """Listings that came to their end."""
        pages: dict[str, list[Call]] = {}
        for call in self.calls:
            if call.op == "page" and call.answered is not None:
                pages.setdefault(call.asked["listing"], []).append(call)
        complete = [p for p in pages.values() if not (p[-1].answered or {})["more"]]
        return [Listing(tuple(found)) for found in complete]

    @cached_property
    def final(self) -> dict[Key, list[Mapping[str, Any]]]:
        """What was in the store at the very end, by key."""
        found: dict[Key, list[Mapping[str, Any]]] = {}
        for call in self.calls:
            if call.op == "final" and call.answered is not None:
                for job in call.answered["jobs"]:
                    found.setdefault((job["org"], job["id"]), []).append(job)
        return found


def keys_of(add: Call) -> list[Key]:
    """The jobs of an add, or the events of an append."""
    return [_key(item) for item in add.asked["events" if add.op == "append" else "jobs"]]


def called(seq: Seq) -> str:
    """What is held, in words."""
    return seq if isinstance(seq, str) else f"job {seq}"


def _key(item: list[Any]) -> Key:
    return item[0], item[1]


def _granted(call: Call, one: Mapping[str, Any]) -> Granted:
    rest = {name: one[name] for name in one if name not in ("org", "id")}
    return Granted(call=call, key=(one["org"], one["id"]), **rest)


def _brief(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:150]} ..."


class Writer:
    """Appends the calls of one process to its own file, unbuffered."""

    def __init__(self, path: Path, who: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        self._who = who
        self._calls = 0

    def began(self, op: str, asked: Mapping[str, Any]) -> int:
        """Write that a call begins; its number."""
        self._calls += 1
        self._write({"n": self._calls, "who": self._who, "op": op, "asked": asked})
        return self._calls

    def ended(self, number: int, answered: Mapping[str, Any]) -> None:
        """Write the answer."""
        self._write({"n": number, "answered": answered})

    def failed(self, number: int, error: BaseException) -> None:
        """Write that the call raised."""
        self._write({"n": number, "error": f"{type(error).__name__}: {error}"})

    def _write(self, line: Mapping[str, Any]) -> None:
        text = json.dumps({"at": time.monotonic_ns(), **line}, ensure_ascii=False)
        os.write(self._file, text.encode() + b"\n")


def read(files: Iterable[Path], notes: Iterable[str] = ()) -> History:
    """Join the files of all processes."""
    calls = [call for file in files for call in _calls(file)]
    return History(tuple(sorted(calls, key=lambda call: call.began)), tuple(notes))


def _calls(file: Path) -> Iterable[Call]:
    lines: dict[int, dict[str, Any]] = {}
    for raw in file.read_bytes().split(b"\n"):
        try:
            line = json.loads(raw)
        except ValueError:
            continue  # cut off by a kill
        if line["n"] in lines:
            lines[line["n"]].update(line, ended=line["at"])
        else:
            lines[line["n"]] = {**line, "began": line["at"]}
    for line in lines.values():
        yield Call(
            who=line["who"],
            op=line["op"],
            asked=line["asked"],
            began=line["began"],
            ended=line.get("ended"),
            answered=line.get("answered"),
            error=line.get("error"),
        )
