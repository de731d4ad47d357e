"""Cases in which counting productive time by sums and differences of events goes wrong.

A partition cannot: every microsecond has one place. And the mission's run (see mission.py).
"""

from collections import Counter
from fractions import Fraction
from math import floor

import pytest
from build import (
    HOUR,
    Answers,
    Derive,
    allocated,
    ended,
    interrupted,
    loaded,
    started,
    step,
    steps,
    submitted,
)
from mission import three_weeks


def goodput(answers: Answers) -> Fraction:
    """Useful over wall."""
    return Fraction(answers.ledger().get("useful step", 0)) / Fraction(answers.total())


def test_an_outage_after_a_clean_stop_is_no_goodput(derive: Derive) -> None:
    # Ten steps of 10 s, 300 s of nothing, ten more: wall 500. The first of each ten is startup or
    # restart, so 18 × 10 = 180 are useful: 36 %, not the 100 % of "steps over steps".
    answers = derive(
        [allocated(0), allocated(390, 1), ended(500)], steps(0, 1, 10) + steps(400, 11, 20, 10, 1)
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 180,
        "restart detect unknown": 290,
        "restart launch unknown": 20,
    }
    assert goodput(answers) == Fraction(36, 100)


def test_a_restore_inside_the_preparation_counts_once(derive: Derive) -> None:
    # Prepared from 0 to 40; of that the restore takes 30 (10 to 40). First step at 50.
    answers = derive([allocated(0), started(10), loaded(40), ended(60)], steps(40, 1, 2))
    assert answers.ledger() == {
        "startup launch": 10,
        "startup load": 30,
        "startup first_step": 10,
        "useful step": 10,
    }


def test_a_restart_that_dies_in_initialisation_does_not_push_the_sum_over_the_wall(
    derive: Derive,
) -> None:
    # Attempt 1 initialises from 70 and is dead by 90; attempt 2 makes it by 140. Wall 150.
    answers = derive(
        [
            allocated(0),
            interrupted(60),
            allocated(70, 1),
            started(80, 1),
            interrupted(90, attempt=1),
            allocated(100, 2),
            started(110, 2),
            loaded(130, 2, after=5),
            ended(150),
        ],
        [*steps(0, 1, 5), *steps(130, 6, 7, 10, 2)],
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40 + 10,
        "restart detect hardware": 10,
        "restart requeue hardware": 10 + 10,
        "restart launch hardware": 10 + 10,
        "restart load hardware": 10 + 20,
        "restart first_step hardware": 10,
    }
    assert answers.total() == 150


def test_the_time_between_the_last_step_and_the_end_is_lost(derive: Derive) -> None:
    # 20 steps of 10 s, then 100 s to the end: 190 of 300.
    answers = derive([allocated(0), ended(300)], steps(0, 1, 20))
    assert answers.ledger()["unattributed tail"] == 100
    assert goodput(answers) == Fraction(190, 300)


def test_a_hang_that_fills_an_hour_leaves_no_goodput_in_it(derive: Derive) -> None:
    # Steps until 3600 on the hour, and then nothing until it is noticed at 7200.
    answers = derive([allocated(3500), interrupted(7200), ended(7300)], steps(3500, 1, 10))
    assert answers.hours()[1] == {"restart detect hardware": HOUR}


def test_a_step_that_hangs_for_an_hour_is_useful_for_its_usual_time(derive: Derive) -> None:
    # b = 10 from the job's expectation; step 11 lasts from 3600 to 7200.
    answers = derive(
        [submitted(0, expected_step_us=10_000_000), allocated(3500), ended(7200)],
        [*steps(3500, 1, 10), step(7200, 11, HOUR)],
    )
    assert answers.hours()[1] == {"useful step": 10, "unattributed slow_step": HOUR - 10}


def ten_hours() -> tuple[list[dict], list[dict]]:
    """Ten hours with a restart, a roll-back, loader time and steps over the hours."""
    lifecycle = [submitted(0), allocated(100), started(150), loaded(300)]
    lifecycle += [interrupted(4 * HOUR + 77), allocated(5 * HOUR - 3, 1), ended(10 * HOUR)]
    records = steps(300, 1, 200, 70, data_wait=3)
    return lifecycle, records + steps(5 * HOUR + 500, 190, 400, 80, 1, straggler=2)


def test_ten_adjacent_windows_sum_to_the_whole(derive: Derive) -> None:
    answers = derive(*ten_hours())
    hours = answers.hours()
    assert sorted(hours) == list(range(10))
    # Each hour sums to the wall inside it, and all hours to the whole, row by row.
    assert [sum(hours[n].values()) for n in range(10)] == [HOUR - 100] + [HOUR] * 9
    summed: Counter[str] = Counter()
    for rows in hours.values():
        summed.update(rows)
    assert summed == answers.ledger()


def test_ten_moments_of_asking_each_account_for_the_wall_so_far(derive: Derive) -> None:
    derive(*ten_hours())
    totals = [derive([], as_of=hour * HOUR).total() for hour in range(1, 11)]
    assert totals == [hour * HOUR - 100 for hour in range(1, 11)]


def test_asking_early_changes_nothing_of_what_is_known_in_the_end(derive: Derive) -> None:
    lifecycle, records = ten_hours()
    whole = derive(lifecycle, records).hours()
    derive([], as_of=3 * HOUR)
    assert derive([]).hours() == whole


# --- the mission's run ---


@pytest.fixture
def run(derive: Derive) -> Answers:
    """Three weeks of the mission's job."""
    return derive(*three_weeks())


def test_the_missions_run_has_a_goodput_of_81_percent(run: Answers) -> None:
    ledger = run.ledger()
    useful, lost = ledger.pop("useful step"), sum(ledger.values())
    assert run.wall() == (0, 504 * HOUR)
    assert (useful, lost) == (408 * HOUR, 96 * HOUR)
    # 408 / 504 = 17 / 21 = 80.95… %
    assert goodput(run) == Fraction(17, 21)
    assert floor(goodput(run) * 1000 + Fraction(1, 2)) == 810


def test_the_missions_run_is_45_6_hours_over_its_allowance(run: Answers) -> None:
    wall, useful = Fraction(run.total()), Fraction(run.ledger()["useful step"])
    allowed = wall / 10
    assert allowed == Fraction("50.4") * HOUR
    assert (wall - useful) - allowed == Fraction("45.6") * HOUR


def test_the_missions_run_says_what_its_lost_hours_went_into(run: Answers) -> None:
    # In units of ten minutes; by component over all causes: eleven times what a restart costs.
    by_component: Counter[str] = Counter()
    for label, seconds in run.ledger().items():
        category, component = label.split()[:2]
        by_component["startup" if category == "startup" else component] += seconds / 600
    assert by_component == {
        "step": 2_448,
        "startup": 4,
        "rework": 11 * 6,
        "detect": 11 * 3,
        "requeue": 11 * 36,
        "launch": 11 * 2,
        "load": 11 * 3,
        "first_step": 11 * 2,
    }


def test_the_missions_run_restarted_eleven_times(run: Answers) -> None:
    # From notice to first step 36 + 2 + 3 + 2 = 43 units of 600 s.
    restarts = run.restarts()
    assert [r["time_to_restart"] for r in restarts] == [43 * 600] * 11
    assert [r["lost_steps"] for r in restarts] == [6] * 11
    assert Counter(r["cause"] for r in restarts) == {
        "hardware": 3,
        "network": 3,
        "storage": 3,
        "preemption": 2,
    }
