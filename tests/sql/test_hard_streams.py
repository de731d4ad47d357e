"""Streams in which many rules meet, their seconds worked out by hand before either reading ran.

Both the models and the plain reading are held to them: what both read wrongly alike, random streams
do not show.
"""

from collections import defaultdict
from typing import Any

import pytest
import reference
from build import (
    SECOND_US,
    Derive,
    Record,
    allocated,
    at,
    ended,
    event,
    interrupted,
    loaded,
    resumed,
    saving,
    started,
    step,
    steps,
    submitted,
    suspended,
    tick,
)

Seconds = dict[str, float]


def plainly(lifecycle: list[Record], steps: list[Record], as_of: float | None) -> Seconds:
    """The ledger by the plain reading: seconds by `category component cause`."""
    read = reference.derive(lifecycle, steps, None if as_of is None else at(as_of))
    found: Seconds = defaultdict(float)
    for (_, *label), us in read.jobs["j"].ledger.items():
        found[" ".join(part for part in label if part)] += us / SECOND_US
    return dict(found)


CLOCKS_DIFFER = (
    # The interruption of attempt 0 carries 130, but attempt 1 was allocated at 100: taken there.
    # Attempt 1's steps begin with 2, so 2 and 3 of attempt 0 are done again.
    [
        *(allocated(0), started(5)),
        *(allocated(100, 1), started(110, 1), interrupted(130, "network"), loaded(140, 1, 1)),
        ended(180),
    ],
    [
        *(step(20, 1), step(30, 2), step(41, 3)),
        *(step(150, 2, 5, 1), step(160, 3, 10, 1), step(171, 4, 10, 1)),
    ],
)
DIES_BEFORE_ITS_STEP = (
    # Attempts 0 and 1 die in initialisation; 4 goes back behind what 3 went back to.
    [
        *(allocated(10), started(20), interrupted(50, "storage")),
        *(allocated(80, 1), interrupted(90, "job_error", 1)),
        *(allocated(100, 2), interrupted(225, "preemption", 2)),
        *(allocated(240, 3), loaded(250, 3, 8), interrupted(280, "hardware", 3)),
        *(allocated(300, 4), ended(330, "failed")),
    ],
    [
        *steps(120, 1, 10, 10, 2),
        *(step(260, 9, 10, 3), step(270, 10, 10, 3), step(280, 11, 10, 3)),
        *(step(320, 5, 10, 4), step(330, 6, 10, 4)),
    ],
)
INTERLEAVED = (
    # Both attempts train at once, in the order of ts: 0/1 0/2 1/4 0/3 1/5 0/4.
    [allocated(0), ended(50)],
    [
        *(step(10, 1), step(20, 2), step(32, 4, 10, 1)),
        *(step(35, 3), step(44, 5, 10, 1), step(50, 4, 12)),
    ],
)
SUSPENDED = (
    [
        *(allocated(0), suspended(40), suspended(50), resumed(100), resumed(120)),
        *(started(130, 1), suspended(170), ended(200, "cancelled")),
    ],
    [step(10, 1), step(20, 2), step(45, 3, 20), step(150, 4, 5, 1), step(160, 5, 30, 1)],
)
EVERYTHING_AT_ONCE = (
    # A window from 30 to 35, a save from 33 and an evaluation from 25 that nobody ended; a save
    # from 55 to 70 and an evaluation from 65 until the interruption.
    [
        allocated(0, nodes=["n1"]),
        event("phase_started", 25, attempt=0, name="evaluation"),
        event("maintenance_started", 30, None, id="m", nodes=["n1"]),
        saving(33, 2),
        event("maintenance_ended", 35, None, id="m", nodes=["n1"]),
        saving(55, 3),
        event("phase_started", 65, attempt=0, name="evaluation"),
        event("checkpoint_failed", 70, attempt=0, step=3),
        interrupted(80, "maintenance"),
        ended(100, "failed"),
    ],
    [step(10, 1), step(20, 2), step(60, 3)],
)
BEFORE_THE_WALL = (
    # An interruption and a process from before the first allocation; the end before the last step.
    [interrupted(-100, "software"), started(-10, 1), allocated(0, 1), ended(30)],
    [step(10, 1, 10, 1), step(20, 2, 10, 1), step(35, 3, 10, 1)],
)
GOES_BACK_ON_PURPOSE = (
    [
        *(allocated(0), interrupted(50, "job_error"), loaded(60, 1, 2, deliberate=True)),
        event("phase_started", 80, attempt=1, name="x"),
        *(allocated(95, 2), ended(100, "cancelled")),
    ],
    [*steps(0, 1, 5), step(70, 3, 10, 1), step(80, 4, 10, 1)],
)
STILL_DOWN = (
    [
        *(allocated(0), interrupted(20), started(30, 1), allocated(35, 1)),
        *(interrupted(40, "software", 1), allocated(60, 2), loaded(70, 2, 2), tick(20_000)),
    ],
    [step(10, 1), step(20, 2)],
)
TWO_ATTEMPTS_OVERLAP = (
    # Attempt 0 is told to have ended at 8, while 1 was allocated at 4 and ended at 6.
    [
        *(allocated(0), allocated(4, 1), interrupted(6, "network", 1)),
        *(interrupted(8, "preemption"), started(9), ended(26)),
    ],
    [step(20, 1, 3), step(26, 2, 6)],
)
A_STEP_FILLS_AN_HOUR = (
    # Expected are 2 s. 4 s are no more than twice that, a microsecond more is; then a hang.
    [submitted(0, expected_step_us=2 * SECOND_US), allocated(0), ended(7400)],
    [
        *steps(0, 1, 30, 2),
        *(step(64, 31, 4), step(68.000001, 32, 4.000001)),
        step(7400, 33, 7331.999999, straggler=50),
    ],
)


@pytest.mark.parametrize(
    ("stream", "as_of", "expected"),
    [
        pytest.param(
            CLOCKS_DIFFER,
            None,
            {
                "startup launch": 5,
                "startup load": 15,
                "restart rework network": 20,
                "unattributed gap": 1 + 1,  # 30 to 31, 160 to 161
                "restart detect network": 59,  # 41 to 100
                "restart launch network": 10,
                "restart load network": 30,
                "restart first_step network": 10,
                "useful step": 20,
                "unattributed tail": 9,
            },
            id="clocks differ",
        ),
        pytest.param(
            CLOCKS_DIFFER,
            33,
            # Nothing of attempt 1 is read: step 2 is still useful.
            {"startup launch": 5, "startup load": 15, "useful step": 10, "unattributed tail": 3},
            id="clocks differ, asked before they do",
        ),
        pytest.param(
            CLOCKS_DIFFER,
            155,
            {
                "startup launch": 5,
                "startup load": 15,
                "restart rework network": 20,
                "unattributed gap": 1,
                "restart detect network": 59,
                "restart launch network": 10,
                "restart load network": 30,
                "restart first_step network": 10,
                "unattributed tail": 5,
            },
            id="clocks differ, asked inside a step",
        ),
        pytest.param(
            DIES_BEFORE_ITS_STEP,
            None,
            {
                "startup launch": 10,
                "startup load": 30,
                "restart requeue storage": 30,
                "restart launch storage": 10,
                "job requeue job_error": 10,
                "job launch job_error": 30,
                "useful step": 3 * 10 + 10,  # 2 to 4 of attempt 2, 6 of attempt 4
                # Of attempt 2: 3 resumes after 8, below its highest, and comes first.
                "preemption rework preemption": 6 * 10,
                "preemption detect preemption": 5,
                "preemption requeue preemption": 15,
                "preemption launch preemption": 10,
                "preemption first_step preemption": 10,
                "restart rework hardware": 2 * 10,
                "restart requeue hardware": 20,
                "restart launch hardware": 20,
            },
            id="attempts die before a step, and two roll back",
        ),
        pytest.param(
            DIES_BEFORE_ITS_STEP,
            33,
            {"startup launch": 10, "uninstrumented run": 13},
            id="asked before any step, it is not instrumented",
        ),
        pytest.param(
            INTERLEAVED,
            None,
            {
                "startup launch": 10,
                "restart detect unknown": 12,  # 20 to 32
                "useful step": 10 + 3 + 9,  # 0/2, 0/3 from 32, 1/5 from 35
                "restart rework unknown": 6,  # 0/4 from 44: attempt 1 began with 4
            },
            id="interleaved attempts, overlapping steps",
        ),
        pytest.param(
            INTERLEAVED,
            33,
            {
                "startup launch": 10,
                "useful step": 10,
                "restart detect unknown": 12,
                "unattributed tail": 1,
            },
            id="interleaved attempts, asked before the first goes on",
        ),
        pytest.param(
            SUSPENDED,
            None,
            {
                "startup launch": 10,
                "useful step": 10 + 15 + 10,  # step 3 from 25 to 40
                "unattributed gap": 5,
                "job detect suspended": 30,  # 100 to 130
                "job load suspended": 20,
                "unattributed tail": 10,  # 160 to 170
            },
            id="suspended in a step, and to the end",
        ),
        pytest.param(
            EVERYTHING_AT_ONCE,
            None,
            {
                "startup launch": 10,
                "useful step": 20,
                "unattributed gap": 5,
                "job phase": 5 + 10,  # 25 to 30, 70 to 80
                "maintenance window": 5,
                "checkpoint pause": 15 + 10,  # 35 to 50, 60 to 70
                "maintenance requeue maintenance": 20,
            },
            id="a window, pauses and phases without an end",
        ),
        pytest.param(
            EVERYTHING_AT_ONCE,
            33,
            {
                "startup launch": 10,
                "useful step": 10,
                "unattributed tail": 5,
                "job phase": 5,
                "maintenance window": 3,
            },
            id="asked inside a window",
        ),
        pytest.param(
            BEFORE_THE_WALL,
            None,
            {"restart load software": 10, "useful step": 10 + 5, "unattributed gap": 5},
            id="boundaries before the wall, a step after it",
        ),
        pytest.param(
            GOES_BACK_ON_PURPOSE,
            None,
            {
                "startup launch": 10,
                "useful step": 10 + 10,
                "job rework rollback": 30,
                "job requeue job_error": 10,
                "job first_step job_error": 10,
                "job phase": 15,  # 80 to 95, where it would be detect
                "restart launch unknown": 5,
            },
            id="a roll-back on purpose, a phase that a boundary ends",
        ),
        pytest.param(
            STILL_DOWN,
            None,
            {
                "startup launch": 10,
                "useful step": 10,
                "restart requeue hardware": 10,
                "restart load hardware": 5,
                "restart launch hardware": 5,
                "restart requeue software": 20,
                "restart launch software": 10,
                "restart first_step software": 20_000 - 70,
            },
            id="a restart dies in initialisation, and the next hangs",
        ),
        pytest.param(
            TWO_ATTEMPTS_OVERLAP,
            None,
            {
                "startup launch": 4,
                "preemption launch preemption": 2,
                "restart requeue network": 3,
                "restart load network": 11,
                "useful step": 6,
            },
            id="an attempt that outlives its successor",
        ),
        pytest.param(
            A_STEP_FILLS_AN_HOUR,
            None,
            {
                "startup launch": 2,
                "useful step": 29 * 2 + 4 + 2 + 2,
                # 4.000001 − 2, and 7,331.999999 − 50 − 2.
                "unattributed slow_step": 2.000001 + 7279.999999,
                "straggler step": 50,
            },
            id="a hang that fills an hour",
        ),
    ],
)
def test_a_hard_stream_has_the_ledger_worked_out_by_hand(
    derive: Derive, stream: tuple[list[Any], list[Any]], as_of: float | None, expected: Seconds
) -> None:
    lifecycle, steps = stream
    assert derive(lifecycle, steps, as_of).ledger() == pytest.approx(expected, abs=1e-9)
    assert plainly(lifecycle, steps, as_of) == pytest.approx(expected, abs=1e-9)
