"""Use a distribution that was installed from its wheel, alone, in an environment of its own.

    python check_wheel.py gnl-store-sqlite gnl-core gnl-store-sql

The first name is the distribution, the others are those of ours that it may bring along.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib import import_module
from importlib.metadata import distribution, distributions, entry_points
from importlib.util import find_spec
from pathlib import Path

DRIVERS = ("aiosqlite", "asyncpg", "aiomysql", "motor", "pymongo", "libsql", "sqlalchemy")
EMBEDDED = {"memory": "memory://", "sqlite": "sqlite:///tiny.db"}


def check_alone(name: str, brings: list[str]) -> None:
    """No other distribution of ours is there."""
    found = {d.name for d in distributions() if d.name.startswith("gnl-")}
    assert found == {name, *brings}, f"installed: {sorted(found)}"


def check_complete(name: str) -> None:
    """The package can be imported; the wheel carries its types and its license."""
    package = import_module(name.replace("-", "_"))
    assert package.__file__, f"{name} has no __init__.py"
    assert Path(package.__file__).with_name("py.typed").is_file(), "py.typed is missing"
    files = [str(file) for file in distribution(name).files or ()]
    assert any(file.endswith("licenses/LICENSE") for file in files), "LICENSE is missing"


def check_core() -> None:
    """The command line works where no driver is installed."""
    present = [driver for driver in DRIVERS if find_spec(driver)]
    assert not present, f"gnl-core brings drivers: {present}"
    command = [str(Path(sys.executable).with_name("gnl")), "--help"]
    shown = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "Usage" in shown, shown


async def run_a_job(url: str) -> None:
    """Enqueue one job and work it off."""
    from gnl_core import Worker, enqueue, open_storage  # noqa: PLC0415 - kit alone has no need

    seen: list[object] = []

    def handler(payload: object, _ctx: object) -> None:
        seen.append(payload)

    async with open_storage(url) as storage:
        await enqueue(storage.work, "tiny", {"n": 1})
        async with Worker(storage, {"tiny": handler}) as worker:
            assert await worker.drain() == 1
    assert seen == [{"n": 1}], seen


def main() -> None:
    """Check one distribution; an AssertionError says what is wrong with it."""
    name, *brings = sys.argv[1:]
    check_alone(name, brings)
    check_complete(name)
    if name == "gnl-core":
        check_core()
    schemes = [point.name for point in entry_points(group="gnl.stores") if point.load()]
    ran = [scheme for scheme in schemes if scheme in EMBEDDED]
    for scheme in ran:
        asyncio.run(run_a_job(EMBEDDED[scheme]))
    print(f"{name}: fine; stores {schemes}, a job ran on {ran}")


if __name__ == "__main__":
    main()
