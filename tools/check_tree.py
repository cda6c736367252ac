"""Refuse what must not be in the repository: loose ends, machine paths, unequal licenses."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

REFUSED = (
    (r"\b(?:TODO|FIXME|XXX|HACK)\b", "a loose end; finish it or open an issue"),
    (r"(?<![\w.~/:])/(?:home|root|opt|tmp|work|Users)/\w", "a path of one machine"),
    (r"(?:files\.pythonhosted|registry\.npmjs)\.org|/simple/?\s", "the address of a registry"),
    (r"--(?:extra-)?index-url|^\s*index[-_]url", "the address of a registry"),
    (r"pytest\.mark\.skip\b|@unittest\.skip", "a test that is switched off"),
    (r"# type: ignore(?!\[)|# noqa(?!:)", "name the rule that is silenced"),
    (r"# type: ignore\[[\w, -]+\]\s*$", "say in the same line why the rule is silenced"),
    (r"\bpragma: no cover\b", "code that no test runs"),
)
BINARY = {".csv", ".db", ".png"}


def tracked(root: Path) -> list[Path]:
    """Every file that git knows, this one left out: it has to name what it refuses."""
    command = ["git", "ls-files", "-z"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    paths = (root / name for name in names.split("\0") if name)
    return [path for path in paths if path.is_file() and path != Path(__file__).resolve()]


def refused(path: Path, text: str) -> Iterator[str]:
    """One line for each refused thing in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, why in REFUSED:
            if re.search(pattern, line):
                yield f"{path}:{number}: {why}: {line.strip()[:80]}"


def licenses(root: Path) -> Iterator[str]:
    """Every distribution carries the license of the repository, word for word."""
    text = (root / "LICENSE").read_bytes()
    for project in [*root.glob("*/pyproject.toml"), *root.glob("stores/*/pyproject.toml")]:
        copy = project.with_name("LICENSE")
        if not copy.is_file() or copy.read_bytes() != text:
            yield f"{copy.relative_to(root)}: not a copy of the LICENSE in the root"


def main() -> int:
    """Check the repository; 1 if anything is refused."""
    root = Path(__file__).resolve().parent.parent
    found = [
        line
        for path in tracked(root)
        if path.suffix not in BINARY
        for line in refused(path.relative_to(root), path.read_text(encoding="utf-8"))
    ]
    found += licenses(root)
    print("\n".join(found) or "tree: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
