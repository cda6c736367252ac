"""Refuse what must not be in the repository: loose ends, machine paths, unequal licenses."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from repository import ROOT, files

# This file is left out of the check, for it names what it refuses.
REFUSED = (
    (r"\b(?:TODO|FIXME|XXX|HACK)\b", "a loose end; finish it or open an issue"),
    (r"(?<![\w.~/:])/(?:home|root|opt(?!/homebrew)|tmp|work|Users)/\w", "a path of one machine"),
    (r"(?:files\.pythonhosted|registry\.npmjs)\.org|/simple/?\s", "the address of a registry"),
    (r"--(?:extra-)?index-url|^\s*index[-_]url", "the address of a registry"),
    (r"pytest\.mark\.skip\b|@unittest\.skip", "a test that is switched off"),
    (r"# type: ignore(?!\[)|# noqa(?!:)", "name the rule that is silenced"),
    (r"\bpragma: no cover\b", "code that no test runs"),
)
# Tests give wrong types on purpose.
REFUSED_IN_CODE = (
    (r"# type: ignore\[[\w, -]+\]\s*$", "say in the same line why the rule is silenced"),
)
BINARY = {".csv", ".db", ".gz", ".png"}


def refused(path: Path, text: str) -> Iterator[str]:
    """One line for each refused thing in a text."""
    patterns = REFUSED if "tests" in path.parts else REFUSED + REFUSED_IN_CODE
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, why in patterns:
            if re.search(pattern, line):
                yield f"{path}:{number}: {why}: {line.strip()[:80]}"


def licenses() -> Iterator[str]:
    """Every distribution carries the license of the repository, word for word."""
    text = (ROOT / "LICENSE").read_bytes()
    for project in files("*/pyproject.toml"):
        copy = project.with_name("LICENSE")
        if not copy.is_file() or copy.read_bytes() != text:
            yield f"{copy.relative_to(ROOT)}: not a copy of the LICENSE in the root"


def main() -> int:
    """Check the repository; 1 if anything is refused."""
    found = [
        line
        for path in files()
        if path.suffix not in BINARY and path != Path(__file__).resolve()
        for line in refused(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]
    found += licenses()
    print("\n".join(found) or "tree: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
