"""One child of the process tier: ``python -m gnl_conformance._child FILE:CLASS SPACE ...``."""

from __future__ import annotations

import argparse
import asyncio
import sys
from functools import partial
from pathlib import Path

from gnl_conformance._harness import behind_a_proxy
from gnl_conformance._load import load_harness
from gnl_conformance.process.play import ROLES, Player
from gnl_conformance.process.play_events import EVENT_ROLES

_ROLES = {**ROLES, **EVENT_ROLES}


def main() -> int:
    """Do what the driver asked, until it says stop."""
    parser = argparse.ArgumentParser(prog="gnl_conformance._child")
    parser.add_argument("harness")
    parser.add_argument("space")
    parser.add_argument("--role", choices=[*_ROLES, "upgrade"], required=True)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--who", default="child")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--proxy", metavar="HOST:PORT", help="go through it, and repeat calls")
    asyncio.run(_run(parser.parse_args()))
    return 0


async def _run(asked: argparse.Namespace) -> None:
    harness = load_harness(asked.harness)()
    if asked.proxy is not None:
        host, _, port = asked.proxy.rpartition(":")
        behind_a_proxy(harness, (host, int(port)))
    async with harness.connect(asked.space) as store:
        if asked.role == "upgrade":
            version = await store.upgrade()
            print(version.found, version.needed)
            return
        player = Player(
            store,
            asked.folder,
            asked.who,
            asked.seed,
            insists=asked.proxy is not None,
            transaction=partial(harness.transaction, asked.space),
        )
        await _ROLES[asked.role](player)


if __name__ == "__main__":
    sys.exit(main())
