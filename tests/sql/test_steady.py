"""Section 3, the steady state: maintenance windows, pauses, phases, detection, gaps, the tail; and
section 2's silence.

Unless said otherwise a job is allocated at 0 and completes steps 1 to 5 at 10, 20, … 50, and what
follows is asked for.
"""

import pytest
from build import (
    DAY,
    HOUR,
    Derive,
    Record,
    allocated,
    ended,
    event,
    interrupted,
    resumed,
    saved,
    saving,
    step,
    steps,
    submitted,
    suspended,
    tick,
)

FIVE = steps(0, 1, 5)
MICROSECOND = 1e-6


def failed(when: float, number: int, attempt: int = 0) -> Record:
    """A checkpoint failed."""
    return event("checkpoint_failed", when, attempt=attempt, step=number)


def phase(when: float, name: str = "evaluation", attempt: int = 0) -> Record:
    """The job's own work begins."""
    return event("phase_started", when, attempt=attempt, name=name)


def phase_ended(when: float, name: str = "evaluation", attempt: int = 0) -> Record:
    """The job's own work is over."""
    return event("phase_ended", when, attempt=attempt, name=name)


# --- gap and tail ---


def test_time_between_steps_is_a_gap_and_after_the_last_a_tail(after_five) -> None:
    # 50 to 60 gap, 60 to 70 step 6, 70 to 80 tail.
    assert after_five(ended(80), steps=[step(70, 6)]) == {
        "unattributed gap": 10,
        "useful step": 10,
        "unattributed tail": 10,
    }


def test_the_tail_is_that_of_the_job_not_of_the_attempt(after_five) -> None:
    # Attempt 1 completes its first step at 70 (noticed at 50) and its last at 90.
    found = after_five(interrupted(50), ended(100), steps=steps(60, 6, 8, 10, 1))
    assert found == {
        "restart requeue hardware": 20,
        "useful step": 20,
        "unattributed tail": 10,
    }


# --- pauses ---


@pytest.mark.parametrize("end", [saved(56, 5), failed(56, 5)], ids=["completed", "failed"])
def test_a_pause_lasts_to_the_checkpoints_end(after_five, end: Record) -> None:
    # Step 6 follows from 60 to 70: 50 to 56 pause, 56 to 60 gap.
    assert after_five(saving(50, 5), end, ended(70), steps=[step(70, 6)]) == {
        "checkpoint pause": 6,
        "unattributed gap": 4,
        "useful step": 10,
    }


def test_a_pause_ends_with_the_first_of_completed_and_failed(after_five) -> None:
    found = after_five(saving(50, 5), failed(53, 5), saved(58, 5), ended(60))
    assert found == {"checkpoint pause": 3, "unattributed tail": 7}


def test_a_checkpoint_blocks_if_it_says_so_or_says_nothing(after_five) -> None:
    found = after_five(saving(50, 5, blocking=True), saved(56, 5), ended(60))
    assert found == {"checkpoint pause": 6, "unattributed tail": 4}


def test_a_checkpoint_that_does_not_block_is_no_pause(after_five) -> None:
    found = after_five(saving(50, 5, blocking=False), saved(56, 5), ended(60))
    assert found == {"unattributed tail": 10}


def test_a_pause_counts_only_where_no_step_is_painted(after_five) -> None:
    # From 55, inside step 6 (50 to 60), to 65: 60 to 65 is left of it.
    found = after_five(saving(55, 5), saved(65, 5), ended(70), steps=[step(60, 6)])
    assert found == {"useful step": 10, "checkpoint pause": 5, "unattributed tail": 5}


@pytest.mark.parametrize(
    "other",
    [saved(53, 4), saved(53, 5, attempt=1), saved(45, 5)],
    ids=["of another step", "of another attempt", "before its start"],
)
def test_another_checkpoints_end_does_not_end_a_pause(after_five, other: Record) -> None:
    assert after_five(saving(50, 5), other, saved(58, 5), ended(60)) == {
        "checkpoint pause": 8,
        "unattributed tail": 2,
    }


def test_an_end_at_the_very_start_makes_a_pause_of_nothing(after_five) -> None:
    assert after_five(saving(50, 5), saved(50, 5), ended(60)) == {"unattributed tail": 10}


def test_two_pauses_that_overlap_count_once(after_five) -> None:
    # 50 to 56 and 54 to 59.
    found = after_five(saving(50, 5), saving(54, 4), saved(56, 5), saved(59, 4), ended(60))
    assert found == {"checkpoint pause": 9, "unattributed tail": 1}


def test_a_pause_ends_at_the_next_boundary_if_that_is_earlier(after_five) -> None:
    # Noticed at 55: nothing is left to detect, and the pause does not reach into the down state
    # nor beyond it: 1's first step completes at 70, and the tail from there to 80 is no pause.
    found = after_five(
        saving(50, 5), interrupted(55), saved(90, 5), ended(80), steps=[step(70, 6, 5, 1)]
    )
    assert found == {
        "checkpoint pause": 5,
        "restart requeue hardware": 15,
        "unattributed tail": 10,
    }


def test_a_boundary_at_its_start_does_not_end_a_pause(derive: Derive) -> None:
    # The first step completes at 10 as the pause begins; it lasts to 16, step 2 from 20 to 30.
    answers = derive(
        [allocated(0), saving(10, 1), saved(16, 1), ended(30)], [step(10, 1), step(30, 2)]
    )
    assert answers.ledger() == {
        "startup launch": 10,
        "checkpoint pause": 6,
        "unattributed gap": 4,
        "useful step": 10,
    }


def test_a_pause_without_an_end_lasts_to_the_next_painted_beginning(after_five) -> None:
    # Step 6 is painted from 65.
    found = after_five(saving(52, 5), ended(80), steps=[step(75, 6)])
    assert found == {
        "unattributed gap": 2,
        "checkpoint pause": 13,
        "useful step": 10,
        "unattributed tail": 5,
    }


def test_a_step_that_runs_as_the_pause_begins_does_not_end_it(after_five) -> None:
    # Begun at 45, while step 5 runs from 40 to 50: the next beginning is that of step 6, at 65.
    assert after_five(saving(45, 5), ended(75), steps=[step(75, 6)]) == {
        "checkpoint pause": 15,
        "useful step": 10,
    }


def test_a_painted_beginning_at_its_very_start_ends_a_pause(after_five) -> None:
    # Step 6 (50 to 60) begins as the pause does; the gap before step 7 (70 to 80) is none of it.
    assert after_five(saving(50, 5), ended(80), steps=[step(60, 6), step(80, 7)]) == {
        "unattributed gap": 10,
        "useful step": 20,
    }


def test_a_step_that_paints_nothing_ends_an_endless_pause_too(after_five) -> None:
    # Step 6 has no length: it begins, and ends, at 56.
    assert after_five(saving(50, 5), ended(70), steps=[step(56, 6, 0), step(70, 7)]) == {
        "checkpoint pause": 6,
        "unattributed gap": 4,
        "useful step": 10,
    }


def test_a_first_steps_beginning_ends_an_endless_pause_too(after_five) -> None:
    # 1's first step lasts from 65 to 80, where it ends progress without an interruption: what is
    # not pause from 50 on is detection. A step of 10 s is painted after it.
    found = after_five(saving(50, 5), ended(90), steps=[step(80, 6, 15, 1), step(90, 7, 10, 1)])
    assert found == {
        "checkpoint pause": 15,
        "restart detect unknown": 15,
        "useful step": 10,
    }


def test_a_pause_without_an_end_lasts_to_the_next_boundary_if_that_is_earlier(after_five) -> None:
    found = after_five(saving(52, 5), interrupted(60), ended(70))
    assert found == {
        "restart detect hardware": 2,
        "checkpoint pause": 8,
        "restart requeue hardware": 10,
    }


def test_a_pause_without_anything_after_it_lasts_to_the_end_of_the_wall(after_five) -> None:
    assert after_five(saving(52, 5), ended(60)) == {"unattributed tail": 2, "checkpoint pause": 8}


def test_an_endless_pause_is_ended_by_the_earliest_beginning_in_whatever_hour(
    derive: Derive,
) -> None:
    # The pause begins at 3500; step 6 is painted from 3700 to 3800.
    answers = derive([allocated(0), saving(3500, 5), ended(3800)], [*FIVE, step(3800, 6, 100)])
    assert answers.hours() == {
        0: {
            "startup launch": 10,
            "useful step": 40,
            "unattributed gap": 3450,
            "checkpoint pause": 100,
        },
        1: {"checkpoint pause": 100, "useful step": 100},
    }


def test_there_is_no_pause_while_the_job_starts(derive: Derive) -> None:
    answers = derive([allocated(0), saving(2, 0), saved(8, 0), ended(10)], [step(10, 1)])
    assert answers.ledger() == {"startup launch": 10}


# --- phases ---


def test_a_phase_lasts_to_its_end(after_five) -> None:
    assert after_five(phase(52), phase_ended(58), ended(60)) == {
        "job phase": 6,
        "unattributed tail": 4,
    }


@pytest.mark.parametrize(
    "other",
    [phase_ended(54, "sampling"), phase_ended(54, attempt=1)],
    ids=["of another name", "of another attempt"],
)
def test_another_phases_end_does_not_end_a_phase(after_five, other: Record) -> None:
    assert after_five(phase(50), other, phase_ended(58), ended(60)) == {
        "job phase": 8,
        "unattributed tail": 2,
    }


def test_a_phase_without_an_end_lasts_to_the_next_painted_beginning(after_five) -> None:
    assert after_five(phase(50), ended(80), steps=[step(80, 6)]) == {
        "job phase": 20,
        "useful step": 10,
    }


def test_a_phase_that_lasts_to_the_interruption_leaves_nothing_to_detect(after_five) -> None:
    assert after_five(phase(50), interrupted(70), phase_ended(75), ended(80)) == {
        "job phase": 20,
        "restart requeue hardware": 10,
    }


def test_a_step_inside_a_phase_is_a_step(after_five) -> None:
    # 50 to 80 with a step of the attempt from 60 to 70 inside.
    assert after_five(phase(50), phase_ended(80), ended(80), steps=[step(70, 6)]) == {
        "job phase": 20,
        "useful step": 10,
    }


# --- maintenance windows ---


def window(begin: float, end: float | None = None, id: str = "m", **whom: object) -> list[Record]:
    """A maintenance window that was carried out."""
    records = [event("maintenance_started", begin, None, id=id, **whom)]
    if end is not None:
        records.append(event("maintenance_ended", end, None, id=id, cluster=whom.get("cluster")))
    return records


@pytest.mark.parametrize(
    ("whom", "affected"),
    [
        pytest.param({"jobs": ["i", "j"]}, True, id="the jobs that it names"),
        pytest.param({"jobs": ["i"]}, False, id="not a job that it does not name"),
        pytest.param({"nodes": ["n1", "n2"]}, True, id="jobs on a node that it names"),
        pytest.param({"nodes": ["n2"]}, False, id="not jobs on other nodes"),
        pytest.param({"jobs": ["i"], "nodes": ["n1"]}, True, id="named jobs and jobs on nodes"),
        pytest.param({"jobs": ["j"], "nodes": ["n2"]}, True, id="a named job on other nodes"),
        pytest.param({}, True, id="with neither, every job of its cluster"),
        pytest.param({"cluster": "east"}, False, id="no job of another cluster"),
    ],
)
def test_a_window_affects(derive: Derive, whom: dict, affected: bool) -> None:
    answers = derive([allocated(0, nodes=["n1"]), *window(60, 90, **whom), ended(100)], FIVE)
    assert answers.ledger().get("maintenance window", 0) == (30 if affected else 0)


def test_a_window_of_a_cluster_affects_its_jobs(derive: Derive) -> None:
    answers = derive(
        [submitted(0, cluster="east"), allocated(0), *window(60, 90, cluster="east"), ended(100)],
        FIVE,
    )
    assert answers.ledger()["maintenance window"] == 30


def test_a_window_of_the_default_cluster_does_not_affect_a_job_of_another(derive: Derive) -> None:
    answers = derive(
        [submitted(0, cluster="east"), allocated(0), *window(60, 90), ended(100)], FIVE
    )
    assert "maintenance window" not in answers.ledger()


def test_a_window_affects_a_job_only_while_its_latest_allocation_holds_a_named_node(
    after_five,
) -> None:
    # The window on n1 lasts from 60 to 90. The job moves to n1 at 70 and off it at 80 (both
    # allocations name an attempt that trains already, so they are no boundaries).
    found = after_five(
        allocated(70, nodes=["n1", "n2"]),
        allocated(80, nodes=["n2"]),
        *window(60, 90, nodes=["n1"]),
        ended(100),
    )
    assert found == {"maintenance window": 10, "unattributed tail": 40}


def test_a_window_counts_only_where_no_step_is_painted(after_five) -> None:
    # From 55 to 75; step 6 is painted from 60 to 70.
    found = after_five(*window(55, 75), ended(80), steps=[step(70, 6)])
    assert found == {
        "unattributed gap": 5,
        "maintenance window": 10,
        "useful step": 10,
        "unattributed tail": 5,
    }


def test_a_window_does_not_count_while_a_job_starts_or_is_down(derive: Derive) -> None:
    answers = derive([allocated(0), *window(0, 90), interrupted(50), ended(90)], FIVE)
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 40,
        "restart requeue hardware": 40,
    }


def test_a_window_without_an_end_lasts_to_as_of(after_five) -> None:
    assert after_five(*window(60), tick(200)) == {
        "unattributed tail": 10,
        "maintenance window": 140,
    }


def test_a_window_without_an_end_lasts_24_hours_at_most(after_five) -> None:
    assert after_five(*window(60), ended(DAY + 100)) == {
        "unattributed tail": 10 + 40,
        "maintenance window": DAY,
    }


def test_a_window_with_an_end_may_last_longer(after_five) -> None:
    assert after_five(*window(60, DAY + 90), ended(DAY + 100)) == {
        "unattributed tail": 10 + 10,
        "maintenance window": DAY + 30,
    }


def test_windows_with_different_ids_end_for_themselves(after_five) -> None:
    # m from 60 to 90; n from 70 to 80 inside it.
    found = after_five(*window(60, 90), *window(70, 80, id="n"), ended(100))
    assert found == {"unattributed tail": 20, "maintenance window": 30}


def test_a_planned_window_is_never_counted(after_five) -> None:
    planned = event("maintenance_planned", 40, None, id="m")
    planned |= {"starts_us": planned["ts_us"], "ends_us": planned["ts_us"] + 50_000_000}
    assert after_five(planned, ended(100)) == {"unattributed tail": 50}


def test_a_window_that_ends_later_changes_what_was_derived(derive: Derive) -> None:
    derive([allocated(0), *window(60), tick(70)], FIVE)
    later = derive([event("maintenance_ended", 65, None, id="m"), ended(100)])
    assert later.ledger()["maintenance window"] == 5


# --- which goes before which ---


def test_a_window_goes_before_a_pause_before_a_phase_before_detection(after_five) -> None:
    # 50 … 60 detect, 60 … 80 phase, 80 … 90 pause, 90 … 100 window, 100 … 120 pause, 120 … 140
    # phase, 140 … 150 detect; from 150 down.
    found = after_five(
        phase(60),
        phase_ended(140),
        saving(80, 5),
        saved(120, 5),
        *window(90, 100),
        interrupted(150),
        ended(160),
    )
    assert found == {
        "restart detect hardware": 10 + 10,
        "job phase": 20 + 20,
        "checkpoint pause": 10 + 20,
        "maintenance window": 10,
        "restart requeue hardware": 10,
    }


def test_detection_goes_before_the_tail_and_gaps_before_progress_ended_stay(after_five) -> None:
    # 50 to 60 is a gap before step 6 (60 to 70); 70 to 80 would be tail.
    found = after_five(interrupted(80), ended(90), steps=[step(70, 6)])
    assert found == {
        "unattributed gap": 10,
        "useful step": 10,
        "restart detect hardware": 10,
        "restart requeue hardware": 10,
    }


def test_a_suspension_takes_its_time_out_of_a_pause(after_five) -> None:
    # Pause from 50 to 80, out 60 to 70.
    found = after_five(saving(50, 5), saved(80, 5), suspended(60), resumed(70), ended(90))
    assert found == {"checkpoint pause": 20, "unattributed tail": 10}


# --- silence ---


def test_a_job_of_which_nothing_is_heard_for_over_six_hours_ended_with_its_last_record(
    derive: Derive,
) -> None:
    answers = derive([allocated(0)], FIVE, as_of=50 + 6 * HOUR + MICROSECOND)
    assert answers.silent()
    assert answers.wall() == (0, 50)


def test_six_hours_of_silence_are_none_yet(derive: Derive) -> None:
    answers = derive([allocated(0)], FIVE, as_of=50 + 6 * HOUR)
    assert not answers.silent()
    assert answers.ledger()["unattributed tail"] == 6 * HOUR


def test_its_last_record_may_be_one_of_the_lifecycle(derive: Derive) -> None:
    answers = derive([allocated(0), saved(90, 5)], FIVE, as_of=7 * HOUR)
    assert answers.silent()
    assert answers.wall() == (0, 90)


@pytest.mark.parametrize(
    "why",
    [
        pytest.param([ended(60)], id="that ended"),
        pytest.param([suspended(60)], id="that is suspended"),
        pytest.param([interrupted(60)], id="that is down"),
        pytest.param([allocated(60, 1)], id="that starts anew"),
    ],
)
def test_silent_is_no_job(derive: Derive, why: list[Record]) -> None:
    assert not derive([allocated(0), *why], FIVE, as_of=2 * DAY).silent()


def test_a_job_resumed_and_never_heard_of_again_is_silent(derive: Derive) -> None:
    # Out from 60 to 70; its last record is the resumption.
    answers = derive([allocated(0), suspended(60), resumed(70)], FIVE, as_of=DAY)
    assert answers.silent()
    assert answers.wall() == (0, 70)


def test_a_job_without_steps_is_never_silent(derive: Derive) -> None:
    answers = derive([allocated(0)], as_of=2 * DAY)
    assert not answers.silent()
    assert answers.wall() == (0, 2 * DAY)


def test_the_time_before_a_silent_job_speaks_again_counts(derive: Derive) -> None:
    assert derive([allocated(0), tick(DAY)], FIVE).silent()
    # Step 6 lasts from DAY + 10 to DAY + 20: the gap is all the time since 50.
    answers = derive([ended(DAY + 20)], [step(DAY + 20, 6)])
    assert not answers.silent()
    assert answers.ledger() == {
        "startup launch": 10,
        "useful step": 50,
        "unattributed gap": DAY + 10 - 50,
    }


def test_a_job_falls_silent_though_nothing_new_was_recorded_of_it(derive: Derive) -> None:
    assert not derive([allocated(0), tick(HOUR)], FIVE).silent()
    answers = derive([tick(DAY)])
    assert answers.silent()
    assert answers.ledger() == {"startup launch": 10, "useful step": 40}
