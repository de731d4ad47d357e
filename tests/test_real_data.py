"""Real input, through the whole product, against figures worked out here from its raw text.

The sample of a training cluster ships with Headway. The other files lie in a folder beside a
checkout that not everybody has; what needs them is skipped without it.
"""

import csv
import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from answers import questions
from answers.home import Home
from answers.mart import Mart, open_mart
from metrics.policy import load_policy
from pipelines.defs.site import Report
from pipelines.run import Ingestion, run

SAMPLE = Path(__file__).parents[1] / "pipelines" / "demo" / "slurm-training"
DATA = Path(__file__).parents[2] / "shared" / "data"
POLICY = load_policy(None)
S = 1_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def ingested(folder: Path, *paths: Path, columns: tuple[str, ...] = ()) -> Iterator[Mart]:
    """A mart of what the paths hold, published in a home of its own."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        pytest.skip(f"{missing[0]} is not here")
    home = Home.open(folder)
    report = run(home, Report(), Ingestion(list(paths), columns=columns))
    assert report.failures == []
    assert sum(summary.quarantined for summary in report.summaries) == 0
    with open_mart(home) as mart:
        yield mart


def utc_us(text: str) -> int:
    """Microseconds of a time that is UTC, whether it says so or not."""
    moment = datetime.fromisoformat(text)
    stated = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (stated - EPOCH) // timedelta(microseconds=1)


def micro(seconds: float) -> int:
    return round(seconds * S)


def assert_adds_up(mart: Mart, job: str) -> None:
    """useful + gap = wall, and the ledger's rows sum to the wall."""
    answer = questions.job(mart, job)
    assert answer["useful_us"] + answer["gap_us"] == answer["wall_us"]
    assert answer["residual_us"] == 0
    assert sum(row["us"] for row in questions.ledger(mart, job)) == answer["wall_us"]


def lost(mart: Mart, job: str, category: str, component: str) -> int:
    """What a job lost to a category and component, of all causes."""
    return sum(
        row["us"]
        for row in questions.job(mart, job)["loss"]
        if (row["category"], row["component"]) == (category, component)
    )


# A training cluster -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sacct:
    """What accounting says of a job's runs: [(start, end, state)] in order, and its submission."""

    submit_us: int
    runs: list[tuple[int, int, str]]

    @property
    def wall_us(self) -> int:
        """From the first Start to the last End: none of these jobs was suspended."""
        return self.runs[-1][1] - self.runs[0][0]


def accounting(path: Path) -> dict[str, Sacct]:
    """The jobs that started, by JobIDRaw."""
    rows = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="|"):
            if row["Start"] != "Unknown":
                rows[row["JobIDRaw"]].append(row)
    found = {}
    for job, runs in rows.items():
        runs.sort(key=lambda row: (row["Start"], row["End"]))
        times = [(utc_us(row["Start"]), utc_us(row["End"]), row["State"]) for row in runs]
        found[job] = Sacct(min(utc_us(row["Submit"]) for row in runs), times)
    return found


ACCOUNTING = accounting(SAMPLE / "sacct_dup.psv")


def step_records() -> dict[str, list[dict[str, Any]]]:
    with gzip.open(SAMPLE / "trainers.steps.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    found = defaultdict(list)
    for record in records:
        found[record["job"]].append(record)
    return found


STEPS = step_records()
ONE_ATTEMPT = sorted(job for job, found in STEPS.items() if all(r["attempt"] == 0 for r in found))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    """The shipped sample, ingested."""
    with ingested(tmp_path_factory.mktemp("cluster"), SAMPLE) as mart:
        yield mart


def first_step_us(job: str, attempt: int) -> int:
    return min(utc_us(r["ts"]) for r in STEPS[job] if r["attempt"] == attempt)


@pytest.mark.parametrize("job", sorted(ACCOUNTING, key=int))
def test_a_job_s_wall_is_what_accounting_says(cluster: Mart, job: str) -> None:
    assert questions.job(cluster, job)["wall_us"] == ACCOUNTING[job].wall_us
    assert_adds_up(cluster, job)


def test_walls_worked_out_by_hand(cluster: Mart) -> None:
    # 19: 15:32:02 to 15:51:35; 20: 15:32:02 to 15:44:39; 21: 15:32:02 to 15:42:10.
    walls = {job: questions.job(cluster, job)["wall_us"] for job in ("19", "20", "21")}
    assert walls == {
        "19": (19 * 60 + 33) * S,
        "20": (12 * 60 + 37) * S,
        "21": (10 * 60 + 8) * S,
    }


def test_the_goodput_of_a_job_without_steps_is_unknown(cluster: Mart) -> None:
    for job in ACCOUNTING:
        known = questions.job(cluster, job)["goodput"] is not None
        assert known == (job in STEPS)


def test_job_19_was_preempted_once_and_lost_a_node_twice(cluster: Mart) -> None:
    found = questions.restarts(cluster, "19")
    assert [row["cause"] for row in found] == ["preemption", "hardware", "hardware"]
    # An interruption is detected at the End of its run: 15:34:32, 15:38:38, 15:43:14.
    day = "2026-11-29T"
    assert [row["detected_us"] for row in found] == [
        utc_us(day + "15:34:32"),
        utc_us(day + "15:38:38"),
        utc_us(day + "15:43:14"),
    ]
    # It is over when the first step of the next attempt completes.
    assert [row["recovered_us"] for row in found] == [first_step_us("19", n) for n in (1, 2, 3)]
    for row in found:
        assert row["time_to_restart_us"] == row["recovered_us"] - row["detected_us"]


def test_what_job_19_still_trained_after_its_interruptions_is_no_part_of_a_restart(
    cluster: Mart,
) -> None:
    # Its process went on in its grace, and for some seconds on a lost node. What lies before
    # detection is shown beside the time to restart, and is no part of it either.
    for attempt, row in enumerate(questions.restarts(cluster, "19")):
        last = max(utc_us(r["ts"]) for r in STEPS["19"] if r["attempt"] == attempt)
        parts = sum(us for part, us in row["components"].items() if part != "detect")
        went_on = row["time_to_restart_us"] - parts
        assert 0 < went_on <= last - row["detected_us"]
        if attempt == 0:  # one step after another, up to 2436 at 15:34:32.533848
            assert went_on == last - row["detected_us"] == 533_848


def test_job_19_lost_no_step(cluster: Mart) -> None:
    # Preempted it saved step 2436 within its grace, its last, and went on with 2437; on the lost
    # nodes it went on for some seconds, and saved 4065 and 6301, its last ones too.
    steps = defaultdict(list)
    for record in STEPS["19"]:
        steps[record["attempt"]].append(record["step"])
    assert [max(steps[n]) for n in range(3)] == [2436, 4065, 6301]
    assert [min(steps[n]) for n in range(1, 4)] == [2437, 4066, 6302]
    assert [row["lost_steps"] for row in questions.restarts(cluster, "19")] == [0, 0, 0]


def test_job_21_lost_the_steps_after_its_last_checkpoint(cluster: Mart) -> None:
    # It left with 99 after step 807 and was requeued; then preempted before any step of attempt 1;
    # attempt 2 goes on after step 800. One restart with two interruptions, and 7 steps lost.
    (row,) = questions.restarts(cluster, "21")
    assert row["detected_us"] == utc_us("2026-11-29T15:32:49")
    assert row["recovered_us"] == first_step_us("21", 2)
    assert (row["interruptions"], row["attempts_used"], row["lost_steps"]) == (2, 2, 7)
    superseded = [r for r in STEPS["21"] if r["attempt"] == 0 and r["step"] > 800]
    assert len(superseded) == 7
    assert (
        0
        < lost(cluster, "21", "restart", "rework")
        <= sum(micro(r["duration_s"]) for r in superseded)
    )


def test_startup_and_restarts_of_job_19_are_cut_where_its_processes_say(cluster: Mart) -> None:
    # Attempt 0: allocated 15:32:02, process 15:32:02.614098, loaded 15:32:04.791673.
    assert lost(cluster, "19", "startup", "launch") == 614_098
    assert lost(cluster, "19", "startup", "load") == 4_791_673 - 2_614_098
    # Attempt 1: allocated 15:37:01, process 15:37:02.159885, loaded 15:37:06.997006.
    assert lost(cluster, "19", "preemption", "launch") == 1_159_885
    assert lost(cluster, "19", "preemption", "load") == 6_997_006 - 2_159_885


def painted(job: str) -> tuple[int, int, int]:
    """Useful, waiting for data, and slow µs of a job of one attempt, step by step."""
    end_us = ACCOUNTING[job].runs[-1][1]
    ordered = sorted(STEPS[job], key=lambda r: (utc_us(r["ts"]), r["step"]))
    pieces = []
    for before, record in pairwise(ordered):
        after, ts = utc_us(before["ts"]), utc_us(record["ts"])
        begin = ts - micro(record["duration_s"])
        if begin < after + 1000:  # an overlap, or a sliver that rounding left
            begin = after
        length = max(0, min(ts, end_us) - begin)
        wait = min(micro(record["data_wait_s"]), length)
        pieces.append((wait, length - wait))
    warm = sorted(compute for _, compute in pieces[:101])  # steps number 2 to 102
    limit = None
    if len(warm) >= 20:
        baseline = warm[(len(warm) - 1) // 2]
        p90 = warm[ceil(len(warm) * 9 / 10) - 1]
        limit = 2 * baseline if baseline and 2 * p90 <= 3 * baseline else None
    slow = 0
    for _, compute in pieces:
        if limit is not None and compute > limit:
            slow += compute - limit // 2
    waited = sum(wait for wait, _ in pieces)
    return sum(compute for _, compute in pieces) - slow, waited, slow


@pytest.mark.parametrize("job", ONE_ATTEMPT)
def test_useful_time_of_a_job_of_one_attempt_step_by_step(cluster: Mart, job: str) -> None:
    useful, waited, slow = painted(job)
    assert questions.job(cluster, job)["useful_us"] == useful
    assert lost(cluster, job, "loader", "step") == waited
    assert lost(cluster, job, "unattributed", "slow_step") == slow


def test_the_one_step_of_job_29_that_took_three_seconds(cluster: Mart) -> None:
    # 15:44:03.487964, its first step, to 15:44:07.320656, its 60th, is 3.832692 s and all painted
    # but for slivers; its steps differ too much for a limit, so step 32 is useful all the same.
    useful, waited, slow = painted("29")
    assert slow == 0
    assert useful > 3_007_201 - 5_322
    assert 3_832_692 - 1000 * 59 < useful + waited <= 3_832_692


@pytest.mark.parametrize("job", sorted(STEPS, key=int))
def test_useful_time_is_no_more_than_the_steps_took(cluster: Mart, job: str) -> None:
    most = sum(micro(r["duration_s"]) + 1000 for r in STEPS[job])
    assert 0 < questions.job(cluster, job)["useful_us"] < most


def nearest_rank(waits: list[int], percent: int) -> int:
    return sorted(waits)[ceil(len(waits) * percent / 100) - 1]


def test_waits_of_the_interactive_jobs_end_with_their_first_step(cluster: Mart) -> None:
    # Jobs 2 and 15 have no steps: their wait ends with their allocation, 0 s and 5 s after Submit.
    waits = [0, 5 * S]
    waits += [first_step_us(job, 0) - ACCOUNTING[job].submit_us for job in ("22", "24", "25", "26")]
    found = questions.queue(cluster, POLICY)
    interactive = found["interactive"]
    assert (interactive["jobs"], interactive["censored"]) == (6, 0)
    assert interactive["p50_us"] == nearest_rank(waits, 50)
    assert interactive["p90_us"] == nearest_rank(waits, 90)
    assert interactive["max_us"] == max(waits)
    assert interactive["within_target"] == 1.0


# A scheduler alone --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    """Accounting of the same cluster's first hour, without any training process's records."""
    path = DATA / "slurm" / "sacct_dup.psv"
    with ingested(tmp_path_factory.mktemp("scheduler"), path) as mart:
        yield mart


def test_a_job_of_three_runs_is_one_job_with_two_restarts(scheduler: Mart) -> None:
    # 14:39:54 PREEMPTED 14:40:07; 14:42:43 NODE_FAIL 14:43:38; 14:45:57 COMPLETED 14:47:29.
    # Wall 7 m 35 s; down 14:40:07 to 14:42:43 is 2 m 36 s, 14:43:38 to 14:45:57 is 2 m 19 s.
    answer = questions.job(scheduler, "1")
    assert answer["wall_us"] == 455 * S
    assert answer["goodput"] is None
    found = questions.restarts(scheduler, "1")
    assert [row["cause"] for row in found] == ["preemption", "hardware"]
    assert [row["time_to_restart_us"] for row in found] == [156 * S, 139 * S]
    assert lost(scheduler, "1", "uninstrumented", "run") == (13 + 55 + 92) * S
    assert_adds_up(scheduler, "1")


def test_every_wall_of_the_scheduler_is_what_accounting_says(scheduler: Mart) -> None:
    for job, told in accounting(DATA / "slurm" / "sacct_dup.psv").items():
        assert questions.job(scheduler, job)["wall_us"] == told.wall_us
        assert_adds_up(scheduler, job)


# A cluster's queue --------------------------------------------------------------------------------

PHILLIPS = DATA / "xdmod" / "phillips.log"
PHILLIPS_COLUMNS = (
    *("jobid", "jobidraw", "cluster", "partition", "qos", "account", "group", "gid", "user"),
    *("uid", "submit", "eligible", "start", "end", "elapsed", "exitcode", "state", "nnodes"),
    *("ncpus", "reqcpus", "reqmem", "reqtres", "alloctres", "timelimit", "nodelist", "jobname"),
)


@pytest.fixture(scope="module")
def phillips(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    """A university cluster's accounting, without a header."""
    home = tmp_path_factory.mktemp("phillips")
    with ingested(home, PHILLIPS, columns=PHILLIPS_COLUMNS) as mart:
        yield mart


def raw_waits() -> dict[str, list[tuple[int, bool]]]:
    """[(wait in µs, still waiting when it was cancelled)] by partition."""
    found = defaultdict(list)
    for line in PHILLIPS.read_text(encoding="utf-8").splitlines():
        row = dict(zip(PHILLIPS_COLUMNS, line.split("|"), strict=True))
        ran = row["nodelist"] != "None assigned"
        until = row["start"] if ran else row["end"]
        found[row["partition"]].append((utc_us(until) - utc_us(row["submit"]), not ran))
    return found


def kaplan_meier(waits: list[tuple[int, bool]], p: Fraction) -> int | None:
    """By the definition: the first wait at which the product of (1 - d / n) is at most 1 - p."""
    survival, at_risk = Fraction(1), len(waits)
    left = Counter(wait for wait, _ in waits)
    ended = Counter(wait for wait, censored in waits if not censored)
    for wait in sorted(left):
        survival *= 1 - Fraction(ended[wait], at_risk)
        if ended[wait] and survival <= 1 - p:
            return wait
        at_risk -= left[wait]
    return None


def test_queue_waits_by_partition_are_those_of_the_raw_lines(phillips: Mart) -> None:
    found = questions.queue(phillips, POLICY)
    waits = raw_waits()
    assert found.keys() == waits.keys() == {"black", "crumpet", "focaccia"}
    assert sum(row["jobs"] for row in found.values()) == 4285
    for partition, raw in waits.items():
        row = found[partition]
        assert row["jobs"] == len(raw)
        assert row["censored"] == sum(censored for _, censored in raw)
        assert row["max_us"] == max(wait for wait, _ in raw)
        for name, percent in (("p50_us", 50), ("p90_us", 90), ("p95_us", 95), ("p99_us", 99)):
            assert row[name] == kaplan_meier(raw, Fraction(percent, 100))
        assert row["target_us"] is None
        assert row["within_target"] is None


def test_where_every_job_ran_quantiles_are_nearest_ranks(phillips: Mart) -> None:
    found = questions.queue(phillips, POLICY)
    for partition in ("crumpet", "focaccia"):
        waits = [wait for wait, _ in raw_waits()[partition]]
        assert found[partition]["censored"] == 0
        assert found[partition]["p50_us"] == nearest_rank(waits, 50)
        assert found[partition]["p90_us"] == nearest_rank(waits, 90)


def test_no_goodput_is_claimed_where_nothing_is_instrumented(phillips: Mart) -> None:
    coverage = questions.quality(phillips)["coverage"]
    assert coverage["share"] == 0.0
    assert all(row["goodput"] is None for row in questions.jobs(phillips))


# Training logs ------------------------------------------------------------------------------------

MLPERF = DATA / "mlperf"
LOGS = {
    "dell": "v5.0__Dell__9xXE9712x4GB200__llama2_70b_lora__result_9",
    "google": "v5.0__Google__cloud-tpu-trillium-256-maxdiffusion__stable_diffusion__result_0",
    "nvidia 405b": "v5.0__NVIDIA__tyche_ngpu256_ngc25.04_nemo__llama31_405b__result_1",
    "tinycorp": "v5.0__tinycorp__tinybox_green__retinanet__result_4",
    "amd": "v5.1__AMD__MI350X_EPYC_9575F_pytorch__llama31_8b__result_0",
    "cisco": "v5.1__Cisco__hpf_n8__dlrm_dcnv2__result_1",
    "nvidia 70b": "v5.1__NVIDIA__tyche_ngpu8_ngc25.09_nemo__llama2_70b_lora__result_2",
    "nebius": "v5.1__Nebius__nebius_b200_n4__llama2_70b_lora__result_10",
}
STAMP = re.compile(r'"time_ms": (\d+).*?"key": "(\w+)"')


def stamps(log: str, *keys: str) -> list[tuple[int, str]]:
    """[(ms, key)] of a raw log's lines with one of these keys (all, if none), in order of time."""
    text = (MLPERF / f"{LOGS[log]}.txt").read_text(encoding="utf-8", errors="replace")
    found = [(int(ms), key) for ms, key in STAMP.findall(text) if not keys or key in keys]
    return sorted(found, key=lambda stamp: stamp[0])


def number(log: str, key: str) -> int:
    text = (MLPERF / f"{LOGS[log]}.txt").read_text(encoding="utf-8", errors="replace")
    found = re.search(rf'"key": "{key}", "value": (\d+)', text)
    assert found
    return int(found[1])


def spans_ms(log: str, start: str, stop: str) -> list[int]:
    """How long each interval took from a start to the next stop."""
    lengths, begun = [], None
    for ms, key in stamps(log, start, stop):
        if key == start:
            begun = ms
        elif begun is not None:
            lengths.append(ms - begun)
            begun = None
    return lengths


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mart]:
    """Result logs of eight submitters, one job each."""
    with ingested(tmp_path_factory.mktemp("logs"), MLPERF) as mart:
        yield mart


@pytest.mark.parametrize("log", LOGS)
def test_a_log_s_wall_lies_between_its_first_and_last_stamp(logs: Mart, log: str) -> None:
    times = [ms for ms, _ in stamps(log)]
    assert questions.job(logs, LOGS[log])["wall_us"] == (max(times) - min(times)) * 1000
    assert_adds_up(logs, LOGS[log])


@pytest.mark.parametrize("log", LOGS)
def test_a_log_s_startup_is_its_initialisation(logs: Mart, log: str) -> None:
    # Many ranks begin it; training waits for the last one that is ready.
    begun = min(ms for ms, _ in stamps(log, "init_start"))
    ready = max(ms for ms, _ in stamps(log, "init_stop"))
    first = min(ms for ms, _ in stamps(log))
    assert lost(logs, LOGS[log], "startup", "load") == (ready - begun) * 1000
    assert lost(logs, LOGS[log], "startup", "launch") == (begun - first) * 1000


@pytest.mark.parametrize(
    ("log", "evaluations"),
    [
        ("dell", 5),
        ("google", 2),  # stamped once the run was over, each of no length
        ("tinycorp", 4),
        ("amd", 14),
        ("cisco", 20),
        ("nvidia 70b", 5),
        ("nebius", 5),
    ],
)
def test_a_log_s_evaluations_are_the_job_s_own_time(logs: Mart, log: str, evaluations: int) -> None:
    lengths = spans_ms(log, "eval_start", "eval_stop")
    assert len(lengths) == evaluations
    assert lost(logs, LOGS[log], "job", "phase") == sum(lengths) * 1000


def test_evaluations_whose_start_was_not_logged_begin_with_the_stamp_before(logs: Mart) -> None:
    # The block stays open, so no step lies between the last loss before an evaluation's end, at
    # the same sample count, and that end.
    seconds = 0
    text = (MLPERF / f"{LOGS['nvidia 405b']}.txt").read_text(encoding="utf-8")
    lines = [
        json.loads(line.partition(":::MLLOG")[2]) for line in text.splitlines() if "MLLOG" in line
    ]
    ends = [line for line in lines if line["key"] == "eval_stop"]
    assert len(ends) == 6
    for end in ends:
        trained = [
            line["time_ms"]
            for line in lines
            if line["key"] == "tracked_stats"
            and not {"train_loss", "reduced_train_loss", "train_step_time"}.isdisjoint(
                line["value"]
            )
            and line["time_ms"] < end["time_ms"]
        ]
        seconds += end["time_ms"] - max(trained)
    assert lost(logs, LOGS["nvidia 405b"], "job", "phase") == seconds * 1000


@pytest.mark.parametrize("log", LOGS)
def test_a_log_s_training_is_useful_but_for_its_first_step(logs: Mart, log: str) -> None:
    # What is neither startup, evaluation, checkpoint nor after the last step is training.
    job = LOGS[log]
    answer = questions.job(logs, job)
    other = sum(
        row["us"]
        for row in answer["loss"]
        if (row["category"], row["component"]) != ("unattributed", "slow_step")
    )
    slow = lost(logs, job, "unattributed", "slow_step")
    assert answer["useful_us"] + slow + other == answer["wall_us"]
    starts = [ms for ms, _ in stamps(log, "block_start", "epoch_start")]
    training = answer["wall_us"] - (min(starts) - min(ms for ms, _ in stamps(log))) * 1000
    training -= lost(logs, job, "job", "phase")
    assert 0 < answer["useful_us"] + slow < training


@pytest.mark.parametrize(
    ("log", "start", "stop", "first_steps"),
    [
        # Steps of the first block: to sample 12,288 in batches; 500 by the log's own count; an
        # epoch of the training set in batches, the last one short.
        ("amd", "block_start", "block_stop", lambda: 12_288 // number("amd", "global_batch_size")),
        ("google", "block_start", "block_stop", lambda: 500),
        (
            "tinycorp",
            "epoch_start",
            "epoch_stop",
            lambda: ceil(
                number("tinycorp", "train_samples") / number("tinycorp", "global_batch_size")
            ),
        ),
    ],
    ids=["amd", "google", "tinycorp"],
)
def test_useful_time_of_a_log_of_closed_blocks_is_the_blocks(
    logs: Mart, log: str, start: str, stop: str, first_steps: Any
) -> None:
    blocks = [ms * 1000 for ms in spans_ms(log, start, stop)]
    # The first step is no useful time: a start lasts until it completes.
    first = blocks[0] // first_steps()
    useful = sum(blocks) - first - lost(logs, LOGS[log], "checkpoint", "pause")
    if log == "google":  # its second checkpoint lies after the last block
        (run_stop,) = stamps(log, "run_stop")
        useful += (max(stamps(log, "checkpoint"))[0] - run_stop[0]) * 1000
    assert questions.job(logs, LOGS[log])["useful_us"] == useful


@pytest.mark.parametrize(
    ("log", "state"),
    [
        ("dell", "failed"),  # its time limit killed it
        ("google", "completed"),
        ("nvidia 405b", "completed"),
        ("amd", "completed"),
        ("cisco", "failed"),  # aborted
        ("nvidia 70b", "completed"),
        ("nebius", "completed"),  # killed by the time limit, but only after success
    ],
)
def test_a_log_tells_how_its_job_ended(logs: Mart, log: str, state: str) -> None:
    assert questions.job(logs, LOGS[log])["state"] == state


def test_a_log_that_breaks_off_ends_with_its_last_record(logs: Mart) -> None:
    # No run_stop, and other logs are years later: presumed gone.
    silent = [
        row["job"] for row in questions.quality(logs)["findings"] if row["finding"] == "silent"
    ]
    assert silent == [LOGS["tinycorp"]]
