"""Write the kit's rules into the last column of docs/guarantees.md, under their promises."""

from __future__ import annotations

import re
from pathlib import Path

from gnl_conformance import RULES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guarantees.md"
ROW = re.compile(r"^(\| \*\*(\w+)\*\* \| .* \|) [^|]* \|$", re.MULTILINE)


def proofs(promise: str) -> str:
    """The rules that prove one promise, as Markdown; a dash if no store can break it."""
    return " ".join(f"`{rule.id}`" for rule in RULES.values() if rule.promise == promise) or "-"


def main() -> None:
    """Rewrite the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(ROW.sub(lambda row: f"{row[1]} {proofs(row[2])} |", text), encoding="utf-8")


if __name__ == "__main__":
    main()
