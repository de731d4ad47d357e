"""The promise of checkpoints from events alone: failures of storage, proofs, figures."""

from pathlib import Path
from typing import Any

from fleet import HOUR_US, Fleet, at

from answers.durability import Durability, durability
from answers.facts import Facts
from answers.home import Home
from answers.mart import open_mart
from metrics.adjustments import Adjustments
from metrics.durability import Promise
from metrics.objectives import StorageFailure
from metrics.scope import Scope


def ask(home: Home, hours: float = 100) -> tuple[Durability, list[StorageFailure]]:
    with open_mart(home) as mart:
        facts = Facts(mart, home.policy(), Adjustments((), ()))
        return durability(facts, Scope(), at(hours)), facts.storage_failures


def resumed(
    step: int, cause: str = "hardware", saved: tuple[int, ...] = (20, 40), **loaded: Any
) -> Fleet:
    """A job that saves, stops at hour 50 and goes on after `step`: an hour a step, due every 20."""
    fleet = Fleet()
    fleet.submit(0, checkpoint_interval_us=20 * HOUR_US)
    fleet.allocate(0)
    fleet.train(0, 50)
    for number in saved:
        fleet.tell("checkpoint_completed", at(number), attempt=0, step=number)
    fleet.interrupt(50, cause)
    fleet.tell("checkpoint_loaded", at(51), attempt=1, step=step, **loaded)
    fleet.train(51, 40, attempt=1, number=step + 1)
    return fleet


def test_an_attempt_that_takes_up_the_newest_checkpoint_is_no_storage_failure(
    tmp_path: Path,
) -> None:
    found, failures = ask(resumed(40).publish(tmp_path))
    assert (failures, found.promise) == ([], Promise.UNPROVEN)


def test_an_older_checkpoint_than_the_newest_though_nobody_asked_breaks_the_promise(
    tmp_path: Path,
) -> None:
    found, failures = ask(resumed(20).publish(tmp_path))
    # 30 h of steps, 21 to 50, are done again; 20 h are promised.
    told = StorageFailure("big", at(50), "older checkpoint", 30 * HOUR_US, 20 * HOUR_US, None)
    assert failures == [told]
    assert found.promise is Promise.BROKEN


def test_a_deliberate_roll_back_is_no_storage_failure(tmp_path: Path) -> None:
    found, failures = ask(resumed(20, deliberate=True).publish(tmp_path))
    assert (failures, found.promise) == ([], Promise.UNPROVEN)


def test_a_checkpoint_that_was_passed_over_once_is_not_missed_again(tmp_path: Path) -> None:
    fleet = resumed(20, deliberate=True)
    fleet.interrupt(91, "hardware", attempt=1)
    fleet.tell("checkpoint_loaded", at(92), attempt=2, step=20)  # nothing was saved since
    fleet.train(92, 5, attempt=2, number=21)
    _, failures = ask(fleet.publish(tmp_path))
    assert failures == []


def test_an_interruption_by_storage_within_one_interval_keeps_the_promise(tmp_path: Path) -> None:
    fleet = resumed(40, cause="storage")
    fleet.tell("restore_test", at(60), step=40, result="pass")
    found, failures = ask(fleet.publish(tmp_path))
    told = StorageFailure("big", at(50), "interruption", 10 * HOUR_US, 20 * HOUR_US, at(60))
    assert failures == [told]
    assert found.promise is Promise.KEPT


def test_storage_and_an_older_checkpoint_are_one_failure(tmp_path: Path) -> None:
    _, failures = ask(resumed(20, cause="storage").publish(tmp_path))
    assert [(f.kind, f.lost_us) for f in failures] == [("interruption", 30 * HOUR_US)]


def test_a_failed_test_of_the_newest_would_cost_what_was_done_since_the_one_before(
    tmp_path: Path,
) -> None:
    fleet = resumed(40)
    fleet.tell("restore_test", at(45), step=40, result="fail", duration_us=HOUR_US)
    found, failures = ask(fleet.publish(tmp_path))
    # A restart at hour 45 would go back to the checkpoint of hour 20.
    told = StorageFailure("big", at(45), "failed test", 25 * HOUR_US, 20 * HOUR_US, None)
    assert failures == [told]
    assert found.promise is Promise.BROKEN


def test_a_failed_test_of_an_older_checkpoint_is_none_and_counts_in_the_rate(
    tmp_path: Path,
) -> None:
    fleet = resumed(40)
    fleet.tell("restore_test", at(45), step=20, result="fail")
    fleet.tell("restore_test", at(46), step=40, result="pass")
    found, failures = ask(fleet.publish(tmp_path))
    assert (failures, found.promise) == ([], Promise.KEPT)
    (run,) = found.runs
    assert (run.passes, run.failures, run.age_us) == (1, 1, 54 * HOUR_US)
    assert (run.tested_steps, run.completed_steps) == (1, 2)


def test_a_test_counts_for_the_checkpoint_that_was_newest_when_it_began(tmp_path: Path) -> None:
    fleet = resumed(20)
    fleet.tell("checkpoint_completed", at(70), attempt=1, step=39)
    fleet.tell("checkpoint_completed", at(80), attempt=1, step=49)
    # It began at hour 75 and ended after the next checkpoint was complete.
    fleet.tell("restore_test", at(81), step=39, result="pass", duration_us=6 * HOUR_US)
    found, (failure,) = ask(fleet.publish(tmp_path))
    assert failure.mended_us == at(81)
    assert found.promise is Promise.KEPT


def test_a_loss_that_nobody_can_tell_leaves_the_promise_unproven(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.tell("process_started", at(0), attempt=0)
    fleet.tell("checkpoint_completed", at(5), attempt=0, step=5)
    fleet.tell("restore_test", at(6), step=5, result="pass")
    fleet.interrupt(9, "storage")
    fleet.allocate(10, attempt=1)
    fleet.tell("process_started", at(30), attempt=1)
    found, (failure,) = ask(fleet.publish(tmp_path), hours=30)
    assert (failure.lost_us, failure.is_judged) == (None, False)
    assert found.promise is Promise.UNPROVEN


def test_an_older_checkpoint_alone_proves_nothing(tmp_path: Path) -> None:
    fleet = resumed(40)
    fleet.tell("restore_test", at(60), step=20, result="pass")
    found, _ = ask(fleet.publish(tmp_path))
    assert (found.promise, found.runs[0].last_pass_us) == (Promise.UNPROVEN, None)


def test_the_fleets_promise_is_that_of_its_worst_run(tmp_path: Path) -> None:
    fleet = resumed(40)
    fleet.tell("restore_test", at(60), step=40, result="pass")
    fleet.submit(0, job="other")
    fleet.allocate(0, job="other")
    fleet.train(0, 50, job="other")
    found, _ = ask(fleet.publish(tmp_path))
    assert {run.job: run.promise for run in found.runs} == {
        "big": Promise.KEPT,
        "other": Promise.UNPROVEN,
    }
    assert found.promise is Promise.UNPROVEN
    assert [run.job for run in found.unproven] == ["other"]


def test_without_a_large_run_nothing_is_proven(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0, gpus=1)
    fleet.allocate(0)
    fleet.train(0, 2)
    found, _ = ask(fleet.publish(tmp_path), hours=2)
    assert (found.promise, found.runs, found.bound) == (Promise.UNPROVEN, (), None)


def test_before_any_record_there_is_no_proof(tmp_path: Path) -> None:
    found, _ = ask(resumed(40).publish(tmp_path), hours=0)
    assert found.promise is Promise.UNPROVEN
