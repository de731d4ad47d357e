"""Section 3, non-step time: what each boundary begins, in which order they are taken, and how
progress ends.

Unless said otherwise a job is allocated at 0 and completes steps 1 to 5 of attempt 0 at 10, 20, …
50: startup (launch) 10, useful 40.
"""

import pytest
from build import (
    Derive,
    Record,
    allocated,
    ended,
    event,
    interrupted,
    loaded,
    resumed,
    started,
    step,
    steps,
    suspended,
)

FIVE = steps(0, 1, 5)


# --- the table ---


@pytest.mark.parametrize(
    ("lifecycle", "found"),
    [
        pytest.param([], {"startup launch": 10}, id="start of the wall: launch"),
        # The first step, from 30 to 40, begins the wall.
        pytest.param([allocated(32)], {"startup launch": 10}, id="allocation: launch"),
        pytest.param(
            [allocated(0), started(10)],
            {"startup launch": 10, "startup load": 30},
            id="process: load",
        ),
        pytest.param(
            [allocated(0), started(10), loaded(25)],
            {"startup launch": 10, "startup load": 15, "startup first_step": 15},
            id="checkpoint loaded: first_step",
        ),
        pytest.param(
            [allocated(0), loaded(25)],
            {"startup launch": 25, "startup first_step": 15},
            id="without the process: launch up to first_step",
        ),
        pytest.param(
            [allocated(0), started(10), started(20, 1)],
            {"startup launch": 10, "startup load": 30},
            id="a second process: load still",
        ),
        pytest.param(
            [allocated(0), started(10), allocated(20, 1), started(24, 1)],
            {"startup launch": 10 + 4, "startup load": 10 + 16},
            id="another attempt before any step: starting still",
        ),
        pytest.param(
            [allocated(0), event("data_staged", 5, attempt=0), started(10)],
            {"startup launch": 10, "startup load": 30},
            id="staged data is no boundary",
        ),
        pytest.param(
            [allocated(0), started(10), interrupted(15, "network"), started(22, 1)],
            {
                "startup launch": 10,
                "startup load": 5,
                "restart requeue network": 7,
                "restart load network": 18,
            },
            id="interruption while starting: down",
        ),
    ],
)
def test_time_before_the_first_step_is_labelled_by(
    derive: Derive, lifecycle: list[Record], found: dict[str, float]
) -> None:
    # The first step completes at 40, and that is the end.
    attempt = max((e.get("attempt", 0) for e in lifecycle), default=0)
    assert derive([*lifecycle, ended(40)], [step(40, 1, 10, attempt)]).ledger() == found


def test_the_first_step_begins_the_steady_state(after_five) -> None:
    assert after_five(ended(60)) == {"unattributed tail": 10}


def test_an_interruption_begins_a_down_state_and_what_follows_has_its_cause(after_five) -> None:
    # Noticed at 60; 1's gang at 100, process at 115, state at 140, first step at 150.
    found = after_five(
        interrupted(60),
        allocated(100, 1),
        started(115, 1),
        loaded(140, 1, after=5),
        ended(150),
        steps=[step(150, 6, 10, 1)],
    )
    assert found == {
        "restart detect hardware": 10,
        "restart requeue hardware": 40,
        "restart launch hardware": 15,
        "restart load hardware": 25,
        "restart first_step hardware": 10,
    }


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
def test_a_down_state_has_the_category_of_its_cause(after_five, cause: str, category: str) -> None:
    assert after_five(interrupted(60, cause), ended(100)) == {
        f"{category} detect {cause}": 10,
        f"{category} requeue {cause}": 40,
    }


def test_a_second_interruption_in_a_down_state_changes_the_cause_from_then_on(after_five) -> None:
    # A spare fails while 1 launches: 60 to 80 hardware, launch 80 to 90; from 90 network.
    found = after_five(
        interrupted(60),
        allocated(80, 1),
        interrupted(90, "network", 1),
        allocated(110, 2),
        ended(120),
        steps=[step(120, 6, 5, 2)],
    )
    assert found == {
        "restart detect hardware": 10,
        "restart requeue hardware": 20,
        "restart launch hardware": 10,
        "restart requeue network": 20,
        "restart launch network": 10,
    }


def test_after_the_next_first_step_the_job_is_steady_again(after_five) -> None:
    # Down from 50 to 70; step 7 of attempt 1 is painted 80 to 90 after a gap.
    found = after_five(interrupted(50), ended(90), steps=[step(70, 6, 10, 1), step(90, 7, 10, 1)])
    assert found == {"restart requeue hardware": 20, "unattributed gap": 10, "useful step": 10}


# --- the order of boundaries ---


@pytest.mark.parametrize(
    ("lifecycle", "found"),
    [
        # All at 60; the state from there to the end at 100 is that of the last in order.
        pytest.param(
            [allocated(60, 1), interrupted(60)], "restart launch hardware", id="by attempt"
        ),
        pytest.param(
            [interrupted(60, attempt=1), allocated(60, 1)],
            "restart requeue hardware",
            id="an interruption after the gang of its attempt",
        ),
        pytest.param(
            [started(60, 1), allocated(60, 1)],
            "preemption load preemption",
            id="a process after its gang",
        ),
        pytest.param(
            [loaded(60, 1), started(60, 1)],
            "preemption first_step preemption",
            id="restored state after its process",
        ),
        pytest.param(
            [loaded(60, 1), allocated(60, 2)],
            "preemption launch preemption",
            id="the attempt before the place",
        ),
    ],
)
def test_boundaries_of_one_moment_are_ordered(after_five, lifecycle: list, found: str) -> None:
    assert after_five(interrupted(55, "preemption"), *lifecycle, ended(100))[found] == 40


def test_of_two_interruptions_of_one_moment_the_cause_decides_by_name(after_five) -> None:
    # Both of attempt 0 at 60: hardware is taken first, network last. The first ends progress.
    assert after_five(interrupted(60, "network"), interrupted(60, "hardware"), ended(100)) == {
        "restart detect hardware": 10,
        "restart requeue network": 40,
    }


def test_of_two_interruptions_taken_at_one_moment_the_earlier_record_is_first(after_five) -> None:
    # Both are later than 1's allocation at 60 and taken there: by recorded ts network (70) comes
    # before hardware (80), against the order of names. The launch follows both.
    found = after_five(
        interrupted(80, "hardware"), interrupted(70, "network"), allocated(60, 1), ended(100)
    )
    assert found == {"restart detect network": 10, "restart launch hardware": 40}


# --- before the start, after the end ---


def test_a_boundary_before_the_start_is_taken_at_it(derive: Derive) -> None:
    # The process is stamped 5 s before its allocation, where the wall starts: load from there on.
    answers = derive([started(-5), allocated(0), ended(10)], [step(10, 1, 5)])
    assert answers.ledger() == {"startup load": 10}


def test_an_interruption_before_the_start_leaves_the_job_down_at_it(derive: Derive) -> None:
    # Attempt 0 died in the queue at -5; attempt 1's gang, where the wall starts, is a launch after
    # it.
    answers = derive([interrupted(-5), allocated(0, 1), ended(10)], [step(10, 1, 5, 1)])
    assert answers.ledger() == {"restart launch hardware": 10}


def test_boundaries_before_the_start_keep_their_order_at_it(derive: Derive) -> None:
    # Attempt 1 died at -5, attempt 0 at -3; taken at one moment the attempt decides: the latest
    # cause is attempt 1's. Attempt 2's gang is allocated at 0.
    answers = derive(
        [interrupted(-5, "storage", 1), interrupted(-3, "network", 0), allocated(0, 2), ended(10)],
        [step(10, 1, 5, 2)],
    )
    assert answers.ledger() == {"restart launch storage": 10}


def test_a_boundary_after_the_end_is_ignored(after_five) -> None:
    # So nothing was detected: the job stopped making steps and ended.
    assert after_five(ended(80), interrupted(90)) == {"unattributed tail": 30}


def test_a_boundary_at_the_very_end_is_taken(after_five) -> None:
    assert after_five(ended(80), interrupted(80)) == {"restart detect hardware": 30}


# --- late records ---


@pytest.mark.parametrize(
    "late",
    [allocated(60), started(60), loaded(60, after=0)],
    ids=["allocation", "process", "checkpoint"],
)
def test_a_record_of_an_attempt_that_already_trains_is_no_boundary(
    after_five, late: Record
) -> None:
    # It ends no progress and begins no down state: 50 to 70 stays a gap.
    assert after_five(late, ended(80), steps=[step(75, 6, 5)]) == {
        "unattributed gap": 20,
        "useful step": 5,
        "unattributed tail": 5,
    }


def test_a_record_of_an_attempt_that_never_trained_is_a_boundary_however_late(after_five) -> None:
    # Attempt 1 trains from its first step at 60 on; attempt 2 has no step and nothing explains it.
    found = after_five(interrupted(50), started(70, 2), ended(80), steps=[step(60, 6, 10, 1)])
    assert found == {
        "restart requeue hardware": 10,
        "restart detect unknown": 10,
        "restart load unknown": 10,
    }


# --- interruptions that a later attempt bounds ---


@pytest.mark.parametrize(
    ("boundary", "component"),
    [(allocated(80, 1), "launch"), (started(80, 1), "load"), (loaded(80, 1), "first_step")],
)
def test_an_interruption_noticed_late_is_taken_just_before_the_later_attempt(
    derive: Derive, boundary: Record, component: str
) -> None:
    # Stamped 95, taken at 80: detect from 50 to 80, and 1's first step completes at 100.
    answers = derive(
        [allocated(0), interrupted(95), boundary, ended(100)], [*FIVE, step(100, 6, 5, 1)]
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "restart detect hardware": 30,
        f"restart {component} hardware": 20,
    }
    assert [r["detected"] for r in answers.restarts()] == [80]


def test_an_interruption_later_than_the_next_first_step_is_taken_before_that(
    derive: Derive,
) -> None:
    # 1 was recorded by its steps alone: the first completes at 80, the second at 90.
    answers = derive([allocated(0), interrupted(95), ended(90)], [*FIVE, *steps(70, 6, 7, 10, 1)])
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 50,
        "restart detect hardware": 30,
    }
    (restart,) = answers.restarts()
    assert (restart["detected"], restart["recovered"]) == (80, 80)


def test_the_earliest_boundary_of_any_later_attempt_bounds_it(after_five) -> None:
    # Attempt 2's gang was stamped 70, before attempt 1's at 80.
    found = after_five(interrupted(95), allocated(80, 1), allocated(70, 2), ended(100))
    assert found == {"restart detect hardware": 20, "restart launch hardware": 30}


def test_an_interruption_of_a_later_attempt_bounds_none(after_five) -> None:
    # Attempt 1 has nothing but an interruption at 60; attempt 0's at 70 stays there.
    found = after_five(interrupted(70), interrupted(60, "network", 1), ended(100))
    assert found == {
        "restart detect network": 10,
        "restart requeue network": 10,
        "restart requeue hardware": 30,
    }


def test_an_earlier_attempts_boundary_bounds_none(after_five) -> None:
    # Attempt 1 was interrupted at 70; attempt 0 has boundaries at 0 and 10.
    assert after_five(interrupted(70, attempt=1), ended(100)) == {
        "restart detect hardware": 20,
        "restart requeue hardware": 30,
    }


# --- progress that ends ---


def test_a_gap_before_an_interruption_is_detection(after_five) -> None:
    # Every gap since the last step; the one before it (50 to 60) stays a gap.
    found = after_five(interrupted(90), ended(100), steps=[step(60, 6, 0)])
    assert found == {
        "unattributed gap": 10,
        "restart detect hardware": 30,
        "restart requeue hardware": 10,
    }


def test_an_interruption_at_the_last_steps_end_leaves_nothing_to_detect(after_five) -> None:
    assert after_five(interrupted(50), ended(60)) == {"restart requeue hardware": 10}


def test_a_step_that_outlives_its_interruption_stays_painted(derive: Derive) -> None:
    # Noticed at 45 while step 5 (40 to 50) runs: progress ended at 40, but nothing of 40 to 45
    # would be gap; the job is down from 50.
    answers = derive([allocated(0), interrupted(45), ended(60)], FIVE)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "restart requeue hardware": 10,
    }


def test_after_a_first_step_alone_detection_begins_at_its_end(derive: Derive) -> None:
    answers = derive([allocated(0), interrupted(25), ended(30)], [step(10, 1)])
    assert answers.ledger() == {
        "startup launch": 10,
        "restart detect hardware": 15,
        "restart requeue hardware": 5,
    }


@pytest.mark.parametrize(
    ("boundary", "component"),
    [(allocated(70, 1), "launch"), (started(70, 1), "load"), (loaded(70, 1), "first_step")],
)
def test_a_boundary_that_no_interruption_explains_is_an_unknown_one(
    after_five, boundary: Record, component: str
) -> None:
    assert after_five(boundary, ended(100)) == {
        "restart detect unknown": 20,
        f"restart {component} unknown": 30,
    }


def test_an_interruption_in_the_state_after_an_unknown_one_gives_it_its_cause(after_five) -> None:
    found = after_five(allocated(70, 1), interrupted(80, "storage", 1), ended(100))
    assert found == {
        "restart detect unknown": 20,
        "restart launch unknown": 10,
        "restart requeue storage": 20,
    }


def test_a_first_step_out_of_nowhere_ends_progress_and_is_steady_at_once(derive: Derive) -> None:
    # 1's first step completes at 90: from 50 the time was detection. Its second is painted.
    answers = derive([allocated(0), ended(110)], [*FIVE, *steps(80, 6, 7, 10, 1)])
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 50,
        "restart detect unknown": 40,
        "unattributed tail": 10,
    }
    assert answers.restarts() == []


def test_first_steps_that_complete_at_the_boundary_are_no_progress_before_it(
    derive: Derive,
) -> None:
    # Attempts 1 and 2 both complete their first step at 90: progress ended at 50 for the first of
    # them; for the second it is steady since 90 and there is nothing left.
    answers = derive([allocated(0), ended(90)], [*FIVE, step(90, 6, 10, 1), step(90, 7, 10, 2)])
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "restart detect unknown": 40,
    }


def test_a_painted_step_that_ends_at_the_boundary_is_progress_up_to_it(derive: Derive) -> None:
    # Step 6 of attempt 0 ends at 90 as 1's first step completes: painted from 80; the time from 50
    # to 80 lies before the last step and is a gap.
    answers = derive([allocated(0), ended(90)], [*FIVE, step(90, 6), step(90, 7, 10, 1)])
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 50,
        "unattributed gap": 30,
    }


# --- suspended ---


@pytest.mark.parametrize(
    ("pauses", "detect"),
    [
        # From progress's end at 50 to the boundary at 90, less what is suspended.
        pytest.param([suspended(60), resumed(80)], 20, id="within that time"),
        pytest.param([suspended(50), resumed(80)], 10, id="at its beginning"),
        pytest.param([suspended(90), resumed(95)], 40, id="at its end"),
    ],
)
def test_a_boundary_after_a_suspension_has_the_cause_suspended(
    after_five, pauses: list[Record], detect: float
) -> None:
    found = after_five(*pauses, started(90, 1), ended(120))
    down = 30 - (5 if pauses[1]["ts_us"] > started(90)["ts_us"] else 0)
    assert found == {"job detect suspended": detect, "job load suspended": down}


@pytest.mark.parametrize(
    "pauses",
    [[suspended(20), resumed(25)], [suspended(95), resumed(100)]],
    ids=["before progress ended", "after the boundary"],
)
def test_a_suspension_outside_that_time_explains_nothing(
    derive: Derive, pauses: list[Record]
) -> None:
    answers = derive([allocated(0), *pauses, started(90, 1), ended(120)], FIVE)
    assert "restart detect unknown" in answers.ledger()


def test_an_interruption_keeps_its_cause_though_the_job_was_suspended(after_five) -> None:
    # 60 to 80 is no wall.
    assert after_five(suspended(60), resumed(80), interrupted(90), ended(100)) == {
        "restart detect hardware": 20,
        "restart requeue hardware": 10,
    }


def test_progress_ends_where_the_last_step_is_painted_to(derive: Derive) -> None:
    # Step 5 would end at 50 but is painted to 45, where the job was suspended. That suspension lies
    # in the time from there to the boundary.
    answers = derive([allocated(0), suspended(45), resumed(80), started(90, 1), ended(100)], FIVE)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 35,
        "job detect suspended": 10,
        "job load suspended": 10,
    }


def test_a_first_step_after_a_suspension_is_steady_after_a_suspended_detection(
    derive: Derive,
) -> None:
    answers = derive(
        [allocated(0), suspended(50), resumed(80), ended(100)], [*FIVE, step(90, 6, 10, 1)]
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "job detect suspended": 10,
        "unattributed tail": 10,
    }


def test_down_time_is_cut_at_each_hour(derive: Derive) -> None:
    # Steady to 50; noticed at 3500, allocated at 7300, first step at 7400.
    answers = derive(
        [allocated(0), interrupted(3500), allocated(7300, 1), ended(7400)],
        [*FIVE, step(7400, 6, 10, 1)],
    )
    assert answers.hours() == {
        0: {
            "startup launch": 10,
            "useful step": 40,
            "restart detect hardware": 3450,
            "restart requeue hardware": 100,
        },
        1: {"restart requeue hardware": 3600},
        2: {"restart requeue hardware": 100, "restart launch hardware": 100},
    }
