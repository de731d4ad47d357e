"""Section 3, jobs without any step record: runs, and what ends and follows them."""

import pytest
from build import (
    HOUR,
    Derive,
    Record,
    allocated,
    ended,
    event,
    interrupted,
    loaded,
    resumed,
    started,
    steps,
    suspended,
    tick,
)


@pytest.mark.parametrize(
    ("lifecycle", "found"),
    [
        pytest.param(
            [allocated(0)],
            {"uninstrumented run": 100},
            id="without a process the run begins with the allocation",
        ),
        pytest.param(
            [allocated(0), started(10)],
            {"startup launch": 10, "uninstrumented run": 90},
            id="with one it begins there, and the allocation is a launch",
        ),
        pytest.param(
            [allocated(0), loaded(4), started(10)],
            {"startup launch": 4, "startup first_step": 6, "uninstrumented run": 90},
            id="restored state before the process is labelled as in any job",
        ),
        pytest.param(
            [allocated(0), started(10), loaded(20)],
            {"startup launch": 10, "uninstrumented run": 90},
            id="restored state inside a run is passed over",
        ),
        pytest.param(
            [allocated(0), started(10), started(40)],
            {"startup launch": 10, "uninstrumented run": 90},
            id="a second process goes on with the run",
        ),
        pytest.param(
            [allocated(0), started(10), allocated(40)],
            {"startup launch": 10, "uninstrumented run": 90},
            id="an allocation of the same attempt ends no run",
        ),
        pytest.param(
            [allocated(0), started(10), interrupted(60, "preemption")],
            {
                "startup launch": 10,
                "uninstrumented run": 50,
                "preemption requeue preemption": 40,
            },
            id="an interruption ends it",
        ),
        pytest.param(
            [allocated(0), interrupted(60), allocated(70, 1)],
            {"uninstrumented run": 60 + 30, "restart requeue hardware": 10},
            id="after one, an attempt without a process runs from its allocation",
        ),
        pytest.param(
            [allocated(0), started(10), interrupted(60), allocated(70, 1), started(85, 1)],
            {
                "startup launch": 10,
                "uninstrumented run": 50 + 15,
                "restart requeue hardware": 10,
                "restart launch hardware": 15,
            },
            id="after one, an attempt with a process launches first",
        ),
        pytest.param(
            [allocated(0), started(10), allocated(60, 1), started(85, 1)],
            {
                "startup launch": 10,
                "uninstrumented run": 50 + 15,
                "restart launch unknown": 25,
            },
            id="an allocation of another attempt that has a process is down, unknown",
        ),
        pytest.param(
            [allocated(0), started(10), allocated(60, 1)],
            {"startup launch": 10, "uninstrumented run": 90},
            id="one that has none is a run at once",
        ),
        pytest.param(
            [allocated(0), started(10), interrupted(60), interrupted(70, "network")],
            {
                "startup launch": 10,
                "uninstrumented run": 50,
                "restart requeue hardware": 10,
                "restart requeue network": 30,
            },
            id="a second interruption changes the cause from then on",
        ),
        pytest.param(
            [allocated(0), interrupted(20, attempt=0), allocated(30, 1), started(50, 1)],
            {
                "uninstrumented run": 20 + 50,
                "restart requeue hardware": 10,
                "restart launch hardware": 20,
            },
            id="only the attempt without a process runs from its allocation",
        ),
        pytest.param(
            [allocated(0), interrupted(5), started(10)],
            {
                "startup launch": 5,
                "restart requeue hardware": 5,
                "uninstrumented run": 90,
            },
            id="an interruption before the first run ends the startup",
        ),
        pytest.param(
            [allocated(0), started(10, 1)],
            {"uninstrumented run": 100},
            id="a process of another attempt alone ends no run",
        ),
        pytest.param(
            [started(-10), allocated(0)],
            {"uninstrumented run": 100},
            id="a process before its allocation runs from the start of the wall",
        ),
        pytest.param(
            [allocated(0), started(10), interrupted(90), allocated(70, 1), started(80, 1)],
            # Taken at 70, before 1's allocation.
            {
                "startup launch": 10,
                "uninstrumented run": 60 + 20,
                "restart launch hardware": 10,
            },
            id="a later attempt's boundary bounds an interruption",
        ),
        pytest.param(
            [allocated(0), started(10), suspended(40), resumed(60)],
            {"startup launch": 10, "uninstrumented run": 70},
            id="a suspension takes its time out of the run",
        ),
    ],
)
def test_a_job_without_steps(
    derive: Derive, lifecycle: list[Record], found: dict[str, float]
) -> None:
    answers = derive([*lifecycle, ended(100)])
    assert answers.ledger() == found
    assert not answers.instrumented()


def test_neither_windows_nor_pauses_nor_phases_touch_a_run(derive: Derive) -> None:
    answers = derive(
        [
            allocated(0),
            event("maintenance_started", 10, None, id="m"),
            event("maintenance_ended", 20, None, id="m"),
            event("checkpoint_started", 30, attempt=0, step=1),
            event("checkpoint_completed", 40, attempt=0, step=1),
            event("phase_started", 50, attempt=0, name="evaluation"),
            event("phase_ended", 60, attempt=0, name="evaluation"),
            ended(100),
        ]
    )
    assert answers.ledger() == {"uninstrumented run": 100}


def test_a_run_lasts_to_as_of_and_is_cut_at_the_hours(derive: Derive) -> None:
    answers = derive([allocated(10), tick(2 * HOUR + 5)])
    assert answers.hours() == {
        0: {"uninstrumented run": HOUR - 10},
        1: {"uninstrumented run": HOUR},
        2: {"uninstrumented run": 5},
    }


def test_a_job_whose_first_step_arrives_later_becomes_instrumented(derive: Derive) -> None:
    assert derive([allocated(0), started(4), ended(30)]).ledger() == {
        "startup launch": 4,
        "uninstrumented run": 26,
    }
    # Steps 1 to 3 from 0 to 30.
    answers = derive([], steps(0, 1, 3))
    assert answers.instrumented()
    assert answers.ledger() == {"startup launch": 4, "startup load": 6, "useful step": 20}


def test_a_job_whose_steps_are_later_than_as_of_is_not_instrumented(derive: Derive) -> None:
    answers = derive([allocated(0), ended(30)], steps(10, 1, 2), as_of=15)
    assert not answers.instrumented()
    assert answers.ledger() == {"uninstrumented run": 15}
