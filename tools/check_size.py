"""Refuse files over 400 lines and functions over 60: each must fit in one head."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, files

FILE_LINES = 400
FUNCTION_LINES = 60


def too_long(path: Path, text: str) -> Iterator[str]:
    """One line for each thing in a file that is over its limit."""
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield f"{path}: {lines} lines, at most {FILE_LINES}"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                where = f"{path}:{node.lineno}"
                yield f"{where}: {node.name} has {length} lines, at most {FUNCTION_LINES}"


def main() -> int:
    """Check the repository; 1 if anything is too long."""
    found = [
        line
        for path in files("*.py")
        for line in too_long(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found) or "sizes: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
