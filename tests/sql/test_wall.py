"""Section 2: where a job's wall-clock starts and ends, and what suspensions take out of it."""

import pytest
from build import (
    Derive,
    allocated,
    ended,
    event,
    interrupted,
    resumed,
    started,
    step,
    steps,
    submitted,
    suspended,
    tick,
)


def test_the_wall_starts_at_the_first_allocation(derive: Derive) -> None:
    answers = derive(
        [submitted(0), allocated(100), allocated(150, 1), ended(300)], steps(110, 1, 3)
    )
    assert answers.wall() == (100, 300)


def test_the_wall_starts_at_the_first_steps_beginning_where_that_is_earlier(derive: Derive) -> None:
    # The step lasts from 10 to 20, the allocation was recorded at 15.
    answers = derive([allocated(15), ended(40)], [step(20, 1, 10)])
    assert answers.wall() == (10, 40)


def test_without_an_allocation_the_wall_starts_where_the_first_step_begins(derive: Derive) -> None:
    assert derive([ended(40)], [step(20, 1, 10)]).wall() == (10, 40)


def test_the_first_step_in_order_counts_not_the_earliest_beginning(derive: Derive) -> None:
    # Step 1 lasts from 15 to 20; step 2, which ends later, claims to have begun at 5.
    answers = derive([ended(40)], [step(20, 1, 5), step(30, 2, 25)])
    assert answers.wall() == (15, 40)


@pytest.mark.parametrize(
    ("first", "other", "start"),
    [
        # At one ts the lower attempt comes first: 20 − 2.
        (step(20, 5, 2, attempt=0), step(20, 4, 9, attempt=1), 18),
        # In one attempt the lower step number: 20 − 5.
        (step(20, 1, 5), step(20, 2, 3), 15),
        # The ts goes before both: 19 − 4.
        (step(19, 7, 4, attempt=1), step(20, 1, 9, attempt=0), 15),
    ],
)
def test_steps_are_ordered_by_ts_attempt_and_step(
    derive: Derive, first: dict, other: dict, start: float
) -> None:
    assert derive([ended(40)], [other, first]).wall() == (start, 40)


def test_a_first_step_over_midnight_starts_the_wall_in_the_day_before(derive: Derive) -> None:
    # It lasts from -2000 to 100 s: over the hour and the day.
    assert derive([ended(200)], [step(100, 1, 2100)]).wall() == (-2000, 200)


def test_the_wall_ends_at_the_latest_end(derive: Derive) -> None:
    answers = derive([allocated(0), ended(100, "failed"), ended(150)], steps(0, 1, 3))
    assert answers.wall() == (0, 150)


def test_an_allocation_later_than_the_end_keeps_the_wall_open(derive: Derive) -> None:
    # The end at 100 is not the last word: the wall lasts to as_of, 500.
    answers = derive([allocated(0), ended(100), allocated(120, 1), tick(500)], steps(0, 1, 3))
    assert answers.wall() == (0, 500)
    assert answers.facts()["state"] == "running"


def test_an_allocation_at_the_moment_of_the_end_does_not_reopen_the_wall(derive: Derive) -> None:
    answers = derive([allocated(0), ended(100), allocated(100, 1), tick(500)], steps(0, 1, 3))
    assert answers.wall() == (0, 100)
    assert answers.facts()["state"] == "completed"


def test_an_end_after_the_later_allocation_closes_the_wall_again(derive: Derive) -> None:
    lifecycle = [allocated(0), ended(100), allocated(120, 1), ended(200), tick(500)]
    assert derive(lifecycle, steps(0, 1, 3)).wall() == (0, 200)


@pytest.mark.parametrize(
    ("lifecycle", "records"),
    [
        ([tick(700)], []),
        ([event("job_submitted", 700, "other", tier="batch")], []),
        ([], [step(700, 1, 10, job="other")]),
    ],
    ids=["a record of no job", "another job's event", "another job's step"],
)
def test_without_an_end_the_wall_lasts_to_the_latest_ts_in_the_store(
    derive: Derive, lifecycle: list, records: list
) -> None:
    answers = derive([allocated(0), *lifecycle], steps(0, 1, 3) + records)
    assert answers.wall() == (0, 700)


def test_a_step_that_gave_way_to_another_of_its_key_moves_no_as_of(derive: Derive) -> None:
    # Step 2 at 90 came first; the one at 20 is smaller, and the other is quarantined.
    assert derive([allocated(0)], [step(10, 1), step(90, 2)]).wall() == (0, 90)
    assert derive([], [step(20, 2)]).wall() == (0, 20)


def test_only_ts_moves_as_of_not_the_announced_end_of_a_window(derive: Derive) -> None:
    window = event("maintenance_planned", 50, None, id="m", starts_us=0, ends_us=0)
    window |= {"starts_us": window["ts_us"], "ends_us": window["ts_us"] + 9_000_000_000}
    assert derive([allocated(0), window], steps(0, 1, 3)).wall() == (0, 50)


def test_nothing_later_than_a_given_as_of_is_read(derive: Derive) -> None:
    # Of steps that end at 10, 20, … 50 and the end at 100, as_of 35 leaves steps 1 to 3; the end
    # of step 4 lies later, so from 30 on there is a tail of 5 s.
    answers = derive([allocated(0), ended(100)], steps(0, 1, 5), as_of=35)
    assert answers.wall() == (0, 35)
    assert answers.ledger() == {"startup launch": 10, "useful step": 20, "unattributed tail": 5}


def test_a_record_at_a_given_as_of_is_read(derive: Derive) -> None:
    answers = derive([allocated(0), interrupted(30)], steps(0, 1, 5), as_of=30)
    assert answers.ledger() == {"startup launch": 10, "useful step": 20}
    (restart,) = answers.restarts()
    assert (restart["detected"], restart["outcome"]) == (30, "open")


def test_an_open_wall_lasts_to_an_as_of_later_than_the_store(derive: Derive) -> None:
    assert derive([allocated(0)], steps(0, 1, 3), as_of=1000).wall() == (0, 1000)


def test_a_given_as_of_does_not_lengthen_an_ended_wall(derive: Derive) -> None:
    assert derive([allocated(0), ended(60)], steps(0, 1, 3), as_of=1000).wall() == (0, 60)


def test_a_later_refresh_without_as_of_reads_everything_again(derive: Derive) -> None:
    derive([allocated(0), ended(100)], steps(0, 1, 5), as_of=35)
    # Useful: steps 2 to 5.
    assert derive([]).ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "unattributed tail": 50,
    }


# --- suspensions: allocated at 0, ended at 100, so 100 s less what they take ---


@pytest.mark.parametrize(
    ("changes", "total"),
    [
        pytest.param([suspended(50), resumed(80)], 70, id="from its start to the resumption"),
        pytest.param([suspended(50), suspended(60), resumed(80)], 70, id="a second inside one"),
        pytest.param([resumed(40), suspended(50), resumed(80)], 70, id="a resumption without one"),
        pytest.param([suspended(50), resumed(80), resumed(90)], 70, id="a second resumption"),
        pytest.param([suspended(50)], 50, id="never resumed"),
        pytest.param([suspended(50), resumed(60), suspended(80)], 70, id="again, never resumed"),
        pytest.param([suspended(-20), resumed(30)], 70, id="begun before the wall"),
        pytest.param([suspended(70), resumed(130)], 70, id="resumed after the wall"),
        pytest.param([suspended(-20), resumed(-10)], 100, id="over before the wall"),
        pytest.param([suspended(20), resumed(30), suspended(50), resumed(55)], 85, id="two"),
    ],
)
def test_suspended_time_is_no_wall(derive: Derive, changes: list, total: float) -> None:
    answers = derive([allocated(0), ended(100), *changes], [step(10, 1)])
    assert answers.wall() == (0, 100)
    assert answers.total() == total


def test_a_job_suspended_as_a_whole_has_a_wall_of_nothing(derive: Derive) -> None:
    answers = derive([suspended(-5), allocated(0), ended(100)], [step(10, 1)])
    assert answers.ledger() == {}


def test_a_suspension_cuts_the_hours_that_it_lies_in(derive: Derive) -> None:
    # Out from 3000 to 8000: hour 0 keeps 3000 s, hour 1 nothing, hour 2 2200 s up to 9400.
    answers = derive([allocated(0), suspended(3000), resumed(8000), ended(9400)], [step(10, 1)])
    by_hour = {hour: sum(rows.values()) for hour, rows in answers.hours().items()}
    assert by_hour == {0: 3000, 2: 9400 - 8000}


# --- no wall ---


@pytest.mark.parametrize(
    "lifecycle",
    [
        [submitted(0)],
        [submitted(0), started(10), interrupted(20)],
        [submitted(0), ended(50, "cancelled")],
    ],
    ids=["only submitted", "a process and an interruption", "cancelled in the queue"],
)
def test_a_job_without_allocation_and_step_has_no_wall(derive: Derive, lifecycle: list) -> None:
    answers = derive([*lifecycle, tick(1000)])
    assert answers.wall() == (None, None)
    assert answers.ledger() == {}


def test_an_allocation_at_the_very_end_is_a_wall_of_nothing(derive: Derive) -> None:
    answers = derive([allocated(100), ended(100), tick(500)])
    assert answers.wall() == (100, 100)
    assert answers.ledger() == {}


# --- fields of a job (section 1) ---


def test_a_job_was_submitted_at_the_earliest_submission_with_the_latest_attributes(
    derive: Derive,
) -> None:
    facts = derive(
        [submitted(20, tier="batch", tenant="b"), submitted(5, tier="interactive", tenant="a")]
    ).facts()
    assert (facts["submitted"], facts["tier"], facts["tenant"]) == (5, "batch", "b")


def test_an_attribute_that_the_latest_submission_does_not_name_stays(derive: Derive) -> None:
    facts = derive([submitted(5, tenant="a", gpus=8), submitted(20)]).facts()
    assert (facts["tenant"], facts["gpus"]) == ("a", 8)


@pytest.mark.parametrize(
    ("lifecycle", "gpus"),
    [
        ([submitted(0, gpus=8), allocated(1, gpus=16), allocated(2, 1, gpus=12)], 12),
        ([submitted(0, gpus=8), allocated(1, gpus=16), allocated(2, 1)], 16),
        ([submitted(0, gpus=8), allocated(1)], 8),
        ([submitted(0), allocated(1)], None),
    ],
    ids=["the latest allocation", "the latest that names them", "the submission", "not known"],
)
def test_gpus_are_those_of(derive: Derive, lifecycle: list, gpus: int | None) -> None:
    assert derive(lifecycle).facts()["gpus"] == gpus
