"""What the author of a store writes: one class with one method."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol

from gnl_conformance._rules import RULES, Part
from gnl_core import Worker
from gnl_core.spi import Capability, Instant, Store


class Transaction(Protocol):
    """An open transaction of the store's database, as a caller would hold one."""

    @property
    def connection(self) -> object:
        """What is handed to `JobStore.add` as `connection`."""
        ...

    async def commit(self) -> None:
        """Make its writes visible."""
        ...

    async def rollback(self) -> None:
        """Throw its writes away."""
        ...


class StoreConformance:
    """Subclass it in a test module, and pytest shows whether your store keeps every rule.

    ::

        class TestRedis(StoreConformance):
            capabilities = {Capability.MULTI_PROCESS, Capability.SERVER_CLOCK}

            def server(self):
                return "localhost", 6379

            @asynccontextmanager
            async def connect(self, space):
                host, port = self.address
                store = await open_redis(f"redis://{host}:{port}", prefix=space)
                try:
                    yield store
                finally:
                    await store.close()

    Capabilities are facts about the environment; none of them excuses a promise.
    A store that breaks a rule says so by `deviations`, from a rule's id to a link that explains
    it; the rule must then really be broken, and the verdict is PARTIAL.
    """

    capabilities: ClassVar[set[Capability] | frozenset[Capability]] = frozenset()
    """Those of the store, exactly as it says itself."""
    parts: ClassVar[set[Part] | frozenset[Part]] = frozenset({Part.JOBS})
    """What the store keeps. It is graded for these parts, and the verdict names them."""
    deviations: ClassVar[Mapping[str, str]] = {}
    """Rules that the store is known to break, each with a link that explains it."""
    one_writer: ClassVar[bool] = False
    """True for a database that lets one open transaction write at a time."""
    seconds: float = 10.0
    """How long the process tier torments the store; an option of the run (`--seconds`) beats it.

    In less than 4 seconds some of it is not run.
    """
    seeds: range = range(20)
    """What the model tier tries, five scripts a seed; the first one makes the choices of the
    process tier. `--seeds` beats it."""
    worlds: range = range(200)
    """The seeds of the worlds that the world tier plays, one world a seed. `--seeds` beats it."""
    _worker: ClassVar[type[Worker]] = Worker
    _proxy: tuple[str, int] | None = None

    def connect(self, space: str) -> AbstractAsyncContextManager[Store]:
        """Open the store, and close it afterwards, also when the case fails.

        The same space is the same data, from any process. A space is up to 40
        lower-case ASCII letters and digits, and begins with a letter.
        """
        raise NotImplementedError("say in `connect` how your store is opened")

    async def drop(self, space: str) -> None:
        """Remove what a space left behind. By default it stays."""

    async def age(self, space: str, seconds: float) -> None:
        """Move the store's clock ahead. By default by waiting, with short leases.

        A clock that runs must run on from there; one that stands still may stand still.
        """
        await asyncio.sleep(seconds)

    def simulated(self, clock: Callable[[], Instant]) -> Store | None:
        """Make a new, empty store that goes by `clock` and answers without waiting.

        Only a store that lives in this process can do that; simulated worlds are then played on
        it. For others the answer is None.
        """
        return None

    def transaction(self, space: str) -> AbstractAsyncContextManager[Transaction]:
        """Open a transaction of the database, as a user would. Needed with TRANSACTIONS."""
        raise NotImplementedError(
            "the store has TRANSACTIONS: say in `transaction` how its user opens one"
        )

    async def restart_server(self) -> None:
        """Kill the server and start it again. Overridden only where the harness owns it.

        Called in the process that grades, at most once in a storm, while children of it are at
        work. Return when the server answers again, at the same address; do not block the event
        loop. A server that is dead already is only started.
        """

    def server(self) -> tuple[str, int] | None:
        """Host and port where the store's server listens. None for a store without a server.

        The process tier puts a proxy before it, which loses requests and replies. `connect` has
        to open the store at `self.address` then, which is that of the proxy.
        """
        return None

    @property
    def address(self) -> tuple[str, int]:
        """Where `connect` opens the store: the server, or the kit's proxy before it."""
        found = self._proxy or self.server()
        if found is None:
            raise NotImplementedError("say in `server` where your store's server listens")
        return found

    def test_rule(self, gnl_case: object, gnl_grading: object) -> None:
        """Run one case (called by pytest, through the kit's plugin)."""
        from gnl_conformance._pytest import grade_in_pytest  # noqa: PLC0415 - pytest is optional

        grade_in_pytest(self, gnl_case, gnl_grading)


def owns_its_time(harness: StoreConformance) -> bool:
    """True when ageing a space takes no real time."""
    return type(harness).age is not StoreConformance.age


def owns_its_server(harness: StoreConformance) -> bool:
    """True when the server may be killed under the store."""
    return type(harness).restart_server is not StoreConformance.restart_server


def behind_a_proxy(harness: StoreConformance, address: tuple[str, int]) -> StoreConformance:
    """Make `connect` go to a proxy from now on."""
    harness._proxy = address
    return harness


def check_declarations(harness: type[StoreConformance]) -> None:
    """Refuse a harness that declares what does not exist. Raises `ValueError`."""
    for rule in harness.deviations:
        if rule not in RULES:
            raise ValueError(f"{harness.__name__}.deviations names {rule!r}, which is no rule")
    for capability in harness.capabilities:
        if not isinstance(capability, Capability):
            raise ValueError(
                f"{harness.__name__}.capabilities has {capability!r}, which is no Capability"
            )
    for part in harness.parts:
        if not isinstance(part, Part):
            raise ValueError(f"{harness.__name__}.parts has {part!r}, which is no Part")
    if Part.JOBS not in harness.parts:
        raise ValueError(f"{harness.__name__}.parts is without Part.JOBS, which every store keeps")


def where(harness: type[StoreConformance]) -> str:
    """The harness as the command line and child processes name it: ``file.py:Class``."""
    return f"{inspect.getfile(harness)}:{harness.__qualname__}"
