"""Section 6: how long a job waited for its first step, and for what."""

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
    submitted,
    suspended,
    tick,
)


def pending(when: float, reason: str) -> Record:
    """Why the job waits from now on."""
    return event("job_pending", when, reason=reason)


def test_a_wait_lasts_from_submission_to_the_completion_of_the_first_step(derive: Derive) -> None:
    answers = derive([submitted(5), allocated(60), ended(100)], steps(80, 1, 2))
    assert answers.waits() == [
        {
            "tier": "standard",
            "submitted": 5,
            "started": 90,
            "basis": "first_step",
            "censored": False,
            "wait": 85,
        }
    ]


def test_a_wait_begins_at_the_earliest_submission_in_the_tier_of_the_latest(
    derive: Derive,
) -> None:
    answers = derive(
        [submitted(5, tier="batch"), submitted(20, tier="interactive"), allocated(60)],
        steps(80, 1, 2),
    )
    (wait,) = answers.waits()
    assert (wait["tier"], wait["submitted"], wait["wait"]) == ("interactive", 5, 85)


def test_the_first_step_of_any_attempt_ends_a_wait(derive: Derive) -> None:
    # Attempt 0 died; attempt 1 got there at 90, attempt 2 at 200.
    answers = derive(
        [submitted(0), allocated(10), interrupted(50), ended(210)],
        [step(90, 1, 10, 1), step(200, 2, 10, 2)],
    )
    assert answers.waits()[0]["wait"] == 90


@pytest.mark.parametrize(
    ("lifecycle", "wait"),
    [
        ([tick(500)], 495),
        ([allocated(60), tick(500)], None),
        ([ended(300, "cancelled"), tick(500)], 295),
    ],
    ids=["at as_of", "an allocation ends it", "at its end"],
)
def test_a_job_that_never_got_there_is_censored(
    derive: Derive, lifecycle: list[Record], wait: float | None
) -> None:
    (found,) = derive([submitted(5), *lifecycle]).waits()
    assert found["censored"] == (wait is not None)
    assert found["wait"] == (55 if wait is None else wait)


def test_a_given_as_of_censors_a_wait_that_is_over_later(derive: Derive) -> None:
    answers = derive([submitted(5), allocated(60), started(65)], steps(80, 1, 2), as_of=62)
    (wait,) = answers.waits()
    # Without the steps the job counts as not instrumented, and its allocation ends the wait.
    assert (wait["started"], wait["basis"]) == (60, "resources_allocated")
    (censored,) = derive([], as_of=50).waits()
    assert (censored["started"], censored["wait"], censored["censored"]) == (None, 45, True)


@pytest.mark.parametrize(
    ("lifecycle", "started_at", "basis"),
    [
        ([allocated(60), started(70), started(90, 1)], 70, "process_started"),
        ([allocated(60), allocated(65, 1), started(90, 1)], 90, "process_started"),
        ([allocated(60), allocated(65, 1)], 60, "resources_allocated"),
    ],
    ids=["its first process", "whichever attempt it is of", "or else its first allocation"],
)
def test_without_steps_a_wait_ends_at(
    derive: Derive, lifecycle: list[Record], started_at: float, basis: str
) -> None:
    (wait,) = derive([submitted(5), *lifecycle, ended(100)]).waits()
    assert (wait["started"], wait["basis"], wait["censored"]) == (started_at, basis, False)
    assert wait["wait"] == started_at - 5


def test_a_job_that_was_never_submitted_has_no_wait(derive: Derive) -> None:
    assert derive([allocated(0), ended(100)], steps(0, 1, 2)).waits() == []


def test_a_suspension_takes_nothing_off_a_wait(derive: Derive) -> None:
    answers = derive(
        [submitted(0), allocated(10), suspended(20), resumed(40), ended(100)], steps(50, 1, 2)
    )
    assert answers.waits()[0]["wait"] == 60


# --- parts ---


@pytest.mark.parametrize(
    ("lifecycle", "parts"),
    [
        # The job was submitted at 0 and its first step completes at 100.
        pytest.param([], {"pending": 100}, id="no reason given"),
        pytest.param(
            [pending(10, "quota"), pending(40, "topology"), allocated(60), started(70), loaded(85)],
            {
                "pending": 10,
                "pending quota": 30,
                "pending topology": 20,
                "launch": 10,
                "load": 15,
                "first_step": 15,
            },
            id="every part",
        ),
        pytest.param(
            [pending(0, "quota"), pending(30, "priority"), pending(50, "quota"), allocated(60)],
            {"pending quota": 40, "pending priority": 20, "launch": 40},
            id="a reason given twice is one part",
        ),
        pytest.param(
            [
                pending(0, "user_hold"),
                allocated(60),
                interrupted(70),
                pending(75, "power"),
                allocated(80, 1),
            ],
            {
                "pending user_hold": 60,
                "launch": 10 + 20,
                "requeue": 5,
                "pending power": 5,
            },
            id="an interruption before the first step",
        ),
        pytest.param(
            [pending(-5, "quota"), allocated(60)],
            {"pending quota": 60, "launch": 40},
            id="a reason stamped before the submission",
        ),
    ],
)
def test_the_parts_of_a_wait_sum_to_it(
    derive: Derive, lifecycle: list[Record], parts: dict[str, float]
) -> None:
    attempt = max((e.get("attempt", 0) for e in lifecycle), default=0)
    answers = derive([submitted(0), *lifecycle, ended(150)], steps(90, 1, 2, 10, attempt))
    assert answers.wait_parts() == parts
    assert sum(parts.values()) == answers.waits()[0]["wait"] == 100


def test_what_happens_after_the_first_step_is_no_part_of_the_wait(derive: Derive) -> None:
    answers = derive(
        [submitted(0), allocated(60), interrupted(120), pending(130, "quota"), ended(150)],
        steps(90, 1, 2),
    )
    assert answers.wait_parts() == {"pending": 60, "launch": 40}


def test_the_parts_of_a_censored_wait_last_to_as_of(derive: Derive) -> None:
    answers = derive([submitted(0), pending(10, "gang_size"), tick(100)])
    assert answers.wait_parts() == {"pending": 10, "pending gang_size": 90}
    assert answers.waits()[0]["wait"] == 100


REASONS = ("quota", "gang_size", "topology", "power", "priority", "dependency", "maintenance")


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_told_at_one_moment_is_taken_in_the_order_of_a_jobs_life(
    derive: Derive, reason: str
) -> None:
    # Stopped at 70 and told at once why it waits; told to wait at 80 and given GPUs at once.
    answers = derive(
        [
            *(submitted(0), allocated(10), interrupted(70), pending(70, reason)),
            *(pending(80, "other"), allocated(80, 1), ended(150)),
        ],
        steps(90, 1, 2, 10, attempt=1),
    )
    assert answers.wait_parts() == {"pending": 10, "launch": 60 + 20, f"pending {reason}": 10}


@pytest.mark.parametrize("reason", REASONS)
def test_of_reasons_stamped_before_the_submission_the_latest_holds(
    derive: Derive, reason: str
) -> None:
    told = [pending(-5, "other"), pending(-3, reason), submitted(0), allocated(60), ended(150)]
    answers = derive(told, steps(90, 1, 2))
    assert answers.wait_parts() == {f"pending {reason}": 60, "launch": 40}
