"""Section 3, superseded steps: which steps were lost to a later attempt, and to what.

Attempt 0 trains steps back to back, 10 s each, from 0 on; its first step is startup.
"""

import pytest
from build import (
    HOUR,
    Derive,
    Record,
    allocated,
    ended,
    interrupted,
    loaded,
    step,
    steps,
)


def rework(found: dict[str, float]) -> dict[str, float]:
    """The rework rows, by category and cause."""
    return {label: s for label, s in found.items() if " rework " in label}


def resumes(begin: float, first: int, attempt: int = 1) -> list[Record]:
    """The attempt's one and only step: it resumes after the step before."""
    return [step(begin + 10, first, 10, attempt)]


def test_steps_after_the_one_that_a_later_attempt_resumes_at_are_rework(derive: Derive) -> None:
    # Steps 2 to 5 are painted from 10 to 50; attempt 1 begins with step 4: 4 and 5 are lost.
    # Noticed at 60, allocated at 70, first step at 90.
    answers = derive(
        [allocated(0), interrupted(60), allocated(70, 1), ended(90)],
        steps(0, 1, 5) + resumes(80, 4),
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 20,
        "restart rework hardware": 20,
        "restart detect hardware": 10,
        "restart requeue hardware": 10,
        "restart launch hardware": 20,
    }


def test_an_attempt_that_goes_on_after_the_last_step_supersedes_none(derive: Derive) -> None:
    answers = derive([allocated(0), interrupted(50), ended(90)], steps(0, 1, 5) + resumes(80, 6))
    assert rework(answers.ledger()) == {}


def test_the_lowest_step_number_of_the_later_attempt_decides_not_its_first(derive: Derive) -> None:
    # Attempt 1 completes step 6 first and step 4 later: it resumed after 3.
    answers = derive(
        [allocated(0), interrupted(50), ended(90)],
        [*steps(0, 1, 5), step(70, 6, 10, 1), step(80, 4, 10, 1)],
    )
    assert rework(answers.ledger()) == {"restart rework hardware": 20}


def test_an_earlier_attempt_supersedes_nothing_of_a_later_one(derive: Derive) -> None:
    # Attempt 0 began at step 1, which is lower than any of attempt 1's.
    answers = derive([allocated(0), ended(90)], [*steps(0, 1, 3), *steps(30, 4, 6, 10, 1)])
    assert rework(answers.ledger()) == {}


@pytest.mark.parametrize(
    ("cause", "category"),
    [
        ("hardware", "restart"),
        ("network", "restart"),
        ("storage", "restart"),
        ("software", "restart"),
        ("unknown", "restart"),
        ("preemption", "preemption"),
        ("maintenance", "maintenance"),
        ("job_error", "job"),
    ],
)
def test_rework_has_the_category_of_its_cause(derive: Derive, cause: str, category: str) -> None:
    answers = derive(
        [allocated(0), interrupted(50, cause), ended(90)], steps(0, 1, 5) + resumes(80, 4)
    )
    assert rework(answers.ledger()) == {f"{category} rework {cause}": 20}


def test_rework_that_no_interruption_explains_is_unknown(derive: Derive) -> None:
    answers = derive([allocated(0), ended(90)], steps(0, 1, 5) + resumes(80, 4))
    assert rework(answers.ledger()) == {"restart rework unknown": 20}


def test_a_deliberate_rollback_is_the_jobs_own(derive: Derive) -> None:
    # An interruption was recorded as well: the owner's choice goes before it.
    answers = derive(
        [allocated(0), interrupted(50), loaded(70, 1, after=3, deliberate=True), ended(90)],
        steps(0, 1, 5) + resumes(80, 4),
    )
    assert rework(answers.ledger()) == {"job rework rollback": 20}


def test_a_load_that_was_not_deliberate_changes_no_cause(derive: Derive) -> None:
    answers = derive(
        [allocated(0), interrupted(50), loaded(70, 1, after=3, deliberate=False), ended(90)],
        steps(0, 1, 5) + resumes(80, 4),
    )
    assert rework(answers.ledger()) == {"restart rework hardware": 20}


def test_only_the_attempt_that_took_over_can_have_chosen_it(derive: Derive) -> None:
    # Attempt 1 took over after step 3; attempt 2 chose to go back to 2, which loses attempt 0's
    # step 3 too, but all lost steps of attempt 0 have the cause of B = attempt 1.
    answers = derive(
        [allocated(0), interrupted(50), loaded(85, 2, after=2, deliberate=True), ended(100)],
        [*steps(0, 1, 5), *resumes(70, 4), *resumes(90, 3, attempt=2)],
    )
    assert rework(answers.ledger()) == {"restart rework hardware": 30}


def test_all_lost_steps_of_an_attempt_have_the_cause_of_the_first_to_take_over(
    derive: Derive,
) -> None:
    # Attempt 1 goes back to 8 after hardware, attempt 2 to 3 after network: attempt 0 (2 to 10
    # painted) keeps 2 and 3; 4 to 10 are lost, all to hardware. Attempt 1's 10, its second step,
    # is lost to network (its first, 9, is not painted).
    answers = derive(
        [allocated(0), interrupted(100), interrupted(140, "network", 1), ended(200)],
        [*steps(0, 1, 10), *steps(110, 9, 10, 10, 1), *resumes(150, 4, attempt=2)],
    )
    assert rework(answers.ledger()) == {
        "restart rework hardware": 70,
        "restart rework network": 10,
    }


def test_an_attempt_that_lost_nothing_of_it_is_passed_over(derive: Derive) -> None:
    # Attempt 1 goes on at 11, attempt 2 back to 8: attempt 0's 9 and 10 are lost to B = attempt 2,
    # and the first interruption of attempts 0 and 1 is attempt 0's. Attempt 1's 12 to 15 (11 is
    # its first) are lost to its own.
    answers = derive(
        [allocated(0), interrupted(100), interrupted(170, "network", 1), ended(200)],
        [*steps(0, 1, 10), *steps(110, 11, 15, 10, 1), *resumes(180, 9, attempt=2)],
    )
    assert rework(answers.ledger()) == {
        "restart rework hardware": 20,
        "restart rework network": 40,
    }


def test_the_first_interruption_by_ts_counts_whichever_attempt_it_is_of(derive: Derive) -> None:
    # Attempt 0 completed steps 1 to 5, attempt 1 none; attempt 2 took over after step 3. Attempt
    # 1's interruption is stamped 60, attempt 0's 65.
    answers = derive(
        [allocated(0), interrupted(65, "hardware", 0), interrupted(60, "storage", 1), ended(90)],
        steps(0, 1, 5) + resumes(80, 4, attempt=2),
    )
    assert rework(answers.ledger()) == {"restart rework storage": 20}


@pytest.mark.parametrize(
    "other",
    [interrupted(5, "preemption", 1), interrupted(95, "preemption", 1)],
    ids=["by ts before all", "after it"],
)
def test_an_interruption_of_the_attempt_that_took_over_is_no_cause(
    derive: Derive, other: Record
) -> None:
    answers = derive([allocated(0), other, ended(100)], steps(0, 1, 5) + resumes(80, 4))
    assert rework(answers.ledger()) == {"restart rework unknown": 20}


def test_an_interruption_of_an_attempt_before_it_is_no_cause(derive: Derive) -> None:
    # Attempt 1 loses steps; only attempt 0 was interrupted.
    answers = derive(
        [allocated(0), interrupted(20), ended(100)],
        [*steps(0, 1, 2), *steps(30, 3, 6, 10, 1), *resumes(80, 5, attempt=2)],
    )
    assert rework(answers.ledger()) == {"restart rework unknown": 20}


def test_the_other_components_of_a_lost_step_stay_what_they_are(derive: Derive) -> None:
    # Step 2 is lost: of its 10 s 1 is loader, 2 straggler, 3 checkpoint, 1.5 overhead.
    lost = step(20, 2, data_wait=1, straggler=2, checkpoint=3, overhead=1.5)
    answers = derive(
        [allocated(0), interrupted(20), ended(40)], [step(10, 1), lost, *resumes(30, 2)]
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "loader step": 1,
        "straggler step": 2,
        "checkpoint step": 3,
        "job overhead": 1.5,
        "restart rework hardware": 2.5,
        "restart requeue hardware": 20,
    }


def test_a_rollback_over_midnight_changes_the_day_before(derive: Derive) -> None:
    # Steps of 600 s from 23:00: 1 ends at 23:10, 6 at midnight, 12 at 01:00.
    kept = derive([allocated(23 * HOUR)], steps(23 * HOUR, 1, 12, 600))
    assert kept.hours() == {
        23: {"startup launch": 600, "useful step": 5 * 600},
        24: {"useful step": 6 * 600},
    }
    # At 02:00 attempt 1 has completed step 4: 4 to 12 are lost, 4, 5 and 6 of them in hour 23.
    lost = derive([interrupted(25 * HOUR), ended(26 * HOUR)], [step(26 * HOUR, 4, 600, 1)])
    assert lost.hours() == {
        23: {
            "startup launch": 600,
            "useful step": 2 * 600,
            "restart rework hardware": 3 * 600,
        },
        24: {"restart rework hardware": 6 * 600},
        25: {"restart requeue hardware": HOUR},
    }


def test_rework_is_cut_at_the_hour(derive: Derive) -> None:
    # Step 2 lasts from 3595 to 3605 and is lost; 2 s of loader lie before its compute.
    answers = derive(
        [allocated(3585), interrupted(3605), ended(3625)],
        [step(3595, 1), step(3605, 2, data_wait=2), *resumes(3615, 2)],
    )
    assert answers.hours() == {
        0: {"startup launch": 10, "loader step": 2, "restart rework hardware": 3},
        1: {"restart rework hardware": 5, "restart requeue hardware": 20},
    }
