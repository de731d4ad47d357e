"""Section 3, steps: what a step paints, how its components lie in it, and the slow-step limit.

Unless said otherwise a job is allocated at 0, its first step completes at 10 (startup launch, 10 s)
and it ends at 100, so that after the last step there is a tail.
"""

import pytest
from build import (
    DAY,
    HOUR,
    Answers,
    Derive,
    Record,
    allocated,
    ended,
    resumed,
    step,
    steps,
    submitted,
    suspended,
)

FIRST = step(10, 1)


@pytest.fixture
def paint(derive: Derive):
    """Paint steps after a first one, with more lifecycle records where a case needs them."""

    def run(*records: Record, also: tuple[Record, ...] = ()) -> dict[str, float]:
        answers: Answers = derive([allocated(0), ended(100), *also], [FIRST, *records])
        found = answers.ledger()
        assert found.pop("startup launch") == 10
        return found

    return run


# --- where a step is painted ---


def test_the_first_step_of_an_attempt_is_not_painted(paint) -> None:
    assert paint() == {"unattributed tail": 90}


def test_a_step_is_painted_from_its_own_beginning(paint) -> None:
    # 20 to 30; the 10 s since the first step ended are a gap.
    assert paint(step(30, 2, 10)) == {
        "useful step": 10,
        "unattributed gap": 10,
        "unattributed tail": 70,
    }


def test_a_step_is_painted_from_the_end_of_the_step_before_it_where_that_is_later(paint) -> None:
    # Its own beginning is 5; the first step, though not painted, ends at 10.
    assert paint(step(30, 2, 25)) == {"useful step": 20, "unattributed tail": 70}


def test_a_step_that_ends_with_the_one_before_it_paints_nothing(paint) -> None:
    assert paint(step(20, 2), step(20, 3, 5)) == {"useful step": 10, "unattributed tail": 80}


def test_after_a_step_inside_another_the_next_is_painted_from_the_inner_end(paint) -> None:
    # In order of ts: 2 (10 to 20), 3 (18 to 22, painted from 20), 4 (5 to 40, painted from 22).
    found = paint(step(20, 2), step(22, 3, 4), step(40, 4, 35))
    assert found == {"useful step": 10 + 2 + 18, "unattributed tail": 60}


@pytest.mark.parametrize(
    ("duration", "useful", "gap"),
    [
        # Own beginning 10.000999: 0.999 ms after the end before it, so it is taken at 10.
        (9.999001, 10, 0),
        # 10.001000: 1 ms is a gap.
        (9.999, 9.999, 0.001),
        (9.5, 9.5, 0.5),
    ],
)
def test_a_beginning_less_than_a_millisecond_after_the_end_before_it_is_taken_there(
    paint, duration: float, useful: float, gap: float
) -> None:
    found = paint(step(20, 2, duration))
    assert (found["useful step"], found.get("unattributed gap", 0)) == (useful, gap)


def test_steps_shorter_than_a_millisecond_are_taken_at_the_end_before_them_too(paint) -> None:
    # Ends 10.0005 and 10.0014 with nothing measured: 0.5 and 0.9 ms after the end before.
    found = paint(step(10.0005, 2, 0), step(10.0014, 3, 0))
    assert found == {"useful step": 0.0014, "unattributed tail": 89.9986}


def test_a_step_begins_where_the_last_suspension_before_its_end_ended(paint) -> None:
    # Own beginning 10, suspended 15 to 25: painted 25 to 30; 10 to 15 is a gap, 15 to 25 no wall.
    assert paint(step(30, 2, 20), also=(suspended(15), resumed(25))) == {
        "useful step": 5,
        "unattributed gap": 5,
        "unattributed tail": 70,
    }


def test_of_two_suspensions_within_a_step_the_last_end_counts(paint) -> None:
    # Out: 12 to 14 and 20 to 22. Painted 22 to 30; gaps 10 to 12 and 14 to 20.
    also = (suspended(12), resumed(14), suspended(20), resumed(22))
    assert paint(step(30, 2, 20), also=also) == {
        "useful step": 8,
        "unattributed gap": 8,
        "unattributed tail": 70,
    }


def test_a_step_that_ends_in_a_suspension_is_painted_to_it(paint) -> None:
    # Painted 10 to 25; out 25 to 40; tail 40 to 100.
    assert paint(step(30, 2, 20), also=(suspended(25), resumed(40))) == {
        "useful step": 15,
        "unattributed tail": 60,
    }


def test_a_step_that_begins_and_ends_in_a_suspension_paints_nothing(paint) -> None:
    # 10 to 25 is a gap, out 25 to 40.
    assert paint(step(35, 2, 5), also=(suspended(25), resumed(40))) == {
        "unattributed gap": 15,
        "unattributed tail": 60,
    }


def test_a_step_that_ends_as_a_suspension_ends_begins_there_and_paints_nothing(paint) -> None:
    # The last suspension's end at or before its ts is its ts, 40.
    assert paint(step(40, 2, 30), also=(suspended(25), resumed(40))) == {
        "unattributed gap": 15,
        "unattributed tail": 60,
    }


def test_a_step_that_ends_as_a_suspension_begins_is_painted_whole(paint) -> None:
    assert paint(step(25, 2, 15), also=(suspended(25), resumed(40))) == {
        "useful step": 15,
        "unattributed tail": 60,
    }


def test_a_step_is_cut_at_the_end_of_the_wall(paint) -> None:
    # 95 to 105, the wall ends at 100.
    assert paint(step(105, 2, 10)) == {"unattributed gap": 85, "useful step": 5}


def test_a_step_after_the_end_of_the_wall_paints_nothing_in_it(paint) -> None:
    # Its ts is the job's last step, so the time before the end is a gap and no tail.
    assert paint(step(120, 2, 10)) == {"unattributed gap": 90}


def test_the_first_step_is_the_first_by_ts_not_the_lowest_number(derive: Derive) -> None:
    # Step 5 ends first, at 10, and is not painted; step 1 is.
    answers = derive([allocated(0), ended(20)], [step(10, 5), step(20, 1)])
    assert answers.ledger() == {"startup launch": 10, "useful step": 10}


def test_each_attempts_first_step_is_left_unpainted(derive: Derive) -> None:
    # Attempt 1's allocation at 20 comes right after progress, so nothing is left to detect; from
    # there to its first step at 35 the job is down for an unknown cause. Steps 2 and 4 are painted.
    answers = derive(
        [allocated(0), allocated(20, 1), ended(45)],
        [FIRST, step(20, 2), step(35, 3, 10, 1), step(45, 4, 10, 1)],
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 20,
        "restart launch unknown": 15,
    }


def test_steps_of_two_attempts_that_overlap_bound_each_other(derive: Derive) -> None:
    # Attempt 1's first step completes at 25 while step 3 of attempt 0 runs (20 to 30): in order of
    # ts step 3 follows it and is painted from 25. Progress ended at 20: 5 s of detection, unknown.
    answers = derive(
        [allocated(0), ended(30)], [FIRST, step(20, 2), step(25, 4, 3, 1), step(30, 3)]
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 10 + 5,
        "restart detect unknown": 5,
    }


# --- components ---


def test_components_are_taken_out_of_the_step(paint) -> None:
    found = paint(step(20, 2, data_wait=4, straggler=3, checkpoint=2, overhead=0.5))
    assert found == {
        "loader step": 4,
        "straggler step": 3,
        "checkpoint step": 2,
        "job overhead": 0.5,
        "useful step": 0.5,
        "unattributed tail": 80,
    }


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        # Each gets what those before it left of 10 s.
        ({"data_wait": 12, "straggler": 1}, {"loader step": 10}),
        (
            {"data_wait": 8, "straggler": 5, "checkpoint": 5},
            {"loader step": 8, "straggler step": 2},
        ),
        (
            {"straggler": 6, "checkpoint": 5, "overhead": 5},
            {"straggler step": 6, "checkpoint step": 4},
        ),
        ({"checkpoint": 7, "overhead": 5}, {"checkpoint step": 7, "job overhead": 3}),
        ({"overhead": 10}, {"job overhead": 10}),
    ],
)
def test_components_beyond_the_step_are_cut_in_their_order(
    paint, parts: dict, found: dict[str, float]
) -> None:
    assert paint(step(20, 2, **parts)) == found | {"unattributed tail": 80}


def test_components_are_cut_to_what_is_painted_not_to_the_duration(paint) -> None:
    # 20 s long, painted 10 (10 to 20): of 8 s loader and 8 s straggler 8 and 2 are left.
    assert paint(step(20, 2, 20, data_wait=8, straggler=8)) == {
        "loader step": 8,
        "straggler step": 2,
        "unattributed tail": 80,
    }


def test_components_lie_in_the_step_in_their_order(derive: Derive) -> None:
    # A step from 3595 to 3605 over the hour at 3600: loader to 3597, compute (10 − 6 = 4) to 3601,
    # straggler to 3602, checkpoint to 3604, overhead to 3605.
    answers = derive(
        [allocated(0), ended(3605)],
        [step(3595, 1, 5), step(3605, 2, data_wait=2, straggler=1, checkpoint=2, overhead=1)],
    )
    assert answers.hours() == {
        0: {"startup launch": 3595, "loader step": 2, "useful step": 3},
        1: {"useful step": 1, "straggler step": 1, "checkpoint step": 2, "job overhead": 1},
    }


@pytest.mark.parametrize(
    ("parts", "first_hour", "second_hour"),
    [
        # The hour turns 5 s into the step: in each of the components in turn.
        ({"data_wait": 7}, {"loader step": 5}, {"loader step": 2, "useful step": 3}),
        (
            {"data_wait": 1, "straggler": 8},
            {"loader step": 1, "useful step": 1, "straggler step": 3},
            {"straggler step": 5},
        ),
        (
            {"straggler": 2, "checkpoint": 8},
            {"straggler step": 2, "checkpoint step": 3},
            {"checkpoint step": 5},
        ),
        (
            {"checkpoint": 1, "overhead": 9},
            {"checkpoint step": 1, "job overhead": 4},
            {"job overhead": 5},
        ),
    ],
)
def test_a_component_is_cut_at_the_hour(
    derive: Derive, parts: dict, first_hour: dict, second_hour: dict
) -> None:
    answers = derive([allocated(3590), ended(3605)], [step(3595, 1, 5), step(3605, 2, **parts)])
    assert answers.hours() == {0: {"startup launch": 5} | first_hour, 1: second_hour}


def test_a_step_over_several_hours_and_midnight_is_cut_at_each(derive: Derive) -> None:
    # From 10 s before 22:00 to 30 s after midnight.
    begin, end = 22 * HOUR - 10, DAY + 30
    answers = derive(
        [allocated(begin - 5), ended(end)], [step(begin, 1, 5), step(end, 2, end - begin)]
    )
    assert answers.hours() == {
        21: {"startup launch": 5, "useful step": 10},
        22: {"useful step": 3600},
        23: {"useful step": 3600},
        24: {"useful step": 30},
    }


def test_a_step_that_ends_on_the_hour_belongs_to_the_hour_before(derive: Derive) -> None:
    answers = derive([allocated(3580), ended(3610)], [step(3590, 1), step(3600, 2), step(3610, 3)])
    assert answers.hours() == {
        0: {"startup launch": 10, "useful step": 10},
        1: {"useful step": 10},
    }


# --- the slow-step limit ---
# A job of steps whose compute is given in order; the first completes at 100 and is not measured.


def slow_seconds(derive: Derive, computes: list[float], **job: float) -> float:
    """Seconds of slow_step; what is not slow must be useful."""
    records, end = [step(100, 1)], 100.0
    for number, compute in enumerate(computes, start=2):
        end += compute
        records.append(step(end, number, compute))
    found = derive([submitted(0, **job), allocated(90), ended(end)], records).ledger()
    slow = found.get("unattributed slow_step", 0)
    assert found == {
        "startup launch": 10,
        "useful step": pytest.approx(sum(computes) - slow),
    } | ({"unattributed slow_step": slow} if slow else {})
    return slow


EXPECTED_2 = {"expected_step_us": 2_000_000}


@pytest.mark.parametrize(
    ("compute", "slow"),
    [
        # b = 2: the limit is 4; beyond it 2 are useful and the rest is slow.
        (4, 0),
        (4.000001, 2.000001),
        (10, 8),
    ],
)
def test_compute_longer_than_twice_the_expected_step_is_slow_beyond_once(
    derive: Derive, compute: float, slow: float
) -> None:
    # Ten steps, one of them slow: the 90th percentile (rank 9) is 2.
    assert slow_seconds(derive, [2] * 9 + [compute], **EXPECTED_2) == slow


def test_without_an_expectation_the_lower_median_is_the_baseline(derive: Derive) -> None:
    # 20 steps: rank 10 is 2 (rank 11 would be 3); rank 18, the 90th percentile, is 3 = 1.5 b.
    # The two of 4.5 exceed 4: 2.5 slow each. With b = 3 none would.
    assert slow_seconds(derive, [2] * 10 + [3] * 8 + [4.5] * 2) == 5


@pytest.mark.parametrize(
    ("normal", "slow"),
    [(18, 0), (19, 8)],
    ids=["19 steps after the first are too few", "20 are enough"],
)
def test_without_an_expectation_twenty_steps_after_the_first_are_needed(
    derive: Derive, normal: int, slow: float
) -> None:
    assert slow_seconds(derive, [10] + [2] * normal) == slow


def test_with_an_expectation_fewer_steps_are_enough(derive: Derive) -> None:
    assert slow_seconds(derive, [10] + [2] * 9, **EXPECTED_2) == 8


def test_steps_2_to_102_are_measured_and_later_ones_only_held_to_the_limit(derive: Derive) -> None:
    # 101 steps of 2 s give b = 2; the 150 of 10 s after them are all slow by 8. Were they measured,
    # the median would be 10.
    assert slow_seconds(derive, [2] * 101 + [10] * 150) == 150 * 8


def test_the_hundred_and_second_step_is_measured_still(derive: Derive) -> None:
    # Ranks: 50 of 2 s, 51 of 2.4 s, so of 101 the lower median (rank 51) is 2.4: step 102 decides.
    # The last has 4.5 s, less than 4.8; with b = 2 it would be slow.
    assert slow_seconds(derive, [2] * 50 + [2.4] * 51 + [4.5]) == 0


def test_an_expectation_of_nothing_is_none(derive: Derive) -> None:
    assert slow_seconds(derive, [10] + [2] * 18, expected_step_us=0) == 0


def test_an_expectation_of_nothing_leaves_the_median(derive: Derive) -> None:
    assert slow_seconds(derive, [10] + [2] * 19, expected_step_us=0) == 8


def test_a_baseline_of_nothing_sets_no_limit(derive: Derive) -> None:
    # 20 steps of loader alone (compute 0) and one of 10 s: the median is 0.
    loading = [step(100 + n, n + 1, 1, data_wait=1) for n in range(1, 21)]
    answers = derive([allocated(90), ended(130)], [step(100, 1), *loading, step(130, 22, 10)])
    assert answers.ledger() == {"startup launch": 10, "loader step": 20, "useful step": 10}


@pytest.mark.parametrize(
    ("other", "slow"),
    [
        # Of 20 the 90th percentile is rank 18, one of the four; the limit is 1.5 × 2 = 3.
        (3, 8),
        (3.000001, 0),
    ],
    ids=["a 90th percentile of 1.5 b", "one above it: the steps differ by nature"],
)
def test_steps_that_differ_by_nature_have_no_limit(
    derive: Derive, other: float, slow: float
) -> None:
    assert slow_seconds(derive, [2] * 15 + [other] * 4 + [10]) == slow


def test_steps_that_differ_by_nature_have_no_limit_under_an_expectation_either(
    derive: Derive,
) -> None:
    # Of 10 the 90th percentile is rank 9, 3.1 > 3.
    assert slow_seconds(derive, [2] * 8 + [3.1, 10], **EXPECTED_2) == 0


def test_the_limit_is_on_compute_not_on_the_step(derive: Derive) -> None:
    # The tenth step lasts 10 s, 6 of them loader: compute 4 is not longer than 2 b.
    records = [step(10, 1), *steps(10, 2, 10, 2), step(38, 11, 10, data_wait=6)]
    answers = derive([submitted(0, **EXPECTED_2), allocated(0), ended(38)], records)
    assert answers.ledger() == {"startup launch": 10, "useful step": 9 * 2 + 4, "loader step": 6}


def test_a_step_that_paints_nothing_counts_among_the_twenty(derive: Derive) -> None:
    # Steps 2 to 21: 18 of 2 s, one of 10 s, and one that ends with the step before it (d = 0).
    records = [step(10, 1), *steps(10, 2, 19, 2), step(46, 20, 1), step(56, 21)]
    answers = derive([allocated(0), ended(56)], records)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 18 * 2 + 2,
        "unattributed slow_step": 8,
    }


def test_superseded_steps_count_among_the_twenty(derive: Derive) -> None:
    # Attempt 0: step 2 of 10 s, steps 3 to 21 of 2 s (38 s): 20 measured, so step 2 is slow by 8.
    # Attempt 1 resumes after step 11: steps 12 to 21, 20 s, are lost.
    records = [step(10, 1), step(20, 2), *steps(20, 3, 21, 2), step(68, 12, 10, 1)]
    answers = derive([allocated(0), allocated(58, 1), ended(68)], records)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 2 + 9 * 2,
        "unattributed slow_step": 8,
        "restart rework unknown": 20,
        "restart launch unknown": 10,
    }


def test_a_superseded_step_is_rework_however_slow(derive: Derive) -> None:
    # Step 11, 10 s with b = 2, is lost to attempt 1: all of it is rework.
    records = [step(10, 1), *steps(10, 2, 10, 2), step(38, 11), step(50, 11, 10, 1)]
    answers = derive(
        [submitted(0, **EXPECTED_2), allocated(0), allocated(38, 1), ended(50)], records
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 18,
        "restart rework unknown": 10,
        "restart launch unknown": 12,
    }


def test_each_attempt_is_measured_by_itself(derive: Derive) -> None:
    # 21 steps of 2 s in attempt 0, then 21 of 10 s in attempt 1: slow by no measure of its own.
    records = [step(10, 1), *steps(10, 2, 22, 2), step(62, 23, 10, 1), *steps(62, 24, 44, 10, 1)]
    answers = derive([allocated(0), allocated(52, 1), ended(272)], records)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 21 * 2 + 21 * 10,
        "restart launch unknown": 10,
    }


def test_what_a_step_was_too_slow_lies_after_its_useful_part(derive: Derive) -> None:
    # b = 2. Step 11 lasts from 3594 to 3606: loader 1, compute 9 and straggler 2, in this order.
    # Of the compute 2 are useful (3595 to 3597), 7 slow (to 3604): 3 before the hour, 4 after it.
    records = [step(3576, 1, 5), *steps(3576, 2, 10, 2)]
    records += [step(3606, 11, 12, data_wait=1, straggler=2)]
    answers = derive([submitted(0, **EXPECTED_2), allocated(3571), ended(3606)], records)
    assert answers.hours() == {
        0: {
            "startup launch": 5,
            "loader step": 1,
            "useful step": 9 * 2 + 2,
            "unattributed slow_step": 3,
        },
        1: {"unattributed slow_step": 4, "straggler step": 2},
    }
