"""Which server to use: one that is given, one asked for by its way, or the first that works."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeAlias

from gnl_conformance._violation import NotRun
from gnl_conformance.servers._given import GivenServer
from gnl_conformance.servers._private import Server

Way: TypeAlias = Callable[[], Server]
"""Makes a server, not started yet. Raises `NotRun` that says what is missing here."""


def find_server(kind: str, ways: Mapping[str, Way]) -> Server:
    """The server of this kind, running; `ways` by name, in the order in which they are tried.

    Raises `NotRun` if no way works, `RuntimeError` if the one asked for does not, and
    `ValueError` if what is asked for makes no sense.
    """
    asked, given = os.environ.get(way_setting(kind)), os.environ.get(url_setting(kind))
    if asked and asked not in ways:
        raise ValueError(f"{way_setting(kind)}={asked!r} is not one of {', '.join(ways)}")
    handed_down = os.environ.get(handed_down_setting(kind))
    if handed_down and not given:
        return GivenServer(handed_down)
    if asked and given:
        raise ValueError(
            f"{url_setting(kind)} gives a server, and {way_setting(kind)}={asked!r} asks for "
            "another one: unset one of the two"
        )
    if given:
        return GivenServer(given)
    if asked:
        return _the_one(kind, asked, ways[asked])
    return _first(kind, ways)


def _the_one(kind: str, name: str, way: Way) -> Server:
    try:
        return _started(way)
    except NotRun as missing:
        raise RuntimeError(
            f"{way_setting(kind)} asks for a {name} server, and there is none: {missing}"
        ) from missing


def _first(kind: str, ways: Mapping[str, Way]) -> Server:
    missing = []
    for name, way in ways.items():
        try:
            return _started(way)
        except NotRun as reason:
            missing.append(f"{name}: {reason}")
    raise NotRun(f"no {kind} server: set {url_setting(kind)}, or see to one ({'; '.join(missing)})")


def _started(way: Way) -> Server:
    server = way()
    server.start()
    return server


def url_setting(kind: str) -> str:
    """The variable that gives a server."""
    return f"GNL_TEST_{kind.upper()}_URL"


def way_setting(kind: str) -> str:
    """The variable that asks for a way."""
    return f"GNL_TEST_{kind.upper()}"


def image_setting(kind: str) -> str:
    """The variable that names the image of containers."""
    return f"GNL_TEST_{kind.upper()}_IMAGE"


def handed_down_setting(kind: str) -> str:
    """The variable by which child processes learn of the server."""
    return f"GNL_CONFORMANCE_{kind.upper()}_URL"
