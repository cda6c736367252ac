"""Run a job on a store that was installed from its wheel and needs a server.

    python check_server_store.py postgres

The server is that of the conformance kit: one that is given, or one that is thrown away.
"""

from __future__ import annotations

import asyncio
import sys

from check_wheel import run_a_job

from gnl_conformance import servers


def main() -> None:
    """Start the server if need be, and run the job."""
    (kind,) = sys.argv[1:]
    server: servers.Server = getattr(servers, kind)()
    asyncio.run(run_a_job(server.url))
    print(f"{kind}: a job ran")


if __name__ == "__main__":
    main()
