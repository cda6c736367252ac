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
    "gnl": ("asyncpg==0.32.0", "sqlalchemy[asyncio]==2.1.9", "aiosqlite==0.22.1"),
    "procrastinate": ("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.4"),
    "pgqueuer": ("pgqueuer==1.6.0", "asyncpg==0.32.0"),
    "huey": ("huey==3.5.4",),
}


def python_of(name: str) -> Path:
    """The interpreter of an environment, made or made anew if what it holds is not what is asked."""
    folder, wanted = FOLDER / name, "\n".join(_requirements(name))
    stamp = folder / "requirements.txt"
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"making the environment of {name} ...", file=sys.stderr)
        python = [sys.executable, "-m", "venv", "--clear", str(folder)]
        subprocess.run(python, check=True)
        install = [str(folder / "bin" / "pip"), "install", "-q", *_requirements(name)]
        subprocess.run(install, check=True, cwd=ROOT)
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def _requirements(name: str) -> list[str]:
    # A distribution that is not there yet is found missing by the contender that needs it.
    folders = [f for f in OURS if (ROOT / f / "pyproject.toml").is_file()] if name == "gnl" else []
    ours = [part for folder in folders for part in ("-e", f"./{folder}")]
    return [*PINNED[name], *ours]


def versions() -> dict[str, str]:
    """What is compared, by environment, as pinned."""
    return {name: ", ".join(requirements) for name, requirements in PINNED.items()}
