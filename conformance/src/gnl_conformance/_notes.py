"""The last calls on a store, as a violation shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from gnl_core.spi import NewEvent, NewJob

_KEPT = 200
_SHOWN = 8
_NAMED = ("org_id", "id", "type", "topic", "payload")


def note(notes: list[str], call: str, answer: object) -> None:
    """Write down a call and what it answered."""
    notes.append(f"{call} -> {brief(answer)}")
    del notes[:-_KEPT]


def brief(value: object) -> str:
    """What a value is, cut short."""
    text = repr(value)
    return text if len(text) <= 240 else f"{text[:200]} ... ({len(text)} characters)"


def new_jobs(jobs: Sequence[NewJob]) -> str:
    """Organization, id and type of each, and what else decides when and how often it runs."""
    return _first([_new((job.org_id, job.id, job.type), job) for job in jobs])


def new_events(events: Sequence[NewEvent]) -> str:
    """Topic, organization and id of each, and its key if it has one."""
    return _first([_new((one.topic, one.org_id, one.id), one) for one in events])


def _new(names: tuple[str | None, ...], new: NewJob | NewEvent) -> str:
    rest = [
        f"{field.name}={value!r}"
        for field in fields(new)
        if field.name not in _NAMED and (value := getattr(new, field.name)) != field.default
    ]
    return f"({', '.join([*(brief(name) for name in names), *rest])})"


def _first(texts: Sequence[str]) -> str:
    more = [f"... ({len(texts)} in all)"] if len(texts) > _SHOWN else []
    return f"[{', '.join([*texts[:_SHOWN], *more])}]"
