"""What is found in a job's records, under the policy's numbers."""

from typing import Any

import duckdb
import harness
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
    submitted,
    tick,
)

HELD = allocated(0, gpus=8)
"""With it the GPUs are known, and one finding fewer is made."""
FIVE = steps(0, 1, 5)


@pytest.mark.parametrize(
    ("lifecycle", "steps", "expected"),
    [
        pytest.param([HELD, ended(60)], FIVE, [], id="nothing in good records"),
        # Step 5 ends at 50; 6 begins at 50 less what it is too long.
        pytest.param([HELD], [*FIVE, step(60, 6, 10.001)], [], id="a begin 1 ms before the end"),
        pytest.param(
            [HELD],
            [*FIVE, step(60, 6, 10.001001), step(70, 7, 30)],
            [("clipped overlaps", None, 2)],
            id="begins more than 1 ms before the end",
        ),
        pytest.param(
            [HELD, interrupted(55)],
            [*FIVE, step(60, 6, 30, 1)],
            [],
            id="not the first step of an attempt, which is not painted",
        ),
        pytest.param(
            [HELD], [*FIVE, step(60, 6, data_wait=6, overhead=4)], [], id="components that fit"
        ),
        pytest.param(
            [HELD],
            [*FIVE, step(60, 6, data_wait=6, overhead=4.000001), step(70, 7, straggler=11)],
            [("over-reported components", None, 2)],
            id="components longer than their step",
        ),
        pytest.param(
            [HELD],
            [*FIVE, step(60, 8), step(70, 10)],
            [("step numbers jump", 0, 3)],  # 6, 7 and 9
            id="step numbers that jump",
        ),
        pytest.param(
            [HELD, interrupted(50), loaded(55, 1, 5)],
            [*FIVE, step(60, 6, 5, 1)],
            [],
            id="a resumption where the checkpoint says",
        ),
        pytest.param(
            [HELD, interrupted(50), loaded(55, 1, 3)],
            [*FIVE, step(60, 6, 5, 1)],
            [("resume contradicts checkpoint_loaded", 1, 1)],
            id="a resumption elsewhere",
        ),
        pytest.param([HELD, loaded(5)], [*FIVE], [], id="from scratch, counted from 1"),
        pytest.param([HELD, loaded(0)], steps(0, 0, 4), [], id="from scratch, counted from 0"),
        pytest.param(
            [HELD, allocated(2, gpus=8)],
            FIVE,
            [("attempt allocated twice", 0, 2)],
            id="two allocations of an attempt",
        ),
        pytest.param(
            [submitted(10.000001), HELD],
            FIVE,
            [("started before it was submitted", None, 1)],
            id="a first step before the submission",
        ),
        pytest.param([submitted(10), HELD], FIVE, [], id="a first step at the submission"),
        pytest.param([HELD, tick(50 + 6 * HOUR)], FIVE, [], id="six hours without a word"),
        pytest.param(
            [HELD, tick(50.000001 + 6 * HOUR)], FIVE, [("silent", None, 1)], id="more than that"
        ),
        pytest.param(
            [allocated(0)], FIVE, [("GPUs unknown", None, 1)], id="GPUs that nobody names"
        ),
        pytest.param(
            [HELD, tick(90)], [], [("not instrumented", None, 1)], id="a job without step records"
        ),
        pytest.param([submitted(0, gpus=8), tick(90)], [], [], id="one that never ran is neither"),
        pytest.param(
            [submitted(0, gpus=8, tier="gpu_a100"), tick(90)],
            [],
            [("tier not in the policy", None, 1)],
            id="a tier that the policy does not have",
        ),
        pytest.param(
            [submitted(0, gpus=8, tier="research"), tick(90)],
            [],
            [],
            id="an alias of one that it has",
        ),
    ],
)
def test_what_deserves_a_look_is_found(
    warehouse: duckdb.DuckDBPyConnection,
    derive: Derive,
    lifecycle: list[Record],
    steps: list[Record],
    expected: list[tuple[Any, ...]],
) -> None:
    derive(lifecycle, steps)
    found = harness.published(warehouse, "findings")["findings"]
    assert [(row["finding"], row["attempt"], row["count"]) for row in found] == expected


def test_a_finding_says_what_it_found(warehouse: duckdb.DuckDBPyConnection, derive: Derive) -> None:
    derive([HELD, interrupted(50), loaded(55, 1, 3)], [*FIVE, step(60, 6, 5, 1), step(70, 9, 5, 1)])
    found = harness.published(warehouse, "findings")["findings"]
    assert {row["finding"]: row["detail"] for row in found} == {
        "resume contradicts checkpoint_loaded": "the first step is 6, the checkpoint loaded was of"
        " step 3",
        "step numbers jump": "step numbers missing between 6 and 9",
    }


@pytest.mark.parametrize(
    ("slack_s", "last", "is_found"),
    [
        (60, 160, False),
        (60, 160.000001, True),
        (90, 160.000001, False),
        (90, 190.5, True),
        (0, 100, False),
        (0, 100.000001, True),
    ],
)
def test_steps_go_on_after_an_interruption_for_as_long_as_the_policy_says(
    warehouse: duckdb.DuckDBPyConnection,
    derive: Derive,
    slack_s: int,
    last: float,
    is_found: bool,
) -> None:
    derive([allocated(0), interrupted(100)], [*steps(0, 1, 5), step(last, 6)])
    checks = harness.POLICY.checks.model_copy(update={"clock_slack_s": slack_s})
    policy = harness.POLICY.model_copy(update={"checks": checks})
    found = harness.published(warehouse, "findings", policy=policy)["findings"]
    assert ("steps after an interruption" in [row["finding"] for row in found]) is is_found
