"""The command line as somebody meets it who has only just installed it.

Most commands run in this process; those whose streams, exit code or terminal are what a test is
about run in one of their own.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import Done, headway, process
from demonstration import Demonstration
from typer.main import get_group

from pipelines.cli import app

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "pipelines" / "demo" / "slurm-training"
S = 1_000_000
HOUR = 3600 * S

COMMANDS = {
    "ingest": {
        "paths",
        "--source",
        "--timezone",
        "--columns",
        "--no-refresh",
        "--home",
        "--format",
    },
    "refresh": {"--rebuild", "--as-of", "--home", "--format"},
    "job": {"job", "--home", "--format"},
    "ledger": {"--job", "--home", "--format"},
    "restarts": {"--job", "--home", "--format"},
    "queue": {"--home", "--format"},
    "quality": {"--home", "--format"},
    "why": {"job", "--home", "--format"},
    "contracts": {"--job", "--broken", "--home", "--format"},
    "budget": {"--slo", "--scope", "--as-of", "--detail", "--home", "--format"},
    "gate": {"--change", "--scope", "--as-of", "--home", "--format"},
    "freeze": {"--scope", "--who", "--why", "--until", "--home"},
    "thaw": {"--who", "--why", "--scope", "--until", "--home"},
    "override": {"--change", "--until", "--who", "--why", "--scope", "--home"},
    "exclude": {"--from", "--until", "--who", "--why", "--scope", "--home"},
    "reattribute": {"--job", "--detected", "--cause", "--who", "--why", "--home"},
    "journal": {
        "--approve",
        "--revoke",
        "--note",
        "--week",
        "--scope",
        "--who",
        "--why",
        "--home",
        "--format",
    },
    "manifest": {
        "checkpoint",
        "--step",
        "--job",
        "--code-version",
        "--data-version",
        "--ranks",
        "--holds",
    },
    "restore-test": {
        "target",
        "--step",
        "--bytes-per-s",
        "--most-bytes",
        "--no-refresh",
        "--home",
        "--format",
    },
    "capacity": {"--scope", "--hours", "--days", "--as-of", "--home", "--format"},
    "shares": {"--hours", "--days", "--as-of", "--home", "--format"},
    "rules": {"--home"},
    "preview": {"--change", "--nodes", "--minutes", "--at", "--home", "--format"},
    "pull-prometheus": {"--url", "--from", "--until", "--no-refresh", "--home", "--format"},
    "plan-checkpoint": {
        "--job",
        "--save-seconds",
        "--mtbf-hours",
        "--restart-minutes",
        "--step-seconds",
        "--writers",
        "--blocking-fraction",
        "--bytes",
        "--bandwidth",
        "--jobs",
        "--price",
        "--spot-price",
        "--spot-mtbf-minutes",
        "--warning-seconds",
        "--gpus",
        "--useful-hours",
        "--home",
        "--format",
    },
    "plan-retention": {
        "--bytes",
        "--interval-seconds",
        "--run-hours",
        "--job",
        "--newest",
        "--hourly",
        "--daily",
        "--milestone-hours",
        "--home",
        "--format",
    },
    "serve": {"--port", "--host", "--home"},
    "app": {"--port", "--home"},
    "review": {"--out", "--week", "--scope", "--home"},
    "validate": {"file", "--home"},
    "up": {"--host", "--port", "--app-port", "--gate-port", "--home"},
    "simulate": {
        "--seed",
        "--jobs",
        "--days",
        "--step-seconds",
        "--until",
        "--bad-week",
        "--disorder",
        "--out",
        "--home",
    },
    "demo": {"--until", "--home"},
}
QUESTIONS = (
    ("job", "19"),
    ("ledger",),
    ("restarts",),
    ("queue",),
    ("quality",),
    ("contracts",),
)


def ask(home: Path, *args: str) -> Any:
    """A question's answer as JSON, which is all that may stand on stdout."""
    return json.loads(headway(home, *args, "--format", "json").stdout)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A home that holds the shipped sample, and what ingesting it printed."""
    home = tmp_path_factory.mktemp("cli") / "home"
    return home, process(home, "ingest", str(SAMPLE), COLUMNS="200")


@pytest.fixture(scope="module")
def home(ingested: tuple[Path, Done]) -> Path:
    """A home that holds the shipped sample; tests leave it as it is."""
    return ingested[0]


@pytest.fixture
def own_home(home: Path, tmp_path: Path) -> Path:
    """A copy of that home, to be changed."""
    return shutil.copytree(home, tmp_path / "own")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing was published yet."""
    return tmp_path_factory.mktemp("empty") / "home"


# Help ---------------------------------------------------------------------------------------------


def test_help_names_every_command_and_no_other(empty: Path) -> None:
    said = process(empty, "--help").stdout.decode()
    named = set(re.findall(r"^│ (\w[\w-]*) ", said, flags=re.MULTILINE))
    assert named == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_the_options_that_it_is_said_to_have(command: str) -> None:
    found = get_group(app).commands[command]
    names = {
        name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)
    }
    assert names - {"--refresh"} == COMMANDS[command]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_and_each_of_its_options_say_what_they_are_for(command: str) -> None:
    found = get_group(app).commands[command]
    assert found.help
    assert all(parameter.help for parameter in found.params)


def test_without_a_command_the_commands_are_shown(empty: Path) -> None:
    assert b"ingest" in headway(empty, code=2).stdout


# Ingesting ----------------------------------------------------------------------------------------


def test_ingesting_tells_what_became_of_each_file(ingested: tuple[Path, Done]) -> None:
    said = ingested[1].stdout.decode()
    # 242 lines of lifecycle, 27,727 lines of steps.
    assert re.search(r"trainers\.lifecycle\.jsonl +canonical +242 +242 +0 +0 +0", said)
    assert re.search(r"trainers\.steps\.jsonl\.gz +canonical +27727 +27727 +0 +0 +0", said)
    assert re.search(r"sacct_dup\.psv +slurm ", said)


def test_ingesting_tells_what_was_derived_and_as_of_when(ingested: tuple[Path, Done]) -> None:
    # 32 jobs in sacct, among them all that the training processes tell of.
    said = ingested[1].stdout.decode()
    assert re.search(r"jobs derived: 32, job-hours: \d+; data as of 2026-11-29 15:51:35 UTC", said)


def test_what_was_passed_over_goes_to_stderr(ingested: tuple[Path, Done]) -> None:
    said = ingested[1].stderr.decode()
    assert "passed over" in said
    assert "README.md" in said
    assert "README.md" not in ingested[1].stdout.decode()


def test_stderr_begins_with_no_empty_line(ingested: tuple[Path, Done]) -> None:
    assert not ingested[1].stderr.startswith(b"\n")


def test_ingesting_again_stores_nothing_and_changes_no_number(own_home: Path, home: Path) -> None:
    again = ask(own_home, "ingest", str(SAMPLE))
    assert [row["known"] for row in again] == [True] * 3
    assert {row["new"] for row in again} == {0}
    assert ask(own_home, "ledger") == ask(home, "ledger")


def test_without_a_refresh_records_are_stored_and_nothing_is_published(tmp_path: Path) -> None:
    home = tmp_path / "home"
    steps = str(SAMPLE / "trainers.steps.jsonl.gz")
    (row,) = ask(home, "ingest", "--no-refresh", steps)
    assert row == {
        "path": steps,
        "source": "canonical",
        "read": 27727,
        "new": 27727,
        "duplicate": 0,
        "dropped_fields": 0,
        "quarantined": 0,
        "known": False,
    }
    assert b"nothing was published" in headway(home, "ledger", code=1).stderr
    headway(home, "refresh")
    assert ask(home, "job", "29")["instrumented"]


# Answers ------------------------------------------------------------------------------------------


def test_a_job_as_json(home: Path) -> None:
    answer = ask(home, "job", "19")
    assert list(answer) == [
        *("job", "tier", "tenant", "gpus", "state", "instrumented", "as_of_us", "wall_us"),
        *("useful_us", "goodput", "gap_us", "residual_us", "loss"),
    ]
    assert {list(row) == ["category", "component", "cause", "us"] for row in answer["loss"]} == {
        True
    }
    # sacct: 15:32:02 to 15:51:35; no GPU in its TRES.
    assert answer["wall_us"] == (19 * 60 + 33) * S
    assert (answer["tier"], answer["tenant"], answer["gpus"]) == ("batch", "research", None)
    assert (answer["state"], answer["instrumented"]) == ("completed", True)
    assert answer["useful_us"] + answer["gap_us"] == answer["wall_us"]
    assert answer["goodput"] == pytest.approx(answer["useful_us"] / answer["wall_us"])
    assert answer["residual_us"] == 0
    assert sum(row["us"] for row in answer["loss"]) == answer["gap_us"]


def test_a_job_without_steps_has_no_goodput(home: Path) -> None:
    answer = ask(home, "job", "1")
    assert answer["goodput"] is None
    assert not answer["instrumented"]
    assert (answer["wall_us"], answer["residual_us"]) == (455 * S, 0)


def test_a_job_without_steps_is_not_said_to_have_done_nothing_useful(home: Path) -> None:
    said = headway(home, "job", "1").stdout.decode()
    assert "Not useful" not in said
    # Job 1 ran 160 s and waited 156 + 139 s to run again.
    assert "Where it went: 7 m 35 s, residual 0 µs" in said


def test_a_job_that_never_ran_has_no_wall(home: Path) -> None:
    answer = ask(home, "job", "16")
    assert [answer[name] for name in ("wall_us", "goodput", "gap_us", "residual_us")] == [None] * 4
    assert answer["loss"] == []
    said = headway(home, "job", "16").stdout.decode()
    assert "None" not in said


def test_the_ledger_as_json(home: Path) -> None:
    rows = ask(home, "ledger")
    assert {tuple(row) for row in rows} == {
        ("job", "hour_us", "category", "component", "cause", "us")
    }
    assert all(row["us"] > 0 and row["hour_us"] % HOUR == 0 for row in rows)
    of_one = ask(home, "ledger", "--job", "19")
    assert of_one == [row for row in rows if row["job"] == "19"]
    assert sum(row["us"] for row in of_one) == (19 * 60 + 33) * S


def test_restarts_as_json(home: Path) -> None:
    rows = ask(home, "restarts", "--job", "19")
    assert list(rows[0]) == [
        *("job", "detected_us", "recovered_us", "cause", "outcome", "basis", "attempts_used"),
        *("interruptions", "lost_steps", "time_to_restart_us", "components"),
    ]
    assert list(rows[0]["components"]) == ["detect", "requeue", "launch", "load", "first_step"]
    assert [row["cause"] for row in rows] == ["preemption", "hardware", "hardware"]
    assert rows == [row for row in ask(home, "restarts") if row["job"] == "19"]


def test_queue_waits_as_json(home: Path) -> None:
    answer = ask(home, "queue")
    assert list(answer) == ["interactive", "standard", "batch"]
    assert {tuple(row) for row in answer.values()} == {
        (
            *("jobs", "censored", "p50_us", "p90_us", "p95_us", "p99_us", "max_us"),
            *("target_us", "within_target"),
        )
    }
    assert answer["interactive"]["target_us"] == 300 * S
    assert answer["batch"]["target_us"] is None
    # QOS of the jobs in sacct: 6 interactive, 9 standard, 17 batch, of which 16 never started.
    assert {tier: row["jobs"] for tier, row in answer.items()} == {
        "interactive": 6,
        "standard": 9,
        "batch": 17,
    }
    assert answer["batch"]["censored"] == 1


def test_why_a_job_waited_as_json(home: Path) -> None:
    answer = ask(home, "why", "9")
    # sacct: submitted 14:40:07, held by its BeginTime until 15:40:07, started 15:40:27.
    assert {
        name: answer[name] for name in ("job", "waiting", "wait_us", "explained_us", "now")
    } == {
        "job": "9",
        "waiting": False,
        "wait_us": 3620 * S,
        "explained_us": 3620 * S,
        "now": None,
    }
    assert answer["reasons"] == [
        {"reason": "user_hold", "us": 3600 * S},
        {"reason": "other", "us": 20 * S},
    ]
    rows = list(
        csv.DictReader(io.StringIO(headway(home, "why", "9", "--format", "csv").stdout.decode()))
    )
    assert [(row["reason"], int(row["us"])) for row in rows] == [
        ("user_hold", 3600 * S),
        ("other", 20 * S),
    ]


def test_why_a_job_waits_now_and_who_else_does(home: Path) -> None:
    answer = ask(home, "why", "16")
    # Submitted 14:44:08, not started when the data end, within the second 15:51:35.
    assert (answer["waiting"], answer["wait_us"] // S) == (True, 4047)
    assert "PartitionConfig" in answer["now"]
    everybody = ask(home, "why")
    assert [(row["job"], row["now"]) for row in everybody["waiting"]] == [("16", answer["now"])]
    said = headway(home, "why", "16").stdout.decode()
    assert "number 1 of 1 in batch by age; to expect: unknown" in said
    assert "PartitionConfig" in headway(home, "why").stdout.decode()


# One job's ledger: the whole is the same table, of a hundred times as many rows.
TABLES = (
    *(question for question in QUESTIONS if question != ("ledger",)),
    ("ledger", "--job", "three-weeks"),
    ("why",),
    ("budget",),
    ("budget", "--scope", "job=three-weeks"),
    ("capacity",),
    ("plan-checkpoint", "--job", "three-weeks"),
    ("plan-retention", "--job", "three-weeks", "--bytes", "1.4TB", "--run-hours", "720"),
)


@pytest.mark.parametrize("question", TABLES, ids=" ".join)
def test_no_number_of_a_table_is_broken_at_80_columns(
    demonstration: Demonstration, question: tuple[str, ...]
) -> None:
    number = re.compile(r"-?[\d,.]+ (?:%|µs|ms|s|min|m|h|d|GB|TB|GPU-h|GPU-hours|points)(?!\w)")
    wide, narrow = (
        headway(demonstration.home, *question, COLUMNS=columns).stdout.decode()
        for columns in ("2000", "80")
    )
    assert number.search(wide)
    assert Counter(number.findall(narrow)) == Counter(number.findall(wide))
    assert all(len(line) <= 80 for line in narrow.splitlines())


def test_the_contracts_as_json_and_as_a_table(home: Path) -> None:
    rows = ask(home, "contracts")
    assert {tuple(row) for row in rows} == {("contract", "job", "at_us", "kept", "detail")}
    assert {row["kept"] for row in rows} <= {True, False, None}
    broken = ask(home, "contracts", "--broken")
    assert broken == [row for row in rows if row["kept"] is False]
    of_one = ask(home, "contracts", "--job", "19")
    assert of_one == [row for row in rows if row["job"] == "19"]
    # Job 19 was preempted once, at 15:34:32; sacct tells of no signal, its trainer does.
    said = headway(home, "contracts", "--job", "19").stdout.decode()
    assert "a preemption is signalled" in said


def test_quality_as_json(home: Path) -> None:
    answer = ask(home, "quality")
    assert list(answer) == ["as_of_us", "coverage", "quarantine", "findings"]
    # No TRES names a GPU, so each job weighs one: its wall.
    covered = answer["coverage"]
    assert list(covered) == ["gpu_us", "instrumented_gpu_us", "share"]
    assert covered["gpu_us"] == sum(row["us"] for row in ask(home, "ledger"))
    assert answer["quarantine"] == []
    unknown = [row["job"] for row in answer["findings"] if row["finding"] == "GPUs unknown"]
    assert len(unknown) == 32


def test_quality_as_csv_has_what_was_quarantined_and_where(tmp_path: Path) -> None:
    (tmp_path / "a.lifecycle.jsonl").write_text(
        '{"event": "job_submitted", "ts": "2026-11-01T00:00:00Z", "job": "a", "tier": "batch",'
        ' "gpus": 1}\n'
        '{"event": "nonsense", "ts": "2026-11-01T00:00:00Z"}\n',
        encoding="utf-8",
    )
    home = tmp_path / "home"
    headway(home, "ingest", str(tmp_path / "a.lifecycle.jsonl"))
    said = headway(home, "quality", "--format", "csv").stdout.decode()
    (row,) = csv.DictReader(io.StringIO(said))
    (told,) = ask(home, "quality")["quarantine"]
    assert (row["finding"], row["count"], row["coverage"]) == ("quarantined", "1", "")
    assert row["detail"] == f"{told['example']} (such as {tmp_path / 'a.lifecycle.jsonl'}:2)"


def test_a_job_that_waits_is_not_said_to_lack_step_records(tmp_path: Path) -> None:
    (tmp_path / "a.lifecycle.jsonl").write_text(
        '{"event": "job_submitted", "ts": "2026-11-01T00:00:00Z", "job": "a", "tier": "batch"}\n',
        encoding="utf-8",
    )
    home = tmp_path / "home"
    headway(home, "ingest", str(tmp_path / "a.lifecycle.jsonl"))
    said = headway(home, "job", "a").stdout.decode()
    assert "why unknown  it has not run yet" in said
    assert "instrumented" not in said
    # Its records are before this moment, and weeks old: that is what there is to say.
    asked = headway(
        home, "gate", "--change", "firmware", "--as-of", "2026-11-20T00:00:00Z", code=3
    ).stdout.decode()
    assert "too old to decide on. Ingest what came since" in " ".join(asked.split())


def flat(answer: Any) -> list[dict[str, Any]]:
    """The rows of an answer's CSV and Parquet."""
    if isinstance(answer, list):
        rows = answer
    elif "loss" in answer:
        facts = {name: value for name, value in answer.items() if name != "loss"}
        loss = answer["loss"] or [dict.fromkeys(("category", "component", "cause", "us"))]
        rows = [facts | row for row in loss]
    elif "findings" in answer:
        facts = {"as_of_us": answer["as_of_us"], "coverage": answer["coverage"]["share"]}
        rows = [facts | row for row in answer["findings"]]
    else:
        rows = [{"tier": tier} | row for tier, row in answer.items()]
    return [
        {name: value for name, value in row.items() if name != "components"}
        | {f"{part}_us": us for part, us in row.get("components", {}).items()}
        for row in rows
    ]


@pytest.mark.parametrize("question", [*QUESTIONS, ("job", "1"), ("job", "16")], ids=" ".join)
def test_csv_and_parquet_say_what_the_json_says(home: Path, question: tuple[str, ...]) -> None:
    rows = flat(ask(home, *question))
    assert rows
    text = headway(home, *question, "--format", "csv").stdout.decode()
    as_text = [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
    assert list(csv.DictReader(io.StringIO(text))) == as_text
    binary = headway(home, *question, "--format", "parquet").stdout
    assert pq.read_table(pa.BufferReader(binary)).to_pylist() == rows


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_a_table_says_as_of_when_it_holds(home: Path, question: tuple[str, ...]) -> None:
    done = headway(home, *question)
    assert done.stdout.decode().rstrip().endswith("data as of 2026-11-29 15:51:35 UTC")
    assert done.stderr == b""


def test_a_table_is_shown_where_the_terminal_knows_no_unicode(home: Path) -> None:
    said = process(home, "job", "19", PYTHONIOENCODING="ascii").stdout.decode("ascii")
    assert "16.5 %" in said


def test_a_reader_that_stops_reading_is_no_fault(home: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = process(home, "ledger", "--format", "csv", code=1, stdout=write_end)
    finally:
        os.close(write_end)
    assert done.stderr == b""


def test_an_answer_that_cannot_be_written_is_told_in_a_line(home: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("only Linux has /dev/full, a disk that is always full")
    with full.open("wb") as out:
        done = process(home, "ledger", code=1, stdout=out)
    assert b"No space left" in done.stderr


def with_closed(home: Path, closed: str, *args: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command from a shell that closes some of its streams."""
    return subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", sys.executable, "-m", "pipelines.cli", *args],
        env=os.environ | {"HEADWAY_HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("how", ["table", "json", "csv", "parquet"])
def test_an_answer_to_a_closed_stdout_goes_nowhere(home: Path, how: str) -> None:
    done = with_closed(home, ">&-", "queue", "--format", how)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_diagnostics_to_a_closed_stderr_do_not_turn_up_on_stdout(home: Path) -> None:
    done = with_closed(home, "<&- 2>&-", "job", "nobody")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_file_that_is_opened_takes_no_closed_streams_place(tmp_path: Path) -> None:
    # A database opened as descriptor 1 would take in what is written to stdout.
    done = with_closed(tmp_path, "<&- >&- 2>&-", "ingest", str(SAMPLE))
    assert done.returncode == 0
    assert ask(tmp_path, "job", "19")["wall_us"] == 1173 * S


# Refreshing ---------------------------------------------------------------------------------------


def test_what_was_published_as_of_a_moment_says_so_and_a_refresh_restores_it(
    own_home: Path, home: Path
) -> None:
    refreshed = ask(own_home, "refresh", "--as-of", "2026-11-29T15:35:00Z")
    assert refreshed["as_of_us"] == 1_795_966_500 * S
    said = headway(own_home, "job", "19").stdout.decode()
    assert "data as of 2026-11-29 15:35:00 UTC (as asked; later records were not read)" in said
    answer = ask(own_home, "job", "19")
    # 2026-11-29T15:35:00Z is 1,795,966,500 s after 1970. Job 19 ran since 15:32:02, was preempted
    # at 15:34:32, and waits: 178 s, and its restart is open.
    assert answer["as_of_us"] == 1_795_966_500 * S
    assert answer["wall_us"] == 178 * S
    assert [row["outcome"] for row in ask(own_home, "restarts", "--job", "19")] == ["open"]
    # Job 23 was submitted and had not started; job 27 had not been submitted.
    assert ask(own_home, "job", "23")["wall_us"] is None
    headway(own_home, "job", "27", code=2)
    headway(own_home, "refresh")
    assert "as asked" not in headway(own_home, "job", "19").stdout.decode()
    assert ask(own_home, "ledger") == ask(home, "ledger")


def test_a_refresh_as_of_a_moment_says_so_itself(own_home: Path) -> None:
    done = headway(own_home, "refresh", "--as-of", "2001-01-01T00:00:00Z")
    said = " ".join(done.stdout.decode().split())
    assert "data as of 2001-01-01 00:00:00 UTC (as asked; later records were not read)" in said


def test_a_store_without_a_record_has_answers_that_say_so(tmp_path: Path) -> None:
    headway(tmp_path / "home", "refresh")
    for question in QUESTIONS[1:]:
        said = headway(tmp_path / "home", *question).stdout.decode()
        assert said.rstrip().endswith("nothing is stored yet")
    for words, code in ((("gate", "--change", "firmware"), 3), (("budget",), 0)):
        said = headway(tmp_path / "home", *words, code=code).stdout.decode()
        assert said.rstrip().endswith(", no data")


def test_a_rebuild_changes_no_number(own_home: Path, home: Path) -> None:
    headway(own_home, "refresh", "--rebuild")
    for question in QUESTIONS:
        assert ask(own_home, *question) == ask(home, *question)


# Which home ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["before", "after"])
def test_the_home_that_is_given_goes_before_the_environment_s(
    home: Path, empty: Path, place: str
) -> None:
    given = ("--home", str(home))
    words = (*given, "job", "19") if place == "before" else ("job", "19", *given)
    assert ask(empty, *words)["job"] == "19"


def test_the_home_may_be_relative(home: Path) -> None:
    done = headway(home, "--home", home.name, "job", "19", HEADWAY_HOME="elsewhere")
    assert b"Job 19" in done.stdout


def test_without_any_home_it_is_dot_headway_here(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".headway").symlink_to(home)
    done = headway(tmp_path / "x", "job", "19", HEADWAY_HOME="")
    assert b"Job 19" in done.stdout


def test_a_question_makes_no_home(tmp_path: Path) -> None:
    mistyped = tmp_path / "mistyped"
    assert str(mistyped).encode() in headway(mistyped, "ledger", code=1).stderr
    assert not mistyped.exists()


# What goes wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_a_question_before_anything_was_published_fails_and_says_what_to_do(
    empty: Path, question: tuple[str, ...]
) -> None:
    done = headway(empty, *question, code=1)
    assert b"headway ingest" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("job", "20x"), "did you mean 20"),
        (("ledger", "--job", "nope"), "nope: no such job"),
        (("restarts", "--job", "nope"), "nope: no such job"),
        (("why", "20x"), "did you mean 20"),
        (("contracts", "--job", "nope"), "nope: no such job"),
        (("job", ""), "no such job"),
        (("job",), "Missing argument"),
        (("jobs",), "No such command"),
        (("ledger", "--format", "xml"), "'xml' is not one of"),
        (("ledger", "--jobs", "19"), "No such option"),
        (("ledger", "19"), "unexpected extra argument"),
        (("refresh", "--as-of", "yesterday"), "say it like 2026-10-01T12:00:00Z"),
        (("refresh", "--as-of", "2026-11-29T15:35:00"), "with an offset"),
        (("refresh", "--as-of", "1969-11-29T15:35:00Z"), "outside the years"),
        (("serve", "--port", "99999"), "less than or equal to 65535"),
        (("app", "--port", "0"), "greater than or equal to 1"),
        (("ingest",), "Missing argument"),
        (("ingest", "absent.jsonl"), "absent.jsonl: no such file"),
        (("ingest", str(SAMPLE), "--source", "sge"), "not one of auto, canonical, slurm, mlperf"),
        (("ingest", str(SAMPLE), "--timezone", "Mars/Base"), "no such zone"),
        (("ingest", str(SAMPLE), "--timezone", "../../etc/passwd"), "no such zone"),
        (("ingest", str(SAMPLE / "README.md")), "no source recognises this file"),
    ],
    ids=lambda value: " ".join(value)[-50:] if isinstance(value, tuple) else "",
)
def test_a_wrong_word_is_a_fault_of_usage_and_is_told(
    home: Path, words: tuple[str, ...], told: str
) -> None:
    done = headway(home, *words, code=2)
    said = " ".join(done.stderr.decode().replace("│", " ").split())
    assert told in said


@pytest.mark.parametrize("words", [("queue",), ("refresh",)], ids=" ".join)
def test_a_policy_with_an_unknown_key_is_a_fault_of_usage(
    own_home: Path, words: tuple[str, ...]
) -> None:
    policy = (ROOT / "metrics" / "slo.yaml").read_text(encoding="utf-8")
    (own_home / "slo.yaml").write_text(policy + "silent: 5\n", encoding="utf-8")
    said = headway(own_home, *words, code=2).stderr.decode()
    assert "slo.yaml" in said
    assert "silent" in said


def test_a_site_s_policy_renames_its_tiers(own_home: Path) -> None:
    (own_home / "slo.yaml").write_text(
        "tiers: [{name: urgent, rank: 1, preemptible: false, queue_limit_s: 5,"
        " aliases: [interactive]}]\nsilent_after_s: 3600\n",
        encoding="utf-8",
    )
    headway(own_home, "refresh")
    answer = ask(own_home, "queue")
    assert list(answer) == ["urgent", "batch", "standard"]
    # Waits to the first step: 0 s and 5 s of 2 and 15, more of the other four; under 5 s is 1 of 6.
    assert answer["urgent"]["within_target"] == pytest.approx(1 / 6)


def test_a_home_that_cannot_be_a_directory_is_a_fault_of_usage(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for words in (("ledger",), ("refresh",)):
        told = f"home {tmp_path / 'file'}: {tmp_path / 'file'} is a file, not a directory"
        assert told in headway(tmp_path / "file", *words, code=2).stderr.decode()
        headway(tmp_path / "home", *words, "--home", "file/below", code=2)


# The demonstration --------------------------------------------------------------------------------


def test_the_demonstration_tells_the_mission_s_run(demonstration: Demonstration) -> None:
    # 504 h of wall, 96 h lost: 408 / 504 = 80.95 %; a tenth of 504 h is 50.4 h, and 45.6 h more.
    said = " ".join(demonstration.printed.split())
    assert re.search(r"three-weeks mission-70b standard 512 21 d 00 h 81\.0 %", said)
    assert "allowed job three-weeks a loss of 50.4 h; it lost 96.0 h: 45.6 h over" in said
    assert "Not useful: 4 d 00 h, residual 0 µs" in said


def test_the_mission_s_run_is_exact(demonstration: Demonstration) -> None:
    answer = ask(demonstration.home, "job", "three-weeks")
    assert answer["wall_us"] == 504 * HOUR
    assert answer["gap_us"] == 96 * HOUR
    assert answer["useful_us"] == 408 * HOUR
    assert answer["residual_us"] == 0
    assert sum(row["us"] for row in answer["loss"]) == 96 * HOUR
    restarts = ask(demonstration.home, "restarts", "--job", "three-weeks")
    assert len(restarts) == 11
    assert {row["outcome"] for row in restarts} == {"recovered"}


def test_the_demonstration_runs_in_a_home_that_is_in_use(
    demonstration: Demonstration, tmp_path: Path
) -> None:
    home = demonstration.copy(tmp_path / "home")
    # What was ingested is known, and the moment of then holds.
    again = headway(home, "demo", COLUMNS="120").stdout.decode()
    last = f"see it in a browser, and ask the gate: headway up --home {home}\n"
    assert again.splitlines()[:-1] == demonstration.printed.splitlines()[:-1]
    assert again.endswith(last)


def test_validate_lists_every_fault_with_its_line_and_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    default = (ROOT / "metrics" / "slo.yaml").read_text(encoding="utf-8")
    faulty = default.replace("budgetingMethod", "budgetMethod", 1).replace("rank: 3", "rank: x")
    file.write_text(faulty, encoding="utf-8")
    said = headway(tmp_path / "home", "validate", str(file), code=2).stderr.decode()
    assert f"{file}: 3 faults" in said
    assert "spec.budgetMethod: no such key; did you mean budgetingMethod?" in said
    assert re.search(r"line \d+: tiers\.0\.rank: ", said)
