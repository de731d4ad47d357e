"""MLPerf logs as lifecycle and step records: one rule a test, then the real logs.

Made-up logs count milliseconds from T0; what is expected is in the same milliseconds.
"""

import gzip
import json
import re
from collections import Counter
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from metrics.errors import UnreadableInput
from metrics.policy import Policy, Tier
from pipelines.sources import Record, Reject, Settings, text
from pipelines.sources.mlperf import MLPerf

SHARED = Path(__file__).parents[4] / "shared" / "data" / "mlperf"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data beside the checkout")

T0 = 1_760_000_000_000
BATCH = Tier(name="batch", rank=1, preemptible=True)
POLICY = Policy(
    tiers=(Tier(name="interactive", rank=2, preemptible=False), BATCH), silent_after_s=21_600
)


def line(ms, key, value=None, *, prefix="", **metadata):
    """A log line at T0 + ms."""
    fields = {
        "namespace": "",
        "time_ms": T0 + ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "train.py", "lineno": 1, **metadata},
    }
    return f"{prefix}:::MLLOG {json.dumps(fields)}"


def batch_of(samples):
    return line(0, "global_batch_size", samples)


def read(tmp_path, *lines, name="run.txt", policy=POLICY, end="\n"):
    """(records, rejects) of a log with these lines."""
    path = tmp_path / name
    path.write_bytes("".join(f"{one}{end}" for one in lines).encode())
    items = list(MLPerf().read(path, Settings(policy)))
    records = [i for i in items if isinstance(i, Record)]
    return records, [i for i in items if isinstance(i, Reject)]


def ms(record):
    """When a record is, from T0."""
    return round(datetime.fromisoformat(record.fields["ts"]).timestamp() * 1000) - T0


def steps(records):
    """(begin, end, last step, number of steps) of each step record."""
    found = []
    for r in records:
        if r.stream == "steps":
            f = r.fields
            assert (f["job"], f["attempt"]) == ("run", 0)
            found.append((ms(r) - round(f["duration_s"] * 1000), ms(r), f["step"], f["steps"]))
    return found


def events(records, *names):
    """(event, when, what tells it apart) of the lifecycle records of these names, else of all."""
    return [
        (r.fields["event"], ms(r), r.fields.get("step", r.fields.get("outcome")))
        for r in records
        if r.stream == "lifecycle" and (not names or r.fields["event"] in names)
    ]


def steps_of(tmp_path, *lines):
    records, rejects = read(tmp_path, *lines)
    assert rejects == []
    return steps(records)


def phases(records):
    """(begin, end) of each evaluation."""
    found = events(records, "phase_started", "phase_ended")
    names = {r.fields["name"] for r in records if r.fields.get("event") == "phase_started"}
    assert names <= {"evaluation"}
    return [(begin[1], end[1]) for begin, end in zip(found[::2], found[1::2], strict=True)]


# --- the job --------------------------------------------------------------------------------------


def test_a_run_is_one_job_from_its_first_stamp_to_its_last(tmp_path):
    records, rejects = read(
        tmp_path,
        line(0, "cache_clear", True),
        line(10, "init_start"),
        line(11, "submission_org", "Org"),
        line(12, "submission_benchmark", "llama"),
        line(500, "init_stop"),
        line(510, "run_start"),
        line(900, "run_stop", status="success"),
        line(950, "train_samples", 12),
    )
    assert rejects == []
    assert [r.fields for r in records][:2] == [
        {
            "event": "job_submitted",
            "ts": "2025-10-09T08:53:20.000+00:00",
            "job": "run",
            "tier": "batch",
            "tenant": "Org",
            "name": "llama",
        },
        {
            "event": "resources_allocated",
            "ts": "2025-10-09T08:53:20.000+00:00",
            "job": "run",
            "attempt": 0,
        },
    ]
    assert events(records)[2:] == [
        ("process_started", 10, None),
        ("checkpoint_loaded", 500, 0),
        ("job_ended", 950, "completed"),
    ]


def test_without_init_events_the_process_starts_at_the_first_stamp_and_is_ready_at_run_start(
    tmp_path,
):
    records, _ = read(tmp_path, line(5, "seed", 1), line(70, "run_start"))
    assert events(records, "process_started", "checkpoint_loaded") == [
        ("process_started", 5, None),
        ("checkpoint_loaded", 70, 0),
    ]


def test_the_process_starts_with_its_first_rank_and_is_ready_with_its_last(tmp_path):
    records, _ = read(
        tmp_path,
        line(14, "init_start", prefix="1: "),
        line(12, "init_start", prefix="0: "),
        line(90, "init_stop", prefix="0: "),
        line(95, "init_stop", prefix="1: "),
    )
    assert events(records, "process_started", "checkpoint_loaded") == [
        ("process_started", 12, None),
        ("checkpoint_loaded", 95, 0),
    ]


@pytest.mark.parametrize("name", ["run.txt", "run.log", "run", "run.txt.gz", "deeper/run.txt"])
def test_the_job_is_named_after_the_file_wherever_it_lies(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    content = line(0, "run_start").encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    records = list(MLPerf().read(path, Settings(POLICY)))
    assert {r.fields["job"] for r in records} == {"run"}


def test_the_tier_is_batch_or_the_last_one_where_the_policy_has_no_batch(tmp_path):
    other = (
        Tier(name="gold", rank=2, preemptible=False),
        Tier(name="tin", rank=1, preemptible=True),
    )
    for tiers, expected in (((BATCH, *other), "batch"), (other, "tin")):
        policy = Policy(tiers=tiers, silent_after_s=1)
        records, _ = read(tmp_path, line(0, "run_start"), policy=policy)
        assert records[0].fields["tier"] == expected


def test_a_placeholder_is_no_tenant(tmp_path):
    records, _ = read(tmp_path, line(0, "submission_org", "SUBMISSION_ORG_PLACEHOLDER"))
    assert "tenant" not in records[0].fields


@pytest.mark.parametrize(
    ("description", "gpus"),
    [
        ('{"number_of_nodes":"9","accelerators_per_node":"4"}', 36),
        ('{"number_of_nodes":2,"accelerators_per_node":8}', 16),
        ('{"number_of_nodes":"9","accelerators_per_node":""}', None),
        ('{"number_of_nodes":"0","accelerators_per_node":"4"}', None),
        ('{"number_of_nodes":"9"}', None),
        ('{"number_of_no', None),
        ("[]", None),
    ],
)
def test_gpus_come_from_the_description_of_the_machines_alone(tmp_path, description, gpus):
    platform = line(0, "submission_platform", "2xNVIDIA GB200")
    records, rejects = read(tmp_path, f"+ echo ':::SYSJSON {description}'", platform)
    assert (records[0].fields.get("gpus"), rejects) == (None, [])
    records, rejects = read(tmp_path, f":::SYSJSON {description}", platform)
    assert [r.fields.get("gpus") for r in records[:2]] == [gpus, gpus]
    assert rejects == []


# --- the end --------------------------------------------------------------------------------------

TIME_LIMIT = (
    "0: slurmstepd: error: *** STEP 5.2 ON n1 CANCELLED AT 2025-04-21T14:07 DUE TO TIME LIMIT"
)
LOST_NODE = "slurmstepd: error: *** JOB 5 ON n1 CANCELLED AT 2025-04-21T14:07 DUE TO NODE FAILURE"


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([line(90, "run_stop", status="success")], [("job_ended", 90, "completed")]),
        ([line(90, "run_stop", status="aborted")], [("job_ended", 90, "failed")]),
        ([line(90, "run_stop")], []),
        ([line(90, "eval_stop")], []),
        ([line(90, "eval_stop"), TIME_LIMIT], [("job_ended", 90, "failed")]),
        ([line(90, "run_stop", status="success"), TIME_LIMIT], [("job_ended", 90, "completed")]),
        ([line(90, "eval_stop"), LOST_NODE], []),
        (
            [line(90, "run_stop", status="success"), line(120, "checkpoint", 5)],
            [("job_ended", 120, "completed")],
        ),
    ],
)
def test_the_job_ends_as_the_log_says_and_stays_open_where_it_does_not(tmp_path, lines, end):
    records, _ = read(tmp_path, line(0, "run_start"), *lines)
    assert events(records, "job_ended") == end


# --- steps ----------------------------------------------------------------------------------------


def test_steps_lie_between_the_stamps_that_tell_positions(tmp_path):
    # Batches of 8: 80 samples are 10 steps, 96 are 12.
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(100, "block_start", samples_count=0),
        line(1_100, "train_loss", 2.5, samples_count=80),
        line(1_300, "block_stop", samples_count=96),
    ) == [(100, 1_100, 10, 10), (1_100, 1_300, 12, 2)]


def test_a_step_record_is_as_long_as_the_milliseconds_say(tmp_path):
    records, _ = read(
        tmp_path,
        batch_of(1),
        line(3, "block_start", samples_count=0),
        line(1_237, "block_stop", samples_count=7),
    )
    assert [r.fields for r in records if r.stream == "steps"] == [
        {
            "job": "run",
            "attempt": 0,
            "step": 7,
            "steps": 7,
            "ts": "2025-10-09T08:53:21.237+00:00",
            "duration_s": 1.234,
        }
    ]
    assert records[-1].line == 3


def test_a_short_last_batch_is_a_step(tmp_path):
    # 3,901 samples in batches of 8: 487 whole ones and one of 5.
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(0, "block_start", samples_count=0),
        line(9, "block_stop", samples_count=3_901),
    ) == [(0, 9, 488, 488)]


def test_a_step_beside_a_sample_count_that_it_explains_counts_steps(tmp_path):
    # The sample counts of block_start and block_stop are the block's length: not to be believed.
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(0, "block_start", step=0, samples_count=160),
        line(10, "tracked_stats", {"train_loss": 2.0}, step=10, samples_count=80),
        line(20, "block_stop", step=20, samples_count=160),
        line(30, "block_start", step=20, samples_count=80),
        line(39, "tracked_stats", {"train_step_time": 0.001}, samples_count=80),
        line(40, "block_stop", step=30, samples_count=80),
    ) == [(0, 10, 10, 10), (10, 20, 20, 10), (30, 40, 30, 10)]


def test_a_step_that_is_always_a_multiple_of_the_batch_counts_samples(tmp_path):
    assert steps_of(
        tmp_path,
        batch_of(448),
        line(0, "block_start", samples_count=0),
        line(19, "tracked_stats", {"train_step_time": 0.019}, step=448.0),
        line(38, "tracked_stats", {"reduced_train_loss": 7.7}, step=896.0),
    ) == [(0, 19, 1, 1), (19, 38, 2, 1)]


def test_a_step_that_is_no_multiple_of_the_batch_counts_steps(tmp_path):
    assert steps_of(
        tmp_path,
        batch_of(448),
        line(0, "block_start", step=0),
        line(19, "train_loss", 7.7, step=10),
    ) == [(0, 19, 10, 10)]


def test_step_num_counts_steps(tmp_path):
    assert steps_of(
        tmp_path,
        line(0, "block_start", "training_step", step_num=0, samples_count=0),
        line(50, "block_stop", "training_step", step_num=500, samples_count=512_000),
    ) == [(0, 50, 500, 500)]


def test_fractions_of_an_epoch_are_positions(tmp_path):
    # 100 samples in batches of 8 are 13 steps an epoch: 3 of them are 0.2307..., all are 1.
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(0, "train_samples", 100),
        line(10, "epoch_start", epoch_num=0),
        line(40, "eval_start", epoch_num=3 / 13),
        line(50, "eval_stop", epoch_num=3 / 13),
        line(150, "epoch_stop", epoch_num=1.0),
    ) == [(10, 40, 3, 3), (50, 150, 13, 10)]


@pytest.mark.parametrize("first", [0, 1])
def test_whole_epochs_count_from_the_first_whatever_its_number(tmp_path, first):
    second = first + 1
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(0, "train_samples", 100),
        line(10, "epoch_start", first, epoch_num=first),
        line(110, "epoch_stop", first, epoch_num=first),
        line(111, "eval_start", epoch_num=first),
        line(150, "eval_stop", epoch_num=first),
        line(151, "epoch_start", second, epoch_num=second),
        line(251, "epoch_stop", second, epoch_num=second),
    ) == [(10, 110, 13, 13), (151, 251, 26, 13)]


@pytest.mark.parametrize("size", [None, 0, -8, "8", True, 2.5])
def test_without_a_batch_size_samples_are_no_steps(tmp_path, size):
    lines = [
        line(0, "global_batch_size", size),
        line(0, "block_start", samples_count=0),
        line(9, "block_stop", samples_count=800),
    ]
    assert steps_of(tmp_path, *lines) == []


def test_a_stop_that_repeats_the_position_of_its_start_tells_when_but_not_how_far(tmp_path):
    # The position comes with the evaluation; training had ended with the block.
    records, _ = read(
        tmp_path,
        batch_of(9),
        line(0, "block_start", samples_count=0),
        line(100, "train_loss", 1.0, samples_count=90),
        line(120, "block_stop", samples_count=0),
        line(125, "eval_start", samples_count=108),
        line(200, "eval_stop", samples_count=108),
    )
    assert steps(records) == [(0, 100, 10, 10), (100, 120, 12, 2)]
    assert phases(records) == [(125, 200)]


def test_nothing_is_trained_between_the_last_position_and_a_stop_that_repeats_it(tmp_path):
    assert steps_of(
        tmp_path,
        batch_of(9),
        line(0, "block_start", samples_count=0),
        line(100, "train_loss", 1.0, samples_count=90),
        line(120, "block_stop", samples_count=90),
        line(121, "block_start", samples_count=90),
        line(221, "block_stop", samples_count=180),
    ) == [(0, 100, 10, 10), (121, 221, 20, 10)]


def test_progress_shows_training_in_a_log_without_blocks(tmp_path):
    assert steps_of(
        tmp_path,
        batch_of(1),
        line(100, "train_loss", 1.0, samples_count=10),
        line(200, "train_loss", 1.0, samples_count=20),
        line(210, "eval_start", samples_count=20),
        line(300, "eval_stop", samples_count=20),
        line(400, "train_loss", 1.0, samples_count=30),
        line(500, "train_loss", 1.0, samples_count=40),
    ) == [(100, 200, 20, 10), (400, 500, 40, 10)]


def test_a_run_that_goes_on_from_a_position_does_not_make_up_the_steps_before(tmp_path):
    assert steps_of(
        tmp_path,
        batch_of(1),
        line(0, "run_start"),
        line(10, "block_start", samples_count=500),
        line(20, "block_stop", samples_count=600),
    ) == [(10, 20, 600, 100)]


@pytest.mark.parametrize("bad", [None, "80", True, -1, [80], 1e300])
def test_a_position_that_is_no_count_is_not_one(tmp_path, bad):
    assert steps_of(
        tmp_path,
        batch_of(8),
        line(0, "block_start", samples_count=0),
        line(50, "train_loss", 1.0, samples_count=bad),
        line(90, "block_stop", samples_count=80),
    ) == [(0, 90, 10, 10)]


# --- evaluation and checkpoints -------------------------------------------------------------------


def test_an_evaluation_inside_an_open_block_is_cut_out_of_training(tmp_path):
    records, _ = read(
        tmp_path,
        batch_of(1),
        line(0, "block_start", samples_count=0),
        line(40, "eval_start", samples_count=4),
        line(55, "eval_stop", samples_count=4),
        line(95, "block_stop", samples_count=8),
    )
    assert steps(records) == [(0, 40, 4, 4), (55, 95, 8, 4)]
    assert phases(records) == [(40, 55)]


def test_an_evaluation_without_a_start_began_with_the_stamp_before(tmp_path):
    # The counter of validation has nothing to do with training, though it is called step as well.
    records, _ = read(
        tmp_path,
        batch_of(10),
        line(0, "block_start", samples_count=0),
        line(40, "tracked_stats", {"train_step_time": 0.04}, step=10.0),
        line(47, "tracked_stats", {"validation_step_time": 0.007}, step=990),
        line(54, "tracked_stats", {"validation_step_time": 0.007}, step=1_000),
        line(54, "eval_accuracy", 7.5, samples_count=10),
        line(55, "eval_stop", samples_count=10),
        line(55, "block_start", samples_count=10),
        line(95, "tracked_stats", {"train_step_time": 0.04}, step=20.0),
    )
    assert steps(records) == [(0, 40, 1, 1), (55, 95, 2, 1)]
    assert phases(records) == [(40, 55)]


def test_an_evaluation_that_never_ends_is_left_open(tmp_path):
    records, _ = read(
        tmp_path,
        batch_of(1),
        line(0, "block_start", samples_count=0),
        line(40, "eval_start", samples_count=4),
        line(80, "block_start", samples_count=4),
        line(90, "block_stop", samples_count=5),
    )
    assert events(records, "phase_started", "phase_ended") == [("phase_started", 40, None)]
    assert steps(records) == [(0, 40, 4, 4), (80, 90, 5, 1)]


def test_a_checkpoint_of_the_last_position_takes_the_time_since_the_stamp_before(tmp_path):
    records, _ = read(
        tmp_path,
        line(0, "block_start", step_num=0),
        line(50, "block_stop", step_num=500),
        line(52, "block_start", step_num=500),
        line(61, "checkpoint", 500, step_num=500),
        line(62, "checkpoint", 500, step_num=500, prefix="1: "),
        line(111, "block_stop", step_num=1_000),
        line(130, "checkpoint", 1_000, step_num=1_000),
    )
    assert steps(records) == [(0, 50, 500, 500), (61, 111, 1_000, 500)]
    assert events(records, "checkpoint_started", "checkpoint_completed") == [
        ("checkpoint_started", 52, 500),
        ("checkpoint_completed", 61, 500),
        ("checkpoint_started", 111, 1_000),
        ("checkpoint_completed", 130, 1_000),
    ]


def test_a_checkpoint_of_an_earlier_position_was_written_beside_training(tmp_path):
    records, _ = read(
        tmp_path,
        line(0, "block_start", step_num=0),
        line(50, "train_loss", 1.0, step_num=500),
        line(70, "train_loss", 1.0, step_num=700),
        line(75, "checkpoint", 500, step_num=500),
        line(90, "block_stop", step_num=900),
    )
    assert steps(records) == [(0, 50, 500, 500), (50, 70, 700, 200), (70, 90, 900, 200)]
    assert events(records, "checkpoint_started", "checkpoint_completed") == [
        ("checkpoint_completed", 75, 500)
    ]


# --- many ranks, clocks, line ends ----------------------------------------------------------------

RUN = [
    (0, "global_batch_size", 8, {}),
    (0, "init_start", None, {}),
    (90, "init_stop", None, {}),
    (100, "block_start", None, {"samples_count": 0}),
    (1_100, "train_loss", 1.5, {"samples_count": 80}),
    (1_300, "block_stop", None, {"samples_count": 96}),
    (1_310, "eval_start", None, {"samples_count": 96}),
    (1_400, "eval_stop", None, {"samples_count": 96}),
    (1_400, "block_start", None, {"samples_count": 96}),
    (1_500, "block_stop", None, {"samples_count": 104}),
    (1_501, "run_stop", None, {"status": "success"}),
]
RUN_STEPS = [(100, 1_100, 10, 10), (1_100, 1_300, 12, 2), (1_400, 1_500, 13, 1)]


def run_lines(prefix="", late=0):
    return [line(t + late, k, v, prefix=prefix, **m) for t, k, v, m in RUN]


def test_the_same_lines_from_many_ranks_count_once(tmp_path):
    alone, _ = read(tmp_path, *run_lines())
    ranks = [run_lines(prefix) for prefix in ("", "0: ", "57: ", "[1,0]<stdout>: ")]
    together, rejects = read(
        tmp_path, *(one for lines in zip(*ranks, strict=True) for one in lines)
    )
    assert rejects == []
    assert [r.fields for r in together] == [r.fields for r in alone]
    assert steps(alone) == RUN_STEPS


def test_a_rank_whose_clock_is_late_changes_no_step(tmp_path):
    # Rank 1 reports the block that ends at 1,300 when rank 0 has begun the next, and so on.
    ranks = (run_lines("0: "), run_lines("1: ", late=3))
    records, _ = read(tmp_path, *(one for lines in zip(*ranks, strict=True) for one in lines))
    assert steps(records) == RUN_STEPS
    assert phases(records) == [(1_310, 1_400)]
    assert events(records, "checkpoint_loaded", "job_ended") == [
        ("checkpoint_loaded", 93, 0),
        ("job_ended", 1_504, "completed"),
    ]


def test_stamps_that_run_backwards_are_taken_in_the_order_of_time(tmp_path):
    records, _ = read(tmp_path, *reversed(run_lines()))
    assert steps(records) == RUN_STEPS


def test_no_step_is_ever_of_negative_length_or_overlaps_another(tmp_path):
    jumbled = [line(t - 40 * (i % 3), k, v, **m) for i, (t, k, v, m) in enumerate(RUN)]
    found = steps(read(tmp_path, *jumbled)[0])
    assert found
    assert all(begin <= end for begin, end, _, _ in found)
    assert all(a[1] <= b[0] for a, b in pairwise(found))


def test_windows_line_ends_and_blank_lines_change_nothing(tmp_path):
    plain, _ = read(tmp_path, *run_lines())
    windows, rejects = read(tmp_path, *run_lines(), end="\r\n")
    spaced, _ = read(tmp_path, *run_lines(), end="\n\n")
    assert [r.fields for r in windows] == [r.fields for r in plain]
    assert [r.fields for r in spaced] == [r.fields for r in plain]
    assert rejects == []


# --- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (":::MLLOG {", "not_json"),
        ("3: :::MLLOG not json at all", "not_json"),
        (":::MLLOG", "not_json"),
        (":::MLLOG [1]", "not_json"),
        (":::MLLOG " + "[" * 200_000, "not_json"),
        (':::MLLOG {"key": "run_start"}', "bad_time: time_ms is None"),
        (':::MLLOG {"key": "k", "time_ms": "1"}', "bad_time: time_ms is '1'"),
        (':::MLLOG {"key": "k", "time_ms": true}', "bad_time: time_ms is True"),
        (':::MLLOG {"key": "k", "time_ms": NaN}', "bad_time: time_ms is nan"),
        (':::MLLOG {"key": "k", "time_ms": -1}', "bad_time: time_ms is -1"),
        (':::MLLOG {"key": "k", "time_ms": 1.5}', "bad_time: time_ms is 1.5"),
        (':::MLLOG {"key": "k", "time_ms": 1e15}', "bad_time: time_ms is 1000000000000000.0"),
        (':::MLLOG {"time_ms": 1745261863032}', "bad_key: key is None"),
    ],
)
def test_a_line_that_should_be_a_log_line_and_is_none_is_rejected(tmp_path, bad, reason):
    clean, _ = read(tmp_path, *run_lines())
    records, rejects = read(tmp_path, bad, *run_lines())
    (reject,) = rejects
    assert (reject.line, reject.reason) == (1, reason)
    if reason == "not_json":
        assert reject.text == bad
    else:  # as text, since NaN equals nothing
        said = json.loads(bad.removeprefix(":::MLLOG "))
        assert {k: repr(v) for k, v in json.loads(reject.text).items()} == {
            k: repr(v) for k, v in said.items()
        }
    assert [r.fields for r in records] == [r.fields for r in clean]


@pytest.mark.parametrize("time_ms", [5, T0 // 1000, 4_102_444_800_000, 253_370_764_800_000])
def test_a_stamp_of_another_age_moves_neither_the_beginning_nor_the_end(tmp_path, time_ms):
    # 1970, seconds for milliseconds, 2100 and 9999.
    clean, _ = read(tmp_path, *run_lines())
    odd = f':::MLLOG {{"key": "train_samples", "time_ms": {time_ms}}}'
    records, (reject,) = read(tmp_path, *run_lines(), odd)
    assert [r.fields for r in records] == [r.fields for r in clean]
    assert (reject.line, reject.reason) == (len(RUN) + 1, f"bad_time: time_ms is {time_ms}")


def test_of_a_rejected_log_line_neither_value_nor_metadata_is_kept(tmp_path):
    bad = ':::MLLOG {"time_ms": -1, "key": "k", "value": "a prompt", "metadata": {"env": "x"}}'
    _, (reject,) = read(tmp_path, bad, *run_lines())
    assert json.loads(reject.text) == {"time_ms": -1, "key": "k"}


def test_metadata_that_is_no_object_tells_no_position(tmp_path):
    odd = f':::MLLOG {{"key": "block_stop", "time_ms": {T0 + 5}, "metadata": [1]}}'
    records, rejects = read(tmp_path, batch_of(1), line(0, "block_start", samples_count=0), odd)
    assert (steps(records), rejects) == ([], [])


def test_ordinary_output_is_no_concern_of_ours(tmp_path):
    noise = ["Clearing cache on n1", "+ set -e", "{}", "RUNANDTIME_START 17", "\x1b[0m"]
    records, rejects = read(tmp_path, *noise, *run_lines(), *noise)
    assert (steps(records), rejects) == (RUN_STEPS, [])


def test_bytes_that_are_no_text_are_rejected_and_the_rest_is_read(tmp_path):
    path = tmp_path / "run.txt"
    path.write_bytes(b"\xff\xfe\n" + "\n".join(run_lines()).encode())
    items = list(MLPerf().read(path, Settings(POLICY)))
    assert [i.reason for i in items if isinstance(i, Reject)] == ["not_utf8"]
    assert steps([i for i in items if isinstance(i, Record)]) == RUN_STEPS


@pytest.mark.parametrize("lines", [[], ["hello"], [":::MLLOG {"]])
def test_a_file_without_a_log_line_is_refused(tmp_path, lines):
    with pytest.raises(UnreadableInput, match="no :::MLLOG line"):
        read(tmp_path, *lines)


@pytest.mark.parametrize("size", range(0, 1_800, 31))
def test_a_log_cut_anywhere_never_ends_in_another_error(tmp_path, size):
    whole = "\n".join(run_lines("0: "))
    try:
        records, rejects = read(tmp_path, whole[:size])
    except UnreadableInput:
        return
    assert len(rejects) <= 1
    assert all(begin <= end for begin, end, _, _ in steps(records))


# --- recognition ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (line(0, "run_start"), True),
        ("some output\n" + line(0, "run_start", prefix=" 0: "), True),
        ("A log of `:::MLLOG {json}` lines, as this page says.", False),
        ("JobID|State|Start|End\n", False),
        ('{"event": "job_submitted"}', False),
        ("", False),
    ],
)
def test_a_log_is_known_by_a_line_in_it(head, known):
    assert MLPerf().recognises(Path("anything"), head) is known


# --- real logs ------------------------------------------------------------------------------------

DELL = "v5.0__Dell__9xXE9712x4GB200__llama2_70b_lora__result_9.txt"
GOOGLE = "v5.0__Google__cloud-tpu-trillium-256-maxdiffusion__stable_diffusion__result_0.txt"
NVIDIA_405B = "v5.0__NVIDIA__tyche_ngpu256_ngc25.04_nemo__llama31_405b__result_1.txt"
TINYCORP = "v5.0__tinycorp__tinybox_green__retinanet__result_4.txt"
AMD = "v5.1__AMD__MI350X_EPYC_9575F_pytorch__llama31_8b__result_0.txt"
CISCO = "v5.1__Cisco__hpf_n8__dlrm_dcnv2__result_1.txt"
NVIDIA_70B = "v5.1__NVIDIA__tyche_ngpu8_ngc25.09_nemo__llama2_70b_lora__result_2.txt"
NEBIUS = "v5.1__Nebius__nebius_b200_n4__llama2_70b_lora__result_10.txt"
ALL = (DELL, GOOGLE, NVIDIA_405B, TINYCORP, AMD, CISCO, NVIDIA_70B, NEBIUS)


def real(name):
    items = list(MLPerf().read(SHARED / name, Settings(POLICY)))
    assert not any(isinstance(i, Reject) for i in items)
    return items


def stamps(name, what):
    """The time_ms of the raw lines that hold this text, in the order of lines."""
    raw = (SHARED / name).read_text()
    return [
        int(re.search(r'"time_ms": (\d+)', one)[1])
        for one in raw.split("\n")
        if ":::MLLOG" in one and what in one
    ]


def between(name, start, stop):
    """The sum of the times from each start to its stop."""
    return sum(stamps(name, f'"{stop}"')) - sum(stamps(name, f'"{start}"'))


def length(records, start, stop):
    moments = {r.fields["event"]: ms(r) for r in records if r.stream == "lifecycle"}
    return moments[stop] - moments[start]


def trained(records):
    return sum(round(r.fields["duration_s"] * 1000) for r in records if r.stream == "steps")


def steps_trained(records):
    return sum(r.fields["steps"] for r in records if r.stream == "steps")


def evaluated(records):
    return sum(end - begin for begin, end in phases(records))


def outcome(records):
    return [r.fields["outcome"] for r in records if r.fields.get("event") == "job_ended"]


@needs_shared
@pytest.mark.parametrize("name", ALL)
def test_startup_lasts_from_the_first_init_start_to_the_last_init_stop(name):
    expected = max(stamps(name, '"init_stop"')) - min(stamps(name, '"init_start"'))
    assert length(real(name), "process_started", "checkpoint_loaded") == expected


@needs_shared
@pytest.mark.parametrize("name", ALL)
def test_steps_follow_one_another_without_overlap_or_evaluation_between(name):
    records = real(name)
    spans = [
        (ms(r) - round(r.fields["duration_s"] * 1000), ms(r), "step")
        for r in records
        if r.stream == "steps"
    ]
    spans += [(begin, end, "evaluation") for begin, end in phases(records)]
    spans.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    numbers = [(r.fields["step"], r.fields["steps"]) for r in records if r.stream == "steps"]
    done = 0
    for last, count in numbers:
        done += count
        assert (last, count > 0) == (done, True)


@needs_shared
@pytest.mark.parametrize(
    ("name", "after_last_ms", "training_ms", "steps_done"),
    [
        # 14 blocks, from 0 to 172,032 samples, in batches of 32: 172,032 / 32.
        (AMD, 0, 6_892_480, 5_376),
        # 384 steps by the last block_stop. The second block had told its last step, 240, with its
        # last train_loss, 18 ms before its block_stop: 375,380 - 375,362.
        (NVIDIA_70B, 18, 441_611, 384),
        # Likewise 535,383 - 535,346.
        (NEBIUS, 37, 156_236, 384),
    ],
)
def test_where_stops_tell_their_position_training_is_the_sum_of_the_blocks(
    name, after_last_ms, training_ms, steps_done
):
    records = real(name)
    blocks = between(name, "block_start", "block_stop")
    assert trained(records) == blocks - after_last_ms == training_ms
    assert steps_trained(records) == steps_done


@needs_shared
@pytest.mark.parametrize(
    ("name", "number", "evaluation_ms"),
    [
        (DELL, 5, 20_473),
        (GOOGLE, 2, 0),
        (TINYCORP, 4, 21_794_949),
        (AMD, 14, 172_509),
        (CISCO, 20, 13_652),
        (NVIDIA_70B, 5, 56_695),
        (NEBIUS, 5, 23_394),
    ],
)
def test_evaluation_is_the_sum_from_eval_start_to_eval_stop(name, number, evaluation_ms):
    records = real(name)
    assert len(phases(records)) == number
    assert evaluated(records) == between(name, "eval_start", "eval_stop") == evaluation_ms


@needs_shared
def test_the_405b_log_of_256_ranks_counts_samples_as_steps_and_logs_no_eval_start():
    records = real(NVIDIA_405B)
    assert len(stamps(NVIDIA_405B, '"init_start"')) == 256
    # Line by line: from a block's start to its first train_step_time, and from each to the next.
    # 276,864 samples in batches of 448 are 618 steps.
    raw = (SHARED / NVIDIA_405B).read_text().split("\n")
    training = evaluation = since = 0
    for one in raw:
        moment = re.search(r'"time_ms": (\d+)', one)
        if '"block_start"' in one:
            since = int(moment[1])
        elif '"train_step_time"' in one:
            training += int(moment[1]) - since
            since = int(moment[1])
        elif '"eval_stop"' in one:
            evaluation += int(moment[1]) - since
    assert trained(records) == training == 11_862_344
    assert evaluated(records) == evaluation == 517_505
    assert steps_trained(records) == 276_864 / 448 == 618
    assert {r.fields["steps"] for r in records if r.stream == "steps"} == {1}
    assert outcome(records) == ["completed"]


@needs_shared
def test_the_dell_log_was_killed_in_its_sixth_block():
    records = real(DELL)
    # block_stop repeats the start's position. Blocks 1 and 2 had told their last position with the
    # last train_loss, 141 and 15 ms before block_stop; blocks 3 to 5 tell it with eval_start, and
    # last to block_stop. Block 6 never closes: it counts to its last train_loss, at 3,330 samples.
    starts = stamps(DELL, '"block_start"')
    stops = stamps(DELL, '"block_stop"')
    killed = stamps(DELL, '"train_loss"')[-1]
    assert trained(records) == sum([*stops, killed]) - sum(starts) - 141 - 15 == 158_864
    assert steps_trained(records) == 3_330 / 9 == 370
    assert outcome(records) == ["failed"]
    # 14:07:43 in the slurmstepd line is local time, five hours behind the stamps.
    assert records[-1].fields["ts"] == "2025-04-21T19:07:42.069+00:00"
    assert records[0].fields["gpus"] == 9 * 4


@needs_shared
def test_the_google_log_writes_checkpoints_and_goes_on_after_run_stop():
    records = real(GOOGLE)
    # The first checkpoint ends 9,108 ms after the block began in which it was written.
    block, written = stamps(GOOGLE, '"block_start"')[-1], stamps(GOOGLE, '"checkpoint"')[0]
    assert written - block == 9_108
    blocks = between(GOOGLE, "block_start", "block_stop")
    assert trained(records) == blocks - 9_108 == 239_343
    assert steps_trained(records) == 2_500
    # The second one ends 9,019 ms after run_stop.
    checkpoints = events(records, "checkpoint_started", "checkpoint_completed")
    assert [step for _, _, step in checkpoints] == [2_000, 2_000, 2_500, 2_500]
    assert checkpoints[3][1] - checkpoints[2][1] == 9_019
    assert T0 + checkpoints[3][1] - stamps(GOOGLE, '"run_stop"')[0] == 9_019
    assert outcome(records) == ["completed"]
    assert T0 + ms(records[-1]) == max(stamps(GOOGLE, '"key"'))


@needs_shared
def test_the_tinycorp_log_has_epochs_and_no_end():
    records = real(TINYCORP)
    assert trained(records) == between(TINYCORP, "epoch_start", "epoch_stop") == 27_195_922
    # It says 12,191 train_samples in batches of 96: 126.99 an epoch, the last one short; 4 epochs.
    assert steps_trained(records) == 4 * 127
    assert outcome(records) == []


@needs_shared
def test_the_cisco_log_evaluates_within_its_epoch_and_is_aborted():
    records = real(CISCO)
    epoch = between(CISCO, "epoch_start", "epoch_stop")
    evaluation = between(CISCO, "eval_start", "eval_stop")
    assert trained(records) == epoch - evaluation == 83_715
    # 4,195,197,692 samples in batches of 160,000 are 26,219.99 steps an epoch, the last one short;
    # epoch_stop says 0.99996186 of them.
    assert steps_trained(records) == round(0.9999618611746758 * 26_220) == 26_219
    assert outcome(records) == ["failed"]
    assert records[0].fields["gpus"] == 8 * 8


@needs_shared
def test_the_nebius_log_had_succeeded_before_it_was_killed():
    records = real(NEBIUS)
    assert outcome(records) == ["completed"]
    assert T0 + ms(records[-1]) == stamps(NEBIUS, '"run_stop"')[0]
    assert records[0].fields["gpus"] == 4 * 8
    assert "tenant" not in records[0].fields


@needs_shared
@pytest.mark.parametrize("name", ALL)
def test_real_logs_are_known_by_their_head(name):
    assert MLPerf().recognises(SHARED / name, text.head(SHARED / name))
    assert Counter(r.stream for r in real(name)).keys() == {"lifecycle", "steps"}
