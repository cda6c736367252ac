from __future__ import annotations

import asyncio
import threading

import pytest

from gnl_core.errors import ExecutionRevokedError, RevokedWhy
from gnl_core.runtime import Signal


def error(why: RevokedWhy = RevokedWhy.CANCELED) -> ExecutionRevokedError:
    return ExecutionRevokedError(why)


def test_the_first_cause_wins_for_good() -> None:
    signal = Signal()
    assert signal._revoke(error(RevokedWhy.TIMEOUT))
    assert not signal._revoke(error(RevokedWhy.LEASE_LOST))
    assert signal.why is RevokedWhy.TIMEOUT
    assert repr(signal) == "<Signal timeout>"


def revoked_by_all_at_once(signal: Signal) -> list[RevokedWhy]:
    """Which of four threads, one for each cause, were told that theirs is the cause."""
    won: list[RevokedWhy] = []
    gate = threading.Barrier(len(RevokedWhy))

    def revoke(why: RevokedWhy) -> None:
        gate.wait()
        if signal._revoke(error(why)):
            won.append(why)

    threads = [threading.Thread(target=revoke, args=(why,)) for why in RevokedWhy]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won


def test_one_cause_wins_however_many_threads_revoke() -> None:
    for _ in range(200):
        signal = Signal()
        assert revoked_by_all_at_once(signal) == [signal.why]


def test_it_raises_on_request_only_when_revoked() -> None:
    signal = Signal()
    signal.raise_if_revoked()
    signal._revoke(error())
    with pytest.raises(ExecutionRevokedError) as raised:
        signal.raise_if_revoked()
    assert raised.value.why is RevokedWhy.CANCELED
    assert signal.error is raised.value


async def test_waiting_ends_with_a_revocation_from_another_thread() -> None:
    signal = Signal(asyncio.get_running_loop())
    waits = [asyncio.create_task(signal.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    threading.Thread(target=signal._revoke, args=(error(),)).start()
    assert {(await wait).why for wait in waits} == {RevokedWhy.CANCELED}
    assert (await signal.wait()).why is RevokedWhy.CANCELED


async def test_a_wait_that_is_given_up_leaves_nothing_behind() -> None:
    signal = Signal(asyncio.get_running_loop())
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(signal.wait(), 0.001)
    assert not signal._callbacks


async def test_callbacks_run_on_the_loop_once_and_can_be_taken_back() -> None:
    signal, called = Signal(asyncio.get_running_loop()), []
    signal.on_revoke(lambda: called.append("kept"))
    take_back = signal.on_revoke(lambda: called.append("taken back"))
    take_back()
    take_back()
    signal._revoke(error())
    assert called == []
    await asyncio.sleep(0)
    signal.on_revoke(lambda: called.append("late"))
    await asyncio.sleep(0)
    assert called == ["kept", "late"]


async def test_taking_one_callback_back_leaves_an_equal_one() -> None:
    signal, called = Signal(asyncio.get_running_loop()), []

    def callback() -> None:
        called.append(1)

    take_back = signal.on_revoke(callback)
    signal.on_revoke(callback)
    take_back()
    signal._revoke(error())
    await asyncio.sleep(0)
    assert called == [1]


def test_a_thread_can_wait_for_it() -> None:
    signal = Signal()
    assert not signal.wait_in_thread(0.001)
    threading.Timer(0.01, signal._revoke, [error()]).start()
    assert signal.wait_in_thread(20)
    assert signal.wait_in_thread()


def test_revoking_after_the_loop_was_closed_is_harmless() -> None:
    loop = asyncio.new_event_loop()
    signal = Signal(loop)
    signal.on_revoke(lambda: None)
    loop.close()
    assert signal._revoke(error())
