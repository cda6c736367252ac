"""The files that belong to the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def files(*patterns: str) -> list[Path]:
    """Every file that git tracks or would add, or those of some patterns."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in sorted(set(names.split("\0"))) if name)
    return [path for path in paths if path.is_file()]
