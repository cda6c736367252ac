from __future__ import annotations

import pytest

from gnl_core.runtime._pace import ClaimAhead, IdleWait, room


def test_an_idle_wait_doubles_up_to_its_cap() -> None:
    wait = IdleWait(0.2, 6.4, lambda: 0.0)
    assert [wait.next() for _ in range(8)] == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 6.4, 6.4]


def test_jitter_takes_off_up_to_a_quarter_and_never_adds() -> None:
    wait = IdleWait(1, 4, lambda: 1.0)
    assert [wait.next() for _ in range(4)] == [0.75, 1.5, 3.0, 3.0]


def test_a_reset_starts_again_from_the_shortest() -> None:
    wait = IdleWait(1, 4, lambda: 0.0)
    wait.next()
    wait.next()
    wait.reset()
    assert wait.next() == 1


def test_nothing_is_held_ahead_before_anything_has_finished() -> None:
    ahead = ClaimAhead(100)
    assert ahead.jobs() == 0
    ahead.observe(0, 10, 5)
    assert ahead.jobs() == 0


def test_what_is_held_ahead_is_three_times_what_finishes_within_a_claim() -> None:
    ahead = ClaimAhead(1_000)
    for _ in range(50):
        ahead.observe(100, 0.010, 0.003)  # 10,000 a second
    assert ahead.jobs() == pytest.approx(90, abs=1)


def test_long_handlers_have_nothing_held_ahead() -> None:
    ahead = ClaimAhead(100)
    for _ in range(50):
        ahead.observe(10, 1.0, 0.003)
    assert ahead.jobs() == 0


def test_no_more_is_held_ahead_than_allowed() -> None:
    ahead = ClaimAhead(7)
    for _ in range(50):
        ahead.observe(100, 0.010, 0.1)
    assert ahead.jobs() == 7


def test_slots_that_run_dry_during_claims_have_more_held_ahead_each_time() -> None:
    ahead, held = ClaimAhead(100), []
    for _ in range(12):
        ahead.observe(10 + ahead.jobs(), 0.0032, 0.003)
        held.append(ahead.jobs())
    assert held == sorted(held)
    assert held[-1] == 100


def test_a_reset_holds_nothing_ahead_until_something_finishes() -> None:
    ahead = ClaimAhead(100)
    ahead.observe(100, 0.01, 0.01)
    assert ahead.jobs() > 0
    ahead.reset()
    assert ahead.jobs() == 0


@pytest.mark.parametrize(
    ("ahead", "waiting", "running", "expected"),
    [
        (0, 0, 0, 10),
        (0, 0, 9, 1),
        (0, 0, 10, 0),
        (60, 0, 0, 70),
        (60, 40, 10, 20),  # a third of it is used up
        (60, 41, 10, 0),
        (60, 31, 9, 30),
        (0, 5, 10, 0),
        (3, 40, 10, 0),  # held from a time with shorter handlers
        (3, 40, 9, 0),
    ],
)
def test_there_is_room_for_free_slots_and_once_a_third_of_what_is_ahead_is_used(
    ahead: int, waiting: int, running: int, expected: int
) -> None:
    assert room(concurrency=10, ahead=ahead, waiting=waiting, running=running) == expected
