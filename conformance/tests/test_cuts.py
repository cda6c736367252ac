"""Connections cut between a request and its reply: the proxy, and what only it brings out."""

import contextlib
import gc
import socket
import socketserver
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from gnl_conformance import Capability, StoreConformance, grade
from gnl_conformance._case import Case, chosen, kept
from gnl_conformance.mutants.network import NetworkConformance
from gnl_conformance.mutants.reference import FileConformance
from gnl_conformance.mutants.registry import Mutant, all_mutants
from gnl_conformance.process.proxy import Proxy, Strike
from gnl_conformance.servers import address_of, at_address
from gnl_core.memory import MemoryStore

CUTS = [
    case
    for case in chosen(["process"])
    if getattr(case.body, "func", case.body).__module__ == "gnl_conformance.cases.cut"
]
MUTANTS = [mutant for mutant in all_mutants() if issubclass(mutant.harness, NetworkConformance)]


class Echo(socketserver.BaseRequestHandler):
    """Writes down what it gets, and gives it back."""

    got: list[bytes]

    def handle(self) -> None:
        while data := self.request.recv(100):
            self.got.append(data)
            self.request.sendall(data)


@pytest.fixture
def echo() -> Iterator[tuple[tuple[str, int], list[bytes]]]:
    got: list[bytes] = []
    kind = type("Listed", (Echo,), {"got": got})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        yield server.server_address, got
        server.shutdown()


def ask(client: socket.socket, data: bytes) -> bytes:
    """What comes back; nothing if the connection was cut."""
    try:
        client.sendall(data)
        return client.recv(100)
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    ("strike", "arrives"),
    [(Strike.LOSE_REPLY, [b"two2"]), (Strike.LOSE_REQUEST, []), (Strike.TEAR_REQUEST, [b"tw"])],
)
def test_a_connection_is_cut_at_the_turn_that_was_told(
    echo: tuple[tuple[str, int], list[bytes]], strike: Strike, arrives: list[bytes]
) -> None:
    address, got = echo
    with Proxy(address, 0, stall=0.0) as proxy:
        with socket.create_connection(proxy.address) as client:
            assert ask(client, b"zero") == b"zero"
            proxy.aim(strike, 2)
            assert ask(client, b"one1") == b"one1"
            assert ask(client, b"two2") == b""
            assert proxy.hit()
        with socket.create_connection(proxy.address) as client:
            assert ask(client, b"again") == b"again"
    assert got == [b"zero", b"one1", *arrives, b"again"]
    assert (proxy.connections, proxy.counts) == (2, {strike: 1})


def test_a_turn_that_does_not_come_is_no_hit(echo: tuple[tuple[str, int], list[bytes]]) -> None:
    with (
        Proxy(echo[0], 0, stall=0.0) as proxy,
        socket.create_connection(proxy.address) as client,
    ):
        proxy.aim(Strike.LOSE_REPLY, 2)
        assert ask(client, b"one") == b"one"
        assert not proxy.hit()
        assert ask(client, b"two") == b"two"


def test_a_proxy_that_ends_leaves_no_open_connection(
    echo: tuple[tuple[str, int], list[bytes]],
) -> None:
    with Proxy(echo[0], 0, stall=0.0) as proxy:
        clients = [socket.create_connection(proxy.address) for _ in range(20)]
    for client in clients:
        with client:
            client.settimeout(10)
            with contextlib.suppress(ConnectionError):
                assert client.recv(1) == b""
    gc.collect()  # pytest makes a socket that was left open a failure here


def turns_until_a_cut(address: tuple[str, int], seed: int) -> list[int]:
    """For each of five connections, how many turns it answered."""
    found = []
    with Proxy(address, seed, stall=0.0) as proxy:
        proxy.strikes = True
        for _ in range(5):
            with socket.create_connection(proxy.address) as client:
                turns = 0
                while ask(client, b"x"):
                    turns += 1
                found.append(turns)
    return found


def test_choices_depend_on_the_seed(echo: tuple[tuple[str, int], list[bytes]]) -> None:
    first = turns_until_a_cut(echo[0], 7)
    assert first == turns_until_a_cut(echo[0], 7)
    assert first != turns_until_a_cut(echo[0], 8)


def test_a_server_that_is_away_cuts_the_connection() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with (
            Proxy(bound.getsockname(), 0, stall=0.0) as proxy,
            socket.create_connection(proxy.address) as client,
        ):
            assert ask(client, b"x") == b""


def outcome(harness: type[StoreConformance], case: Case) -> tuple[str, str]:
    one = harness()
    one.seconds = 5.0
    found = grade(one, case)
    return found.outcome, found.why


def test_the_reference_behind_a_socket_keeps_every_rule() -> None:
    one = NetworkConformance()
    one.seconds = 5.0
    grades = [grade(one, case) for case in kept(chosen(["process"]), one.parts)]
    assert [found for found in grades if found.outcome != "passed"] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_nothing_but_a_cut_brings_it_out(mutant: Mutant) -> None:
    of_rule = kept(chosen(["process"], [mutant.rule]), mutant.harness.parts)
    found = {case.name: outcome(mutant.harness, case) for case in of_rule if case not in CUTS}
    assert found
    assert {name: one for name, one in found.items() if one[0] != "passed"} == {}
    cut = [outcome(mutant.harness, case) for case in of_rule if case in CUTS]
    assert any(how == "failed" and mutant.fragment in why for how, why in cut), cut


def test_a_store_without_a_server_has_nothing_to_cut() -> None:
    for case in CUTS:
        how, why = outcome(FileConformance, case)
        assert (how, why) == (
            "not-applicable",
            "the harness names no server: there is no connection that could be cut",
        )


class Silent(NetworkConformance):
    """Has a server and does not say where."""

    @asynccontextmanager
    async def connect(self, space: str) -> AsyncIterator[MemoryStore]:
        self._proxy = NetworkConformance().server()
        async with super().connect(space) as store:
            yield store

    def server(self) -> tuple[str, int] | None:
        return None


def test_a_server_that_is_kept_secret_is_not_run() -> None:
    assert Capability.SERVER_CLOCK in Silent.capabilities
    how, why = outcome(Silent, CUTS[0])
    assert how == "not-run"
    assert "override `server`" in why


class GoesPast(NetworkConformance):
    """Opens the store at the server, whatever the kit says."""

    @property
    def address(self) -> tuple[str, int]:
        address = self.server()
        assert address is not None
        return address


def test_a_store_that_goes_past_the_proxy_is_told_so() -> None:
    for case in CUTS:
        if case.name.startswith("an_"):
            how, why = outcome(GoesPast, case)
            assert how == "error"
            assert "no connection came through the proxy: `connect` of GoesPast must open" in why


def test_a_url_is_given_another_place() -> None:
    url = "mysql://me:p%40ss@db:13306/base?charset=utf8"
    assert address_of(url, 3306) == ("db", 13306)
    assert at_address(url, ("127.0.0.1", 1)) == "mysql://me:p%40ss@127.0.0.1:1/base?charset=utf8"
    assert at_address("redis://localhost", ("::1", 1)) == "redis://[::1]:1"
    assert address_of("redis://localhost", 6379) == ("localhost", 6379)
    assert address_of("postgresql:///base?host=/run", 5432) is None
