"""Virtual environments: one for each contender, since their needs do not agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
FOLDER = BENCH / ".venvs"

OURS = ("core", "stores/gnl-store-sql", "stores/gnl-store-postgres", "stores/gnl-store-sqlite")

PINNED = {
    "floor": ("asyncpg==0.32.0",),
    "gnl": (
        "asyncpg==0.32.0",
        "sqlalchemy[asyncio]==2.1.9",
        "aiosqlite==0.22.1",
        "typer==0.29.2",
        "rich==15.0.0",
    ),
    "procrastinate": ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.4"),
    "pgqueuer": ("pgqueuer==1.6.0", "asyncpg==0.32.0"),
    "huey": ("huey==3.5.4",),
    "redis": ("redis==8.1.0",),
}


def python_of(name: str) -> Path:
    """The interpreter of an environment."""
    return FOLDER / name / "bin" / "python"


def make(name: str, checkout: Path = ROOT) -> None:
    """Make an environment if it is missing or its pins have changed.

    gnl is installed anew each time, as its users install it: edits made during a run change
    nothing.
    """
    folder, wanted = FOLDER / name, "\n".join(PINNED[name])
    stamp = folder / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"making the environment of {name} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        _pip(name, *PINNED[name])
        stamp.write_text(wanted)
    if name == "gnl":
        ours = (str(checkout / part) for part in OURS)
        _pip(name, "--no-deps", "--force-reinstall", *ours)


def _pip(name: str, *arguments: str) -> None:
    command = [str(python_of(name)), "-m", "pip", "install", "-q", *arguments]
    subprocess.run(command, check=True)
