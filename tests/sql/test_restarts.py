"""Section 5: one record a restart, from the first interruption to the next first step.

Unless said otherwise a job is allocated at 0 and completes steps 1 to 5 of attempt 0 at 10, 20, …
50.
"""

from typing import Any

import pytest
from build import (
    Derive,
    Record,
    allocated,
    ended,
    interrupted,
    loaded,
    resumed,
    started,
    step,
    steps,
    suspended,
    tick,
)

FIVE = steps(0, 1, 5)


@pytest.fixture
def restarts(derive: Derive):
    """The restarts of the job after its five steps."""

    def run(*lifecycle: Record, steps: tuple[Record, ...] | list[Record] = ()) -> list[dict]:
        return derive([allocated(0), *lifecycle], [*FIVE, *steps]).restarts()

    return run


def only(rows: list[dict[str, Any]], *columns: str) -> tuple[Any, ...]:
    """Columns of the only restart."""
    (row,) = rows
    return tuple(row[column] for column in columns)


def test_a_restart_lasts_from_its_interruption_until_the_next_first_step(restarts) -> None:
    # Progress ended at 50, noticed at 60, gang at 100, process at 115, state at 140, step at 150.
    # 1 resumes after 3, so steps 4 and 5 are lost.
    rows = restarts(
        interrupted(60),
        allocated(100, 1),
        started(115, 1),
        loaded(140, 1, after=3),
        ended(200),
        steps=steps(140, 4, 6, 10, 1),
    )
    assert rows == [
        {
            "detected": 60,
            "recovered": 150,
            "cause": "hardware",
            "outcome": "recovered",
            "basis": "first_step",
            "attempts_used": 1,
            "interruptions": 1,
            "lost_steps": 2,
            "time_to_restart": 90,
            "age": 90,
            "detect": 10,
            "requeue": 40,
            "launch": 15,
            "load": 25,
            "first_step": 10,
        }
    ]


def test_without_an_interruption_there_is_no_restart(restarts) -> None:
    # A clean stop: the ledger says unknown, but nothing was detected.
    assert restarts(allocated(100, 1), ended(150), steps=[step(150, 6, 10, 1)]) == []


def test_interruptions_before_the_next_first_step_are_one_restart_with_the_first_cause(
    restarts,
) -> None:
    # 1 dies while launching (80 to 90); 2 recovers at 120. Launch: 10 of attempt 1, 20 of 2.
    rows = restarts(
        interrupted(60),
        allocated(80, 1),
        interrupted(90, "network", 1),
        allocated(100, 2),
        ended(120),
        steps=[step(120, 6, 10, 2)],
    )
    assert only(rows, "detected", "recovered", "cause") == (60, 120, "hardware")
    assert only(rows, "attempts_used", "interruptions") == (2, 2)
    assert only(rows, "detect", "requeue", "launch", "load") == (10, 20 + 10, 10 + 20, 0)


def test_components_and_the_time_to_restart_add_up_without_detection(restarts) -> None:
    rows = restarts(
        interrupted(63), allocated(71, 1), started(77, 1), ended(90), steps=[step(90, 6, 5, 1)]
    )
    parts = only(rows, "requeue", "launch", "load", "first_step")
    assert parts == (8, 6, 13, 0)
    assert sum(parts) == only(rows, "time_to_restart")[0] == 27


def test_each_first_step_ends_a_restart_and_the_next_interruption_begins_another(
    restarts,
) -> None:
    # Attempt 1: first step at 80, one more at 90; attempt 2's first at 130.
    rows = restarts(
        interrupted(60),
        interrupted(100, "storage", 1),
        ended(130),
        steps=[*steps(70, 6, 7, 10, 1), step(130, 8, 10, 2)],
    )
    assert [(r["detected"], r["recovered"], r["cause"]) for r in rows] == [
        (60, 80, "hardware"),
        (100, 130, "storage"),
    ]
    assert [r["detect"] for r in rows] == [10, 10]


def test_an_interruption_while_the_job_starts_begins_a_restart(derive: Derive) -> None:
    rows = derive(
        [allocated(0), interrupted(20), allocated(30, 1), ended(50)], [step(50, 1, 10, 1)]
    ).restarts()
    assert only(rows, "detected", "recovered", "detect", "requeue", "launch") == (20, 50, 0, 10, 20)


@pytest.mark.parametrize(
    ("end", "outcome", "age"),
    [
        (tick(160), "open", 100),
        (ended(110), "abandoned", 50),
        (ended(110, "failed"), "abandoned", 50),
    ],
    ids=["open to as_of", "the job ended first", "it failed first"],
)
def test_a_restart_that_did_not_recover_is_censored_at_its_age(
    restarts, end: Record, outcome: str, age: float
) -> None:
    rows = restarts(interrupted(60), allocated(100, 1), end)
    assert only(rows, "outcome", "age") == (outcome, age)
    assert only(rows, "recovered", "time_to_restart", "basis") == (None, None, None)
    assert only(rows, "requeue", "launch") == (40, age - 40)


def test_an_open_restart_recovers_when_the_step_is_delivered(derive: Derive) -> None:
    derive([allocated(0), interrupted(60), tick(160)], FIVE)
    rows = derive([], [step(150, 6, 10, 1)]).restarts()
    assert only(rows, "outcome", "time_to_restart") == ("recovered", 90)


def test_attempts_that_were_used_are_counted_once_each(restarts) -> None:
    # 1 is allocated twice and dies, 2 has a process alone, 3 recovers with its step alone.
    rows = restarts(
        interrupted(60),
        allocated(70, 1),
        allocated(72, 1),
        started(75, 1),
        interrupted(80, attempt=1),
        started(90, 2),
        ended(120),
        steps=[step(120, 6, 10, 3)],
    )
    assert only(rows, "attempts_used", "interruptions") == (3, 2)


def test_a_restart_that_nobody_tried_has_used_no_attempt(restarts) -> None:
    assert only(restarts(interrupted(60), ended(100)), "attempts_used") == (0,)


def test_lost_steps_are_those_whose_rework_it_caused(restarts) -> None:
    # Attempt 1 goes on at 6 (nothing lost), attempt 2 back to 4: attempt 0's 4 and 5 and attempt
    # 1's 6 and 7 are lost. Attempt 0's cause is the first interruption of attempts 0 and 1, at 60;
    # attempt 1's is its own, at 100.
    rows = restarts(
        interrupted(60),
        interrupted(100, "storage", 1),
        ended(130),
        steps=[*steps(70, 6, 7, 10, 1), step(130, 4, 10, 2)],
    )
    assert [(r["cause"], r["lost_steps"]) for r in rows] == [("hardware", 2), ("storage", 2)]


def test_a_lost_first_step_counts_as_lost(restarts) -> None:
    # Attempt 1's only step, 6, is its first and not painted; attempt 2 does it again.
    rows = restarts(
        interrupted(60),
        interrupted(90, "storage", 1),
        ended(130),
        steps=[step(80, 6, 10, 1), step(130, 6, 10, 2)],
    )
    assert [(r["cause"], r["lost_steps"]) for r in rows] == [("hardware", 0), ("storage", 1)]


def test_steps_that_the_owner_gave_up_were_not_lost_to_the_restart(restarts) -> None:
    rows = restarts(
        interrupted(60),
        loaded(100, 1, after=3, deliberate=True),
        ended(120),
        steps=[step(120, 4, 10, 1)],
    )
    assert only(rows, "lost_steps") == (0,)


def test_time_to_restart_counts_from_where_a_late_interruption_is_taken(restarts) -> None:
    # Stamped 95; attempt 1's gang was there at 80.
    rows = restarts(interrupted(95), allocated(80, 1), ended(110), steps=[step(110, 6, 10, 1)])
    assert only(rows, "detected", "time_to_restart", "detect", "launch") == (80, 30, 30, 30)


def test_a_suspension_inside_takes_nothing_off_the_time_but_is_in_no_component(restarts) -> None:
    # 60 to 110, of which 70 to 90 are suspended.
    rows = restarts(
        interrupted(60), suspended(70), resumed(90), ended(110), steps=[step(110, 6, 5, 1)]
    )
    assert only(rows, "time_to_restart", "requeue") == (50, 30)


def test_components_of_a_restart_over_hours_are_whole(restarts) -> None:
    # Down from 60 to 8000: requeue to 7000, launch to 8000.
    rows = restarts(interrupted(60), allocated(7000, 1), ended(8000), steps=[step(8000, 6, 10, 1)])
    assert only(rows, "requeue", "launch") == (6940, 1000)


# --- jobs without steps ---


@pytest.mark.parametrize(
    ("recovery", "recovered", "basis"),
    [
        pytest.param([started(85, 1)], 85, "process_started", id="the next process"),
        pytest.param(
            [allocated(70, 1), started(85, 1)], 85, "process_started", id="not its allocation"
        ),
        pytest.param([allocated(70, 1)], 70, "resources_allocated", id="or else the allocation"),
        pytest.param(
            [allocated(70, 1), started(95, 2)],
            95,
            "process_started",
            id="the next process, though of another attempt",
        ),
    ],
)
def test_without_steps_recovery_is(
    derive: Derive, recovery: list[Record], recovered: float, basis: str
) -> None:
    rows = derive([allocated(0), started(5), interrupted(60), *recovery, ended(100)]).restarts()
    assert only(rows, "detected", "recovered", "basis", "outcome") == (
        60,
        recovered,
        basis,
        "recovered",
    )


def test_what_only_steps_can_tell_is_unknown_without_them(derive: Derive) -> None:
    rows = derive(
        [allocated(0), interrupted(60), allocated(70, 1), started(85, 1), ended(100)]
    ).restarts()
    assert only(rows, "lost_steps", "detect", "first_step") == (None, None, None)
    assert only(rows, "requeue", "launch", "attempts_used") == (10, 15, 1)


def test_without_steps_a_restart_may_stay_open(derive: Derive) -> None:
    rows = derive([allocated(0), interrupted(60), tick(100)]).restarts()
    assert only(rows, "outcome", "age", "requeue") == ("open", 40, 40)
