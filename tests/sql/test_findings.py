"""What is found in a job's records, under the policy's numbers."""

import duckdb
import harness
import pytest
from build import Derive, allocated, interrupted, step, steps


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
