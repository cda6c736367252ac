"""Values as they appear in messages."""

from __future__ import annotations


def shown(value: object, limit: int = 80) -> str:
    """`value` in ASCII and at most `limit` characters, whatever it is or does."""
    try:
        text = ascii(value)
    except Exception:  # a user's __repr__ may raise anything, and so does a huge int
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
