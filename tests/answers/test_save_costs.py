"""What a job's checkpoints cost, as its records tell, worked out by hand."""

from pathlib import Path

import pytest
from fleet import HOUR_US, Fleet, at, facts

from answers.planning.measured import advised, measured
from metrics.errors import UsageError
from metrics.scope import Scope

HOUR_S = 3600


def save(fleet: Fleet, start: float, end: float, step: int, job: str = "big") -> None:
    """A checkpoint of a terabyte, in which the loop stands still."""
    fleet.tell("checkpoint_started", at(start), job, attempt=0, step=step)
    fleet.tell("checkpoint_completed", at(end), job, attempt=0, step=step, bytes=10**12)


def two_saves_and_a_restart() -> Fleet:
    """8 GPUs for 36.3 h: saves of 0.1 h and 0.2 h; down for 2 h, of which 0.5 h nobody noticed."""
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 10)
    save(fleet, 10, 10.1, 10)
    fleet.train(10.1, 10, number=11)
    save(fleet, 20.1, 20.3, 20)
    fleet.train(20.3, 5, number=21)
    fleet.interrupt(25.8, "hardware")
    fleet.allocate(26.3, attempt=1)
    fleet.train(26.3, 10, attempt=1, number=21)
    fleet.end(36.3)
    return fleet


def with_another() -> Fleet:
    """The same beside a job of 16 GPUs and 49 h that was interrupted four times, 2 h each."""
    fleet = two_saves_and_a_restart()
    fleet.submit(0, job="other", gpus=16)
    for attempt in range(5):
        fleet.allocate(10 * attempt, "other", attempt)
        fleet.train(10 * attempt, 9, "other", attempt, 9 * attempt + 1)
        if attempt < 4:
            fleet.interrupt(10 * attempt + 9, "preemption", "other", attempt)
    fleet.end(49, "other")
    return fleet


def test_a_save_costs_what_blocked_the_loop_by_the_checkpoints_completed(tmp_path: Path) -> None:
    with facts(two_saves_and_a_restart().publish(tmp_path)) as found:
        job = measured(found, "big")
    assert job.blocks_s == pytest.approx(0.15 * HOUR_S)
    assert (job.saves, job.size, job.step_s) == (2, 10**12, HOUR_S)
    assert job.write_s == pytest.approx(0.1 * HOUR_S)  # the lower of two is their median
    assert job.interval_s == pytest.approx(10.2 * HOUR_S)  # completed at 10.1 h and 20.3 h


def test_a_restart_costs_the_time_before_its_detection_too(tmp_path: Path) -> None:
    with facts(two_saves_and_a_restart().publish(tmp_path)) as found:
        job = measured(found, "big")
    # From the last step's end at 25.3 h to the next first step at 27.3 h.
    assert job.restart_s == pytest.approx(2 * HOUR_S)
    assert job.restart_of == "1 restart of its own"


def test_where_no_other_job_tells_more_its_own_few_failures_count(tmp_path: Path) -> None:
    with facts(two_saves_and_a_restart().publish(tmp_path)) as found:
        failures = measured(found, "big").failures
    assert failures is not None
    assert (failures.of, failures.restarts) == ("own", 1)
    assert failures.between_s.mean == pytest.approx(36.3 * HOUR_S)
    # Garwood's limits of one event: 0.0253 and 5.572.
    assert failures.between_s.low == pytest.approx(36.3 * HOUR_S / 5.572, rel=1e-3)


def test_while_its_failures_are_few_the_fleets_rate_is_scaled_by_its_gpus(tmp_path: Path) -> None:
    with facts(with_another().publish(tmp_path)) as found:
        big, other = measured(found, "big"), measured(found, "other")
        of_32 = measured(found, "big", gpus=32)
    # (36.3 x 8 + 49 x 16) GPU-h = 1,074.4 GPU-h with 5 restarts: 214.88 GPU-h between two.
    assert big.failures and other.failures and of_32.failures
    assert big.failures.between_s.mean == pytest.approx(214.88 / 8 * HOUR_S)
    assert other.failures.between_s.mean == pytest.approx(214.88 / 16 * HOUR_S)
    assert of_32.failures.between_s.mean == pytest.approx(214.88 / 32 * HOUR_S)
    assert (big.failures.of, big.failures.restarts) == ("fleet", 5)
    # Five events: 1.623 and 11.668.
    assert big.failures.between_s.high == pytest.approx(1074.4 / 8 / 1.623 * HOUR_S, rel=1e-3)


def test_a_job_that_failed_often_enough_is_planned_with_its_own_rate(tmp_path: Path) -> None:
    fleet = with_another()
    fleet.lifecycle = [r for r in fleet.lifecycle if r["event"] != "job_ended"]
    fleet.interrupt(49, "network", "other", 4)
    fleet.end(50, "other", "failed")
    fleet.end(36.3)
    with facts(fleet.publish(tmp_path)) as found:
        failures = measured(found, "other").failures
    assert failures is not None
    assert (failures.of, failures.restarts) == ("own", 5)
    assert failures.between_s.mean == pytest.approx(50 / 5 * HOUR_S)


def test_a_job_without_checkpoints_has_no_known_cost_of_a_save(tmp_path: Path) -> None:
    with facts(with_another().publish(tmp_path)) as found:
        other = measured(found, "other")
    assert (other.blocks_s, other.write_s, other.size, other.interval_s) == (None,) * 4
    assert other.costs is None


def test_a_job_that_never_ran_is_refused_in_words(tmp_path: Path) -> None:
    fleet = two_saves_and_a_restart()
    fleet.submit(3, job="waiting")
    with facts(fleet.publish(tmp_path)) as found:
        with pytest.raises(UsageError, match="--job waiting: it has not run yet"):
            measured(found, "waiting")
        with pytest.raises(UsageError, match=r"no such job among 2; did you mean big\?"):
            measured(found, "bigg")


def test_each_large_run_has_its_interval_beside_the_advised_one(tmp_path: Path) -> None:
    with facts(with_another().publish(tmp_path)) as found:
        big, other = advised(found, Scope(), at(49))
    # C = 540 s, M = 96,696 s: T* = sqrt(2 x 540 x 96,696) = 10,219 s.
    assert big["advised_us"] / 1e6 == pytest.approx(10_219, abs=1)
    assert big["interval_us"] == round(10.2 * HOUR_US)
    # 540 / 36,720 + 36,720 / 193,392 = 0.0147 + 0.1899, against 2 x 540 / 10,219 = 0.1057.
    assert big["overhead"] == pytest.approx(0.2046, abs=5e-5)
    assert big["advised_overhead"] == pytest.approx(0.1057, abs=5e-5)
    assert big["within"] is False
    assert big["flat_low_us"] < big["advised_us"] < big["flat_high_us"]
    assert (other["advised_us"], other["within"], other["save_us"]) == (None, None, None)
    assert other["mtbf_of"] == "fleet"


def test_the_list_is_of_the_scope_that_is_asked_for(tmp_path: Path) -> None:
    with facts(with_another().publish(tmp_path)) as found:
        assert [row["job"] for row in advised(found, Scope(job="other"), at(49))] == ["other"]


def test_a_write_in_the_background_takes_longer_than_it_blocks(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 10)
    for hour, step in ((2, 2), (5, 5), (8, 8)):
        fleet.tell("checkpoint_started", at(hour), attempt=0, step=step, blocking=False)
        fleet.tell("checkpoint_completed", at(hour + 0.5), attempt=0, step=step)
    fleet.steps[4]["checkpoint_us"] = 60_000_000
    fleet.end(10)
    with facts(fleet.publish(tmp_path)) as found:
        job = measured(found, "big")
    assert (job.blocks_s, job.write_s) == (20, 1800)
