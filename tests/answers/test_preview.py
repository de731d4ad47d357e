"""What a planned change would cost, worked out by hand."""

from pathlib import Path
from typing import Any

import harness
import pytest
from fleet import HOUR_US, Fleet, at, facts

from answers.preview import preview
from metrics.errors import UsageError
from metrics.planner import cheapest_hours
from metrics.policy import Minimum, Policy, load_policy

MINUTE_US = 60_000_000


def drained(
    tmp_path: Path,
    minutes: int,
    nodes: list[str],
    hours: float = 100,
    policy: Policy = harness.POLICY,
) -> dict[str, Any]:
    """A job of 8 GPUs on n1 that restarts in an hour and saves every 2 h, after 100 h."""
    fleet = Fleet()
    fleet.submit(0, checkpoint_interval_us=2 * HOUR_US)
    fleet.tell("resources_allocated", at(0), attempt=0, nodes=["n1", "n2"])
    fleet.train(0, 50)
    fleet.interrupt(50, "network")
    fleet.train(50, 50, attempt=1, number=51)
    fleet.submit(0, job="elsewhere")
    fleet.tell("resources_allocated", at(0), "elsewhere", attempt=0, nodes=["n9"])
    fleet.train(0, 100, "elsewhere")
    with facts(fleet.publish(tmp_path), policy) as found:
        return preview(found, "node_drain", nodes, minutes * MINUTE_US, at(hours))


def test_a_job_loses_the_downtime_its_own_restart_and_half_an_interval(tmp_path: Path) -> None:
    found = drained(tmp_path, 45, ["n1"])
    (job,) = found["jobs"]
    # 45 min away, 60 min of restart as measured, 60 min of work done again.
    assert (job["job"], job["lost_us"]) == ("big", 165 * MINUTE_US)
    (goodput,) = [b for b in found["budgets"] if b["slo"] == "goodput"]
    # 200 h of wall by 8 GPUs: 160 GPU-h allowed. Lost: 2 h of startup and 1 h of restart, 24 GPU-h.
    assert goodput["remaining"] == (160 - 24) * HOUR_US
    # 22 GPU-h more are lost of 22 more: of those a tenth would have been allowed.
    assert goodput["remaining_after"] == (160 - 24) * HOUR_US - 22 * HOUR_US * 9 // 10
    assert found["would_freeze"] is False


def test_a_drain_that_would_spend_the_rest_is_told_to_freeze(tmp_path: Path) -> None:
    # 136 GPU-h are left; a loss of x leaves 136 - 0.9 x: x = 151.1 GPU-h, 18.9 h of this job.
    assert drained(tmp_path, 60 * 17, ["n1"])["would_freeze"] is True


def test_on_stale_data_it_says_that_it_cannot_tell(tmp_path: Path) -> None:
    assert drained(tmp_path, 60 * 17, ["n1"], hours=103)["would_freeze"] is None


def test_a_budget_that_is_spent_before_is_not_spent_by_the_change(tmp_path: Path) -> None:
    # Its one restart took 60 min where 10 are allowed: 1 of 1 missed, on old data too.
    at_least_one = load_policy(None).model_copy(update={"minimum": Minimum(events=1)})
    for hours in (100, 103):
        found = drained(tmp_path / str(hours), 1, ["n9"], hours, at_least_one)
        assert [b["exhausts"] for b in found["budgets"]] == [False] * len(found["budgets"])


@pytest.mark.parametrize("nodes", [[], ["n1", "n3"]])
def test_a_node_that_nobody_knows_is_refused(tmp_path: Path, nodes: list[str]) -> None:
    with pytest.raises(UsageError, match=r"no allocation names it|names none"):
        drained(tmp_path, 45, nodes)


def test_the_cheapest_hours_are_those_with_the_least_work_in_the_last_weeks() -> None:
    week_us = 168 * HOUR_US
    work = {hour * HOUR_US: 10 for hour in range(168 * 4)}
    work[5 * HOUR_US] = work[5 * HOUR_US + week_us] = 0  # in two of four weeks: mean 5
    work[7 * HOUR_US] = 2  # in one of four: mean 8
    found = cheapest_hours(work, 4 * week_us, most=3)
    assert [((us - 4 * week_us) // HOUR_US, mean) for us, mean in found] == [
        (5, 5),
        (7, 8),
        (0, 10),
    ]
