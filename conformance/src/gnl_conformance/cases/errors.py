"""What a store raises: errors of its own, and never those of its driver."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from gnl_conformance._case import case
from gnl_conformance._trial import LONG, Trial, job
from gnl_core.spi import (
    Done,
    Hold,
    JobState,
    OneLane,
    Outcome,
    Store,
    StoreError,
    StoreRejected,
)

Part = TypeVar("Part")

_CALLS: dict[str, Callable[[Store], Awaitable[object]]] = {
    "now": lambda s: s.now(),
    "add": lambda s: s.jobs.add([job("x")]),
    "claim": lambda s: s.jobs.claim(("work",), 1, LONG, "w", max_attempts=5),
    "extend": lambda s: s.jobs.extend([Hold(1, 1)], LONG),
    "settle": lambda s: s.jobs.settle([Outcome(Hold(1, 1), Done("1"))]),
    "cancel": lambda s: s.jobs.cancel(None, "x"),
    "revive": lambda s: s.jobs.revive(None, "x"),
    "get": lambda s: s.jobs.get(None, "x"),
    "page": lambda s: s.jobs.page(OneLane(None), None, 5),
    "depth": lambda s: s.jobs.depth(None),
    "lanes": lambda s: s.jobs.lanes(),
    "prune": lambda s: s.jobs.prune([JobState.DONE], keep=0),
}


@case("store.errors")
async def an_unknown_connection_is_rejected(t: Trial) -> None:
    rejected = False
    try:
        await t.jobs.add([job("x")], connection=object())
    except StoreRejected:
        rejected = True
    t.check(rejected, "a connection of an unknown kind was not rejected")
    t.equal(await t.jobs.get(None, "x"), None, "the job of a rejected call")


@case("store.errors")
async def calls_without_tables_are_rejected_if_they_need_them(t: Trial) -> None:
    space = f"{t.space}bare"
    try:
        async with t.harness.connect(space) as store:
            await call_all(t, store, _CALLS, "before an upgrade", StoreRejected)
    finally:
        await t.harness.drop(space)


@case("store.errors")
async def calls_on_a_closed_handle_raise_no_error_of_a_driver(t: Trial) -> None:
    async with t.harness.connect(t.space) as store:
        await store.close()
        await call_all(t, store, _CALLS, "on a closed handle", StoreError)


async def call_all(
    t: Trial,
    on: Part,
    calls: Mapping[str, Callable[[Part], Awaitable[object]]],
    when: str,
    allowed: type[StoreError],
) -> None:
    """Each call may answer, or raise what is allowed."""
    for name, call in calls.items():
        raised = await _raised(call, on)
        t.check(
            raised is None or isinstance(raised, allowed),
            f"`{name}` {when} raised {raised!r}: only {allowed.__name__} may come out here",
        )


async def _raised(call: Callable[[Part], Awaitable[object]], on: Part) -> Exception | None:
    try:
        await call(on)
    except NotImplementedError:
        raise
    except Exception as error:
        return error
    return None
