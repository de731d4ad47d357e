"""What tenants used of their shares: the GPUs that their jobs held, from each allocation on."""

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import fleet
import harness
import pytest
from fleet import HOUR_US, at

from answers import shares
from answers.mart import current
from metrics.errors import HeadwayError
from metrics.policy import Policy

POLICY = harness.POLICY.model_copy(update={"shares": {"a": 8}})
EVER_US = (0, 2**62)


def record(event: str, hours: float, **fields: Any) -> fleet.Record:
    return {"event": event, "ts_us": at(hours), "job": "j", **fields}


BEGAN = [
    record("job_submitted", 0, tier="standard", tenant="a", gpus=8),
    record("resources_allocated", 0, attempt=0, nodes=["n"]),
]
STEPS = [
    {"job": "j", "attempt": 0, "step": n, "ts_us": at(n), "duration_us": HOUR_US} for n in (1, 2)
]
"""Two steps of an hour each."""


def used(
    *lifecycle: fleet.Record, steps: list[fleet.Record] = STEPS, policy: Policy = POLICY
) -> Any:
    """GPU-hours that tenant a used by hour; the store's time ends at hour 6."""
    site = fleet.Fleet()
    end = record("node_state", 6, node="x", gpus=8, state="idle") | {"job": None}
    site.lifecycle, site.steps = [*lifecycle, end], steps
    with tempfile.TemporaryDirectory() as folder:
        home = site.publish(Path(folder), policy)
        with fleet.facts(home, policy) as facts:
            found = shares.rows(facts.mart, policy, EVER_US)
    return [row["used_gpu_us"] / HOUR_US for row in found]


def test_a_job_uses_its_gpus_from_its_allocation_to_its_end() -> None:
    assert used(*BEGAN, record("job_ended", 2.5, outcome="completed")) == [8, 8, 4]


def test_a_job_that_is_requeued_uses_nothing() -> None:
    stopped = record("interruption", 2, attempt=0, cause="hardware")
    again = record("resources_allocated", 3, attempt=1, nodes=["n"])
    assert used(*BEGAN, stopped, again, record("job_ended", 4, outcome="failed")) == [8, 8, 0, 8]


def test_a_job_that_gave_its_nodes_back_uses_nothing_until_it_gets_others() -> None:
    # Suspended from 2 to 3, then waiting for GPUs until 5.
    parked = [
        record("job_suspended", 2),
        record("job_resumed", 3),
        record("job_pending", 3, reason="quota"),
        record("resources_allocated", 5, attempt=1, nodes=["n"]),
    ]
    assert used(*BEGAN, *parked) == [8, 8, 0, 0, 0, 8]


def test_a_job_that_nobody_noticed_to_stop_uses_nothing_once_it_waits() -> None:
    unnoticed = [
        record("job_pending", 3, reason="quota"),
        record("resources_allocated", 5, attempt=1, nodes=["n"]),
    ]
    assert used(*BEGAN, *unnoticed) == [8, 8, 8, 0, 0, 8]


def test_a_job_that_is_suspended_on_its_nodes_still_uses_them() -> None:
    paused = [record("job_suspended", 2), record("job_resumed", 4)]
    later = {"job": "j", "attempt": 0, "step": 3, "ts_us": at(5), "duration_us": HOUR_US}
    ended = record("job_ended", 5, outcome="completed")
    assert used(*BEGAN, *paused, ended, steps=[*STEPS, later]) == [8] * 5


def test_of_a_job_without_an_allocation_on_record_its_wall_clock_counts() -> None:
    ended = record("job_ended", 2.5, outcome="completed")
    assert used(BEGAN[0], ended) == [8, 8, 4]


@pytest.mark.parametrize("guaranteed", [{}, {"a": 0}])
def test_what_is_used_does_not_depend_on_what_is_guaranteed(guaranteed: dict[str, int]) -> None:
    policy = harness.POLICY.model_copy(update={"shares": guaranteed})
    assert used(*BEGAN, record("job_ended", 2, outcome="completed"), policy=policy) == [8, 8]


@pytest.mark.parametrize(
    "ask",
    [
        lambda mart: shares.rows(mart, POLICY, EVER_US),
        lambda mart: mart.keep("kept", "from holds"),
        lambda mart: mart.define("defined", "from holds"),
    ],
    ids=["rows", "a table that is kept", "a query that is named"],
)
def test_a_mart_of_another_version_is_told_as_that(tmp_path: Path, ask: Any) -> None:
    site = fleet.Fleet()
    site.lifecycle, site.steps = BEGAN, STEPS
    home = site.publish(tmp_path, POLICY)
    with duckdb.connect(home.mart / current(home)) as con:
        con.execute("drop table holds")
    with (
        pytest.raises(HeadwayError, match=r"lack what this Headway reads.*`headway refresh`"),
        fleet.facts(home, POLICY) as facts,
    ):
        ask(facts.mart)
