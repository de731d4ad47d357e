"""The reading of the accounting rules against numbers worked out by hand.

First the worked examples of section 11, then one small case for each rule that is easily misread,
then what must hold for any stream.
"""

import json
import random
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from reference import HOUR_US, Derived, JobResult, derive
from streams import Stream, random_as_of, random_stream, streams

SECOND = 1_000_000
T0 = 1_790_812_800 * SECOND
"""2026-10-01T00:00:00Z, on the hour."""
EXAMPLES = Path(__file__).parents[2] / "shared" / "examples"


def event(name: str, at: float, job: str | None = "j", /, **fields: object) -> dict:
    """A lifecycle record `at` seconds after T0."""
    return {"event": name, "ts_us": T0 + round(at * SECOND), "job": job, **fields}


def step(at: float, number: int, duration: float = 10, attempt: int = 0, **fields: object) -> dict:
    """A step record that ends `at` seconds after T0; `duration` and components in seconds."""
    record = {"job": fields.pop("job", "j"), "attempt": attempt, "step": number}
    record |= {"ts_us": T0 + round(at * SECOND), "duration_us": round(duration * SECOND)}
    for part in ("data_wait", "straggler", "checkpoint", "overhead"):
        record[f"{part}_us"] = round(fields.get(part, 0) * SECOND)
    return record | {"straggler_node": fields.get("straggler_node")}


def seconds(job: JobResult) -> dict[tuple[str, ...], float]:
    """The ledger over all hours, in seconds; the cause is left out where it is empty."""
    sums: dict[tuple[str, ...], float] = defaultdict(float)
    for (_, category, component, cause), us in job.ledger.items():
        sums[(category, component, cause) if cause else (category, component)] += us / SECOND
    return dict(sums)


def only(derived: Derived) -> JobResult:
    """The one job of a small stream."""
    (job,) = derived.jobs.values()
    return job


# --- section 11 ---


def restart_example() -> Stream:
    """Attempt 0 trains steps 1 to 80, dies, and attempt 1 goes on after step 60."""
    lifecycle = [
        event("job_submitted", 0, tier="standard", tenant="nlp", gpus=64),
        event("resources_allocated", 60, attempt=0, nodes=["n1", "n2"], gpus=64),
        event("process_started", 70, attempt=0),
        event("checkpoint_loaded", 100, attempt=0, step=0),
        event("checkpoint_started", 700, attempt=0, step=60),
        event("checkpoint_completed", 730, attempt=0, step=60),
        event("interruption", 960, attempt=0, cause="hardware", node="n2"),
        event("resources_allocated", 1200, attempt=1, nodes=["n1", "n3"], gpus=64),
        event("process_started", 1215, attempt=1),
        event("checkpoint_loaded", 1260, attempt=1, step=60),
        event("job_ended", 1670, outcome="completed"),
    ]
    # Steps 1 to 60 end at 110, 120, …, 700; 61 to 80 at 740, …, 930, after the pause.
    steps = [step(100 + 10 * n, n, data_wait=1) for n in range(1, 61)]
    steps += [step(730 + 10 * n, 60 + n) for n in range(1, 21)]
    # Attempt 1: steps 61 to 100 end at 1270, …, 1660.
    steps += [step(1260 + 10 * n, 60 + n, attempt=1) for n in range(1, 41)]
    return [{**e, "job": "restart"} for e in lifecycle], [{**s, "job": "restart"} for s in steps]


def preempted_example() -> Stream:
    """A straggling step, a slow one, an evaluation that a preemption cuts off."""
    lifecycle = [
        event("job_submitted", 0, tier="batch", tenant="rl", gpus=8),
        event("resources_allocated", 10, attempt=0, nodes=["n4"], gpus=8),
        event("phase_started", 95, attempt=0, name="evaluation"),
        event("interruption", 155, attempt=0, cause="preemption"),
        event("resources_allocated", 3700, attempt=1, nodes=["n5"], gpus=8),
    ]
    steps = [step(20 + 2 * n, n, 2) for n in range(1, 31)]
    steps += [step(85, 31, 5, straggler=2.5), step(95, 32, 10)]
    steps += [step(3710 + 2 * n, 32 + n, 2, attempt=1) for n in range(1, 11)]
    lifecycle = [{**e, "job": "preempted"} for e in lifecycle]
    return lifecycle, [{**s, "job": "preempted"} for s in steps]


def scheduler_only_example() -> Stream:
    """What a scheduler alone can tell."""
    lifecycle = [
        event("job_submitted", 0, tier="standard", tenant="cv", gpus=8),
        event("resources_allocated", 30, attempt=0, gpus=8),
        event("interruption", 1030, attempt=0, cause="hardware"),
        event("resources_allocated", 1150, attempt=1, gpus=8),
        event("job_ended", 2150, outcome="completed"),
    ]
    return [{**e, "job": "scheduler-only"} for e in lifecycle], []


def worked_examples() -> Stream:
    """The three jobs in one store; as_of is 3730, when the preempted job's last step ends."""
    parts = [restart_example(), preempted_example(), scheduler_only_example()]
    return [e for p in parts for e in p[0]], [s for p in parts for s in p[1]]


def test_the_restart_example_has_the_worked_ledger() -> None:
    job = derive(*worked_examples()).jobs["restart"]
    assert job.wall_us == 1_610 * SECOND  # 60 to 1670
    assert seconds(job) == {
        ("startup", "launch"): 10,  # 60 to 70
        ("startup", "load"): 30,  # 70 to 100
        ("startup", "first_step"): 10,  # 100 to 110
        ("loader", "step"): 59,  # steps 2 to 60, 1 s each
        ("checkpoint", "pause"): 30,  # 700 to 730
        ("restart", "detect", "hardware"): 30,  # 930 to 960
        ("restart", "requeue", "hardware"): 240,  # 960 to 1200
        ("restart", "launch", "hardware"): 15,  # 1200 to 1215
        ("restart", "load", "hardware"): 45,  # 1215 to 1260
        ("restart", "first_step", "hardware"): 10,  # 1260 to 1270
        ("restart", "rework", "hardware"): 200,  # steps 61 to 80 of attempt 0
        ("useful", "step"): 921,  # 59 × 9 + 39 × 10
        ("unattributed", "tail"): 10,  # 1660 to 1670
    }
    assert job.useful_us == 921 * SECOND


def test_the_restart_example_has_the_worked_restart() -> None:
    (restart,) = derive(*worked_examples()).jobs["restart"].restarts
    assert (restart.detected_us, restart.recovered_us) == (T0 + 960 * SECOND, T0 + 1270 * SECOND)
    assert restart.recovered_us - restart.detected_us == 310 * SECOND
    assert (restart.cause, restart.outcome, restart.basis) == (
        "hardware",
        "recovered",
        "first_step",
    )
    assert (restart.attempts_used, restart.interruptions, restart.lost_steps) == (1, 1, 20)
    assert {k: us / SECOND for k, us in restart.components.items()} == {
        "detect": 30,
        "requeue": 240,
        "launch": 15,
        "load": 45,
        "first_step": 10,
    }


def test_the_preempted_example_has_the_worked_ledger() -> None:
    job = derive(*worked_examples()).jobs["preempted"]
    assert job.wall_us == 3_720 * SECOND  # 10 to 3730, which is as_of
    assert seconds(job) == {
        ("startup", "launch"): 12,  # 10 to 22
        ("useful", "step"): 80.5,  # 29 × 2 + 2.5 + 2 + 9 × 2
        ("straggler", "step"): 2.5,
        ("unattributed", "slow_step"): 8,  # 10 − 2
        ("job", "phase"): 60,  # 95 to 155
        ("preemption", "requeue", "preemption"): 3_545,  # 155 to 3700
        ("preemption", "launch", "preemption"): 12,  # 3700 to 3712
    }


def test_the_requeue_of_the_preempted_example_is_cut_at_the_hour() -> None:
    job = derive(*worked_examples()).jobs["preempted"]
    key = ("preemption", "requeue", "preemption")
    assert job.ledger[(T0, *key)] == 3_445 * SECOND  # 155 to 3600
    assert job.ledger[(T0 + HOUR_US, *key)] == 100 * SECOND  # 3600 to 3700


def test_the_scheduler_only_example_is_not_instrumented() -> None:
    job = derive(*worked_examples()).jobs["scheduler-only"]
    assert not job.instrumented
    assert job.wall_us == 2_120 * SECOND  # 30 to 2150
    assert seconds(job) == {
        ("uninstrumented", "run"): 2_000,  # 30 to 1030, 1150 to 2150
        ("restart", "requeue", "hardware"): 120,  # 1030 to 1150
    }
    (restart,) = job.restarts
    assert restart.basis == "resources_allocated"
    assert restart.recovered_us == T0 + 1150 * SECOND
    assert restart.lost_steps is None
    assert restart.components["detect"] is None
    assert restart.components["requeue"] == 120 * SECOND


def test_the_worked_examples_have_queue_waits() -> None:
    waits = derive(*worked_examples()).waits
    found = {job: (w.wait_us // SECOND, w.basis, w.censored) for job, w in waits.items()}
    assert found == {
        "restart": (110, "first_step", False),
        "preempted": (22, "first_step", False),
        "scheduler-only": (30, "resources_allocated", False),
    }


def in_us(timestamp: str) -> int:
    """Microseconds of an RFC 3339 timestamp."""
    moment = datetime.fromisoformat(timestamp)
    return int(moment.timestamp()) * SECOND + moment.microsecond


def read(path: Path) -> list[dict]:
    """Records of a JSON Lines file with seconds turned to microseconds."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        record["ts_us"] = in_us(record.pop("ts"))
        for name in [k for k in record if k.endswith("_s")]:
            record[f"{name}_us".replace("_s_us", "_us")] = round(record.pop(name) * SECOND)
    return records


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the example files are not beside the checkout")
def test_the_example_files_give_the_ledger_beside_them() -> None:
    lifecycle = read(EXAMPLES / "jobs.lifecycle.jsonl")
    derived = derive(lifecycle, read(EXAMPLES / "jobs.steps.jsonl"))
    found = {
        (name, *key): us for name, job in derived.jobs.items() for key, us in job.ledger.items()
    }
    rows = json.loads((EXAMPLES / "ledger.json").read_text())
    columns = ("job", "hour_us", "category", "component", "cause")
    assert found == {tuple(r[c] for c in columns): r["us"] for r in rows}


# --- section 1 ---


def test_of_step_records_with_one_key_the_smallest_counts_in_any_order() -> None:
    steps = [step(10, 1), step(20, 2, data_wait=3), step(20, 2, data_wait=1)]
    expected = {("startup", "launch"): 10, ("loader", "step"): 1, ("useful", "step"): 9}
    assert seconds(only(derive([], steps))) == expected
    assert seconds(only(derive([], steps[::-1]))) == expected


def test_a_discarded_step_record_does_not_move_as_of() -> None:
    derived = derive([], [step(10, 1), step(20, 2), step(99, 2)])
    assert derived.as_of_us == T0 + 20 * SECOND


def test_nothing_later_than_a_given_as_of_is_read() -> None:
    derived = derive([], [step(10, 1), step(20, 2), step(30, 3)], as_of_us=T0 + 25 * SECOND)
    expected = {("startup", "launch"): 10, ("useful", "step"): 10, ("unattributed", "tail"): 5}
    assert seconds(only(derived)) == expected


# --- section 2 ---


def test_an_allocation_after_the_end_opens_the_wall_again() -> None:
    lifecycle = [
        event("job_ended", 30, outcome="failed"),
        event("resources_allocated", 40, attempt=1),
        event("node_state", 60, None, node="n1", gpus=8, state="idle"),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2)]))
    assert job.wall_end_us == T0 + 60 * SECOND
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 10,
        ("restart", "detect", "unknown"): 20,  # 20 to 40
        ("restart", "launch", "unknown"): 20,  # 40 to 60
    }


def test_a_steady_job_of_which_nothing_is_heard_for_over_six_hours_is_silent() -> None:
    steps = [step(10, 1), step(20, 2)]
    six_hours_later = T0 + 20 * SECOND + 6 * HOUR_US
    assert not only(derive([], steps, as_of_us=six_hours_later)).silent
    job = only(derive([], steps, as_of_us=six_hours_later + 1))
    assert job.silent
    assert job.wall_end_us == T0 + 20 * SECOND


def test_a_suspended_or_interrupted_job_is_not_silent() -> None:
    steps = [step(10, 1), step(20, 2)]
    for last in (event("job_suspended", 25), event("interruption", 25, attempt=0, cause="network")):
        assert not only(derive([last], steps, as_of_us=T0 + 9 * HOUR_US)).silent


def test_a_suspension_within_one_and_a_resumption_without_one_change_nothing() -> None:
    lifecycle = [
        event("job_resumed", 12),
        event("job_suspended", 20),
        event("job_suspended", 22),
        event("job_resumed", 25),
        event("job_resumed", 28),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(40, 3)]))
    assert job.wall_us == 35 * SECOND  # 0 to 40 without 20 to 25
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 20,  # 10 to 20, 30 to 40
        ("unattributed", "gap"): 5,  # 25 to 30
    }


# --- section 3: steps ---


def test_an_overlapping_step_is_painted_from_the_end_before_it() -> None:
    steps = [step(10, 1), step(20, 2), step(25, 3, duration=20, data_wait=2, overhead=9)]
    assert seconds(only(derive([], steps))) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 10,
        ("loader", "step"): 2,  # 20 to 22
        ("job", "overhead"): 3,  # what is left of 5
    }


def test_a_beginning_less_than_a_millisecond_after_the_end_before_it_is_taken_at_that_end() -> None:
    close = [step(10, 1), step(20.000999, 2, 10)]
    assert seconds(only(derive([], close)))["useful", "step"] == 10.000999
    apart = [step(10, 1), step(20.001, 2, 10)]
    assert seconds(only(derive([], apart)))["unattributed", "gap"] == 0.001


def test_a_step_that_ends_in_a_suspension_is_painted_to_it() -> None:
    lifecycle = [event("job_suspended", 16), event("job_resumed", 30)]
    steps = [step(10, 1), step(20, 2), step(40, 3, duration=25)]
    assert seconds(only(derive(lifecycle, steps))) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 16,  # 10 to 16, 30 to 40
    }


def test_without_an_expected_step_twenty_steps_after_the_first_are_needed_for_a_limit() -> None:
    def slow_after(count: int) -> float:
        steps = [step(10 * n, n) for n in range(1, count)] + [step(10 * count + 40, count, 50)]
        return seconds(only(derive([], steps))).get(("unattributed", "slow_step"), 0)

    assert slow_after(20) == 0  # steps 2 to 20 are 19
    assert slow_after(21) == 40


def test_an_expected_step_of_steps_that_differ_by_nature_gives_no_limit() -> None:
    submitted = event("job_submitted", 0, tier="batch", expected_step_us=10 * SECOND)
    # 1 slow step of 10 after the first: the 9th of 10 is 10 s. 2 of 10: it is 30 s, over 1.5 × 10.
    for slow, expected in ((1, 20), (2, 0)):
        lengths = [10] * (11 - slow) + [30] * slow
        ends = [sum(lengths[: n + 1]) for n in range(11)]
        steps = [
            step(at, n + 1, length)
            for n, (at, length) in enumerate(zip(ends, lengths, strict=True))
        ]
        found = seconds(only(derive([submitted], steps)))
        assert found.get(("unattributed", "slow_step"), 0) == expected


def test_compute_of_exactly_twice_the_baseline_is_useful() -> None:
    submitted = event("job_submitted", 0, tier="batch", expected_step_us=10 * SECOND)
    steps = [step(10 * n, n) for n in range(1, 21)] + [step(220, 21, 20)]
    assert ("unattributed", "slow_step") not in seconds(only(derive([submitted], steps)))


# --- section 3: superseded ---


def test_the_first_interruption_by_ts_between_the_attempts_is_the_cause_of_a_rollback() -> None:
    lifecycle = [
        event("interruption", 55, attempt=0, cause="network"),
        event("interruption", 52, attempt=1, cause="storage"),
        event("interruption", 51, attempt=2, cause="software"),
    ]
    # Attempt 1 goes on after step 3, so nothing is lost; attempt 2 goes on after step 1.
    steps = [step(10 * n, n) for n in (1, 2, 3)] + [step(40, 4, attempt=1)]
    steps += [step(70, 2, attempt=2), step(80, 3, attempt=2)]
    found = seconds(only(derive(lifecycle, steps)))
    assert found["restart", "rework", "storage"] == 20  # steps 2 and 3 of attempt 0


def test_a_deliberate_roll_back_is_the_jobs_own_and_no_lost_step_of_the_restart() -> None:
    lifecycle = [
        event("interruption", 30, attempt=0, cause="hardware"),
        event("checkpoint_loaded", 40, attempt=1, step=1, deliberate=True),
    ]
    steps = [step(10, 1), step(20, 2), step(30, 3), step(50, 2, attempt=1)]
    job = only(derive(lifecycle, steps))
    assert seconds(job)["job", "rework", "rollback"] == 20
    assert job.restarts[0].lost_steps == 0


# --- section 3: states ---


def test_an_interruption_noticed_after_the_next_attempt_began_is_taken_before_it() -> None:
    lifecycle = [
        event("interruption", 45, attempt=0, cause="network"),
        event("resources_allocated", 30, attempt=1),
        event("process_started", 40, attempt=1),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(60, 3, attempt=1)]))
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 10,
        ("restart", "detect", "network"): 10,  # 20 to 30
        ("restart", "launch", "network"): 10,  # 30 to 40
        ("restart", "load", "network"): 20,  # 40 to 60
    }
    assert job.restarts[0].detected_us == T0 + 30 * SECOND


def test_boundaries_before_the_wall_are_taken_at_its_start() -> None:
    lifecycle = [
        event("process_started", -20, attempt=0),
        event("resources_allocated", 5, attempt=0),
    ]
    job = derive(lifecycle, [step(10, 1, duration=10)]).jobs["j"]
    assert job.wall_start_us == T0
    assert seconds(job) == {("startup", "load"): 5, ("startup", "launch"): 5}


def test_an_interruption_that_nobody_recorded_is_detected_by_the_next_boundary() -> None:
    steps = [step(10, 1), step(20, 2), step(60, 3, attempt=1), step(70, 4, attempt=1)]
    job = only(derive([event("process_started", 40, attempt=1)], steps))
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 20,
        ("restart", "detect", "unknown"): 20,  # 20 to 40
        ("restart", "load", "unknown"): 20,  # 40 to 60
    }
    assert job.restarts == []


def test_a_new_first_step_alone_makes_the_time_before_it_detect() -> None:
    steps = [step(10, 1), step(20, 2), step(60, 3, attempt=1)]
    job = only(derive([], steps))
    assert seconds(job)["restart", "detect", "unknown"] == 40  # 20 to 60


def test_a_process_that_starts_again_after_a_suspension_was_suspended() -> None:
    lifecycle = [
        event("job_suspended", 20),
        event("job_resumed", 50),
        event("process_started", 55, attempt=1),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(70, 3, attempt=1)]))
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 10,
        ("job", "detect", "suspended"): 5,  # 50 to 55
        ("job", "load", "suspended"): 15,
    }


def test_a_boundary_of_an_attempt_that_already_trains_is_none() -> None:
    late = event("checkpoint_loaded", 25, attempt=0, step=0)
    job = only(derive([late], [step(10, 1), step(20, 2), step(40, 3)]))
    assert seconds(job)["unattributed", "gap"] == 10  # 20 to 30


def test_an_interruption_while_starting_ends_the_startup() -> None:
    lifecycle = [
        event("resources_allocated", 0, attempt=0),
        event("interruption", 5, attempt=0, cause="job_error"),
        event("resources_allocated", 8, attempt=1),
    ]
    job = only(derive(lifecycle, [step(20, 1, attempt=1)]))
    assert seconds(job) == {
        ("startup", "launch"): 5,
        ("job", "requeue", "job_error"): 3,
        ("job", "launch", "job_error"): 12,
    }


# --- section 3: steady time ---


def test_a_pause_whose_end_was_not_recorded_ends_where_the_next_step_begins() -> None:
    lifecycle = [event("checkpoint_started", 20, attempt=0, step=2)]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(40, 3), step(60, 4)]))
    assert seconds(job)["checkpoint", "pause"] == 10  # 20 to 30
    assert seconds(job)["unattributed", "gap"] == 10  # 40 to 50


def test_a_checkpoint_that_does_not_block_is_no_pause() -> None:
    lifecycle = [event("checkpoint_started", 20, attempt=0, step=2, blocking=False)]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(40, 3)]))
    assert seconds(job)["unattributed", "gap"] == 10


def test_maintenance_goes_before_pause_and_pause_before_phase() -> None:
    lifecycle = [
        event("phase_started", 20, attempt=0, name="sampling"),
        event("phase_ended", 50, attempt=0, name="sampling"),
        event("checkpoint_started", 25, attempt=0, step=2),
        event("checkpoint_failed", 40, attempt=0, step=2),
        event("maintenance_started", 30, None, id="m"),
        event("maintenance_ended", 35, None, id="m"),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(70, 3)]))
    assert seconds(job) == {
        ("startup", "launch"): 10,
        ("useful", "step"): 20,
        ("job", "phase"): 15,  # 20 to 25, 40 to 50
        ("checkpoint", "pause"): 10,  # 25 to 30, 35 to 40
        ("maintenance", "window"): 5,
        ("unattributed", "gap"): 10,
    }


def test_a_window_of_a_node_affects_a_job_while_its_latest_allocation_holds_the_node() -> None:
    lifecycle = [
        event("resources_allocated", 0, attempt=0, nodes=["n1"]),
        event("resources_allocated", 30, attempt=0, nodes=["n2"]),
        event("maintenance_started", 20, None, id="m", nodes=["n1", "n9"]),
        event("maintenance_ended", 40, None, id="m"),
    ]
    job = only(derive(lifecycle, [step(10, 1), step(20, 2), step(60, 3)]))
    assert seconds(job)["maintenance", "window"] == 10  # 20 to 30
    assert seconds(job)["unattributed", "gap"] == 20


def test_a_window_of_another_cluster_does_not_affect_a_job_that_it_does_not_name() -> None:
    lifecycle = [event("maintenance_started", 20, None, id="m", cluster="east")]
    steps = [step(10, 1), step(20, 2), step(60, 3)]
    assert seconds(only(derive(lifecycle, steps)))["unattributed", "gap"] == 30
    lifecycle[0]["jobs"] = ["j"]
    assert seconds(only(derive(lifecycle, steps)))["maintenance", "window"] == 30


# --- section 3: jobs without steps ---


def test_an_allocation_of_another_attempt_ends_a_run_only_where_its_process_is_recorded() -> None:
    lifecycle = [
        event("resources_allocated", 0, attempt=0),
        event("resources_allocated", 10, attempt=1),
        event("resources_allocated", 20, attempt=2),
        event("process_started", 25, attempt=2),
        event("job_ended", 30, outcome="completed"),
    ]
    assert seconds(only(derive(lifecycle, []))) == {
        ("uninstrumented", "run"): 25,  # 0 to 20, 25 to 30
        ("restart", "launch", "unknown"): 5,
    }


# --- sections 5 and 6 ---


def test_a_restart_of_two_interruptions_is_one_span_with_the_cause_of_the_first() -> None:
    lifecycle = [
        event("interruption", 20, attempt=0, cause="hardware"),
        event("resources_allocated", 30, attempt=1),
        event("interruption", 35, attempt=1, cause="network"),
        event("resources_allocated", 40, attempt=2),
    ]
    steps = [step(10, 1), step(20, 2), step(60, 3, attempt=2)]
    (restart,) = only(derive(lifecycle, steps)).restarts
    assert (restart.cause, restart.interruptions, restart.attempts_used) == ("hardware", 2, 2)
    assert restart.components["requeue"] == 15 * SECOND  # 20 to 30, 35 to 40
    assert restart.components["launch"] == 25 * SECOND  # 30 to 35, 40 to 60


@pytest.mark.parametrize(("ended", "outcome"), [(True, "abandoned"), (False, "open")])
def test_a_restart_that_did_not_recover_is_abandoned_if_the_job_ended(
    ended: bool, outcome: str
) -> None:
    lifecycle = [event("interruption", 25, attempt=0, cause="hardware")]
    if ended:
        lifecycle.append(event("job_ended", 40, outcome="failed"))
    (restart,) = only(derive(lifecycle, [step(10, 1), step(20, 2)])).restarts
    assert (restart.outcome, restart.recovered_us, restart.basis) == (outcome, None, None)
    assert restart.components["detect"] == 5 * SECOND


def test_a_wait_that_is_not_over_is_censored_at_the_end_or_at_as_of() -> None:
    lifecycle = [
        event("job_submitted", 10, "cancelled", tier="batch"),
        event("job_ended", 30, "cancelled", outcome="cancelled"),
        event("job_submitted", 20, "waiting", tier="batch"),
    ]
    waits = derive(lifecycle, [], as_of_us=T0 + 50 * SECOND).waits
    found = {job: (w.wait_us // SECOND, w.censored, w.started_us) for job, w in waits.items()}
    assert found == {"cancelled": (20, True, None), "waiting": (30, True, None)}


# --- any stream ---


def check_what_always_holds(stream: Stream, seed: int) -> None:
    """The ledger adds up, and order and repetition of delivery change nothing."""
    as_of_us = random_as_of(seed, *stream)
    derived = derive(*stream, as_of_us)
    for job in derived.jobs.values():
        check_job(job)
    lifecycle, steps = (
        random.Random(seed).sample(2 * records, 2 * len(records)) for records in stream
    )
    assert derive(lifecycle, steps, as_of_us) == derived


def check_job(job: JobResult) -> None:
    """The ledger of a job sums to its wall, and its restarts do not overlap."""
    assert sum(job.ledger.values()) == job.wall_us
    assert all(us > 0 for us in job.ledger.values())
    assert all(hour % HOUR_US == 0 for hour, _, _, _ in job.ledger)
    per_hour: dict[int, int] = defaultdict(int)
    for (hour, _, _, _), us in job.ledger.items():
        per_hour[hour] += us
    assert all(us <= HOUR_US for us in per_hour.values())
    moments = [t for r in job.restarts for t in (r.detected_us, r.recovered_us) if t is not None]
    assert moments == sorted(moments)


@settings(max_examples=150, deadline=None)
@given(streams())
def test_any_stream_adds_up_however_it_is_delivered(stream: Stream) -> None:
    check_what_always_holds(stream, len(stream[1]))


def test_many_seeded_streams_add_up_however_they_are_delivered() -> None:
    for seed in range(300):
        check_what_always_holds(random_stream(seed), seed)


def test_seeded_streams_contain_every_kind_of_row_and_restart() -> None:
    rows, outcomes, silent = set(), set(), 0
    for seed in range(1_000):
        for job in derive(*random_stream(seed)).jobs.values():
            rows |= {(category, component) for _, category, component, _ in job.ledger}
            outcomes |= {(r.outcome, r.basis) for r in job.restarts}
            silent += job.silent
    down = {"detect", "requeue", "launch", "load", "first_step", "rework"}
    assert rows == {
        *(("startup", component) for component in ("launch", "load", "first_step")),
        *((k, c) for k in ("restart", "preemption", "maintenance", "job") for c in down),
        *((kind, "step") for kind in ("useful", "loader", "straggler", "checkpoint")),
        *(("unattributed", component) for component in ("slow_step", "gap", "tail")),
        *(("job", component) for component in ("overhead", "phase")),
        ("checkpoint", "pause"),
        ("maintenance", "window"),
        ("uninstrumented", "run"),
    }
    assert outcomes == {
        ("recovered", "first_step"),
        ("recovered", "process_started"),
        ("recovered", "resources_allocated"),
        ("open", None),
        ("abandoned", None),
    }
    assert silent > 10
