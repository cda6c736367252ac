"""The last calls on a store, as a violation shows them."""

from __future__ import annotations

_KEPT = 200


def note(notes: list[str], call: str, answer: object) -> None:
    """Write down a call and what it answered."""
    notes.append(f"{call} -> {brief(answer)}")
    del notes[:-_KEPT]


def brief(value: object) -> str:
    """What a value is, cut short."""
    text = repr(value)
    return text if len(text) <= 240 else f"{text[:200]} ... ({len(text)} characters)"
