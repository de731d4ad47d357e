"""`headway manifest`, `headway restore-test` and the schedule, on a job with real checkpoints."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from checkpoints import STEP, flip, sealed, shard, sharded, whole
from commands import Done, headway
from fleet import HOUR_US, Fleet, at
from harness import write_jsonl

from answers.clock import now_us
from answers.home import Home
from answers.mart import open_mart
from answers.moments import rfc3339
from metrics.errors import HeadwayError
from metrics.policy import DEFAULT_POLICY_FILE, Checkpoints, read_policy
from pipelines.checkpoints.choosing import Saved, command
from pipelines.checkpoints.layout import Layout
from pipelines.checkpoints.testing import prove_saved
from pipelines.defs.restore_tests import due, restore_tests
from pipelines.defs.site import Site

DAY_US = 24 * HOUR_US


def told_fleet(folder: Path) -> Fleet:
    """A large job that saved after steps 100, 200 and 300, ten hours apart."""
    fleet = Fleet()
    fleet.submit(0, code_version="3f1c2a9", data_version="2026-10")
    fleet.allocate(0)
    fleet.train(0, 40)
    for number, step in enumerate((100, 200, STEP), 1):
        place = {"location": str(folder / f"step-{step}")}
        fleet.tell("checkpoint_completed", at(10 * number), attempt=0, step=step, **place)
    return fleet


@dataclass(frozen=True)
class Place:
    """A home that knows the job, and where its checkpoints lie; as they were made."""

    home: Path
    saved: Path
    pristine: Path


@pytest.fixture(scope="module", autouse=True)
def recent() -> Iterator[None]:
    """The job runs now: its last step ended within the hour."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fleet.BASE_US", int((hour - timedelta(hours=40)).timestamp()) * 10**6)
        yield


@pytest.fixture(scope="module")
def made(recent: None, tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("restore")
    sealed(whole(root / "pristine" / f"step-{STEP}"), step=STEP)
    sealed(sharded(root / "pristine" / "step-200"), step=200)
    home = ingested(root / "home", told_fleet(root / "saved"))
    return Place(home, root / "saved", root / "pristine")


@pytest.fixture
def saved(made: Place) -> Path:
    """Where the job's checkpoints lie: the newest and the middle one; the first was deleted."""
    shutil.rmtree(made.saved, ignore_errors=True)
    return Path(shutil.copytree(made.pristine, made.saved))


@pytest.fixture
def home(made: Place, saved: Path, tmp_path: Path) -> Path:
    """A home of one's own that knows the job."""
    return Path(shutil.copytree(made.home, tmp_path / "home"))


def ingested(home: Path, fleet: Fleet) -> Path:
    records = home.parent / f"{home.name}-records"
    records.mkdir()
    write_jsonl(records / "a.lifecycle.jsonl", fleet.lifecycle)
    write_jsonl(records / "a.steps.jsonl", fleet.steps)
    headway(home, "ingest", str(records))
    return home


def answer(done: Done) -> Any:
    return json.loads(done.stdout)


def with_policy(home: Path, **rules: Any) -> None:
    """Put a policy with these rules for checkpoints into the home."""
    told = "".join(f"\n  {name}: {json.dumps(value)}" for name, value in rules.items())
    before, found, after = DEFAULT_POLICY_FILE.read_text(encoding="utf-8").partition(
        "checkpoints:\n"
    )
    assert found
    rest = after[after.index("\n# What the orchestrator keeps") :]
    (home / "slo.yaml").write_text(f"{before}checkpoints:{told}\n{rest}", encoding="utf-8")


def events(home: Path) -> list[dict[str, Any]]:
    with open_mart(Home.at(home)) as mart:
        return mart.rows("from restore_tests order by step")


# Paths.


def test_a_path_passes_and_the_answer_has_the_keys_that_programs_read(
    tmp_path: Path, saved: Path
) -> None:
    path = saved / f"step-{STEP}"
    found = answer(headway(tmp_path / "h", "restore-test", str(path), "--format", "json"))
    assert found["result"] == "pass"
    assert found.keys() >= {"result", "checks", "bytes", "seconds"}
    assert all(check.keys() == {"name", "result", "detail"} for check in found["checks"])
    assert found["bytes"] > 0 and found["step"] == STEP
    size = sum(p.stat().st_size for p in path.iterdir())  # with its manifest
    assert found["bytes"] < size <= found["bytes_read"] < 2 * size


def test_a_test_that_may_read_more_than_it_is_allowed_is_refused(
    tmp_path: Path, saved: Path
) -> None:
    path = str(saved / f"step-{STEP}")
    done = headway(tmp_path / "h", "restore-test", path, "--most-bytes", "1000", code=2)
    assert b"1,000 are left" in done.stderr
    headway(tmp_path / "h", "restore-test", path, "--most-bytes", "0", "--bytes-per-s", "100000000")


def test_damage_ends_with_exit_code_1_and_says_where(tmp_path: Path, saved: Path) -> None:
    flip(shard(saved / f"step-{STEP}"), -1)
    done = headway(
        tmp_path / "h", "restore-test", str(saved / f"step-{STEP}"), code=1, COLUMNS="200"
    )
    assert b"checksum differs: model-00001-of-00003.safetensors" in done.stdout


def test_another_step_than_asked_for_fails(tmp_path: Path, saved: Path) -> None:
    path = str(saved / f"step-{STEP}")
    other = headway(tmp_path / "h", "restore-test", path, "--step", "299", code=1, COLUMNS="200")
    assert b"another step: 299 marked complete, 300 in the manifest" in other.stdout
    same = headway(tmp_path / "h", "restore-test", path, "--step", "300", COLUMNS="200")
    assert b"another step" not in same.stdout and b"pass: " in same.stdout


def test_a_step_that_was_marked_complete_where_nothing_is_fails(tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    headway(tmp_path / "h", "restore-test", gone, code=2)
    done = headway(tmp_path / "h", "restore-test", gone, "--step", "300", code=1)
    assert b"no checkpoint" in done.stdout


@pytest.mark.parametrize("target", ["/nowhere/at/all", "no-such-job", "no/such/job"])
def test_what_is_not_there_is_a_question_of_usage(home: Path, tmp_path: Path, target: str) -> None:
    assert b"no such" in headway(home, "restore-test", target, code=2).stderr
    assert b"no such" in headway(tmp_path / "empty", "restore-test", target, code=2).stderr


@pytest.mark.parametrize("command", ["restore-test", "manifest"])
def test_an_empty_name_is_not_the_directory_one_stands_in(tmp_path: Path, command: str) -> None:
    # As in a script whose variable is not set: `headway manifest "$CHECKPOINT"`.
    assert b"no checkpoint is named" in headway(tmp_path / "h", command, "", code=2).stderr


def test_a_manifest_says_what_it_covers(tmp_path: Path) -> None:
    path = sharded(tmp_path / "c")
    done = headway(
        tmp_path / "h",
        "manifest",
        str(path),
        "--step",
        "5",
        "--holds",
        "RNG states",
        "--ranks",
        "2",
    )
    assert b"headway.manifest.json: 4 files" in done.stdout
    told = json.loads((path / "headway.manifest.json").read_text(encoding="utf-8"))
    assert (told["step"], told["ranks"], told["holds"]) == (5, 2, ["RNG states"])
    size = {name: covered["bytes"] for name, covered in told["files"].items()}
    assert size == {p.name: p.stat().st_size for p in path.iterdir() if p.name in size}
    assert len(size) == 4


def test_a_manifest_of_what_is_not_there_or_of_unknown_state_is_a_question_of_usage(
    tmp_path: Path,
) -> None:
    home = tmp_path / "h"
    headway(home, "manifest", str(tmp_path / "nowhere"), code=2)
    sharded(tmp_path / "c")
    done = headway(home, "manifest", str(tmp_path / "c"), "--holds", "RNG state", code=2)
    assert b"did you mean RNG states?" in done.stderr


# Jobs.


def test_a_jobs_newest_and_an_older_checkpoint_are_restored_and_recorded(
    home: Path, saved: Path
) -> None:
    found = answer(headway(home, "restore-test", "big", "--format", "json"))
    assert found["result"] == "pass"
    # Step 100 was deleted, as retention does: it is no failure.
    assert [one["step"] for one in found["checkpoints"]] == [STEP, 200]
    older, newest = events(home)
    assert (newest["step"], newest["result"], newest["is_newest"]) == (STEP, "pass", True)
    assert (older["step"], older["is_newest"]) == (200, False)
    assert "checksums=pass" in newest["checks"] and "state: optimizer=pass" in newest["checks"]
    assert "code=3f1c2a9 data=2026-10" in newest["detail"]
    size = found["checkpoints"][0]["bytes"]
    assert f"bytes={size} bytes_per_s=" in newest["detail"]
    assert newest["location"] == str(saved / f"step-{STEP}")
    assert newest["duration_us"] > 0


def test_a_failed_test_of_the_newest_breaks_the_promise_and_a_later_pass_mends_it(
    home: Path, saved: Path
) -> None:
    flip(shard(saved / f"step-{STEP}"), -1)
    headway(home, "restore-test", "big", code=1)
    (event,) = [e for e in events(home) if e["result"] == "fail"]
    assert "checksum differs: model-00001" in event["detail"]
    assert promise(home) == "broken"
    flip(shard(saved / f"step-{STEP}"), -1)
    headway(home, "restore-test", "big")
    assert promise(home) == "kept"


def promise(home: Path) -> str:
    with open_mart(Home.at(home)) as mart:
        as_of = mart.meta().as_of_us
    asked = ("--slo", "checkpoint-durability", "--detail", "--format", "json", "--as-of")
    (found,) = answer(headway(home, "budget", *asked, str(rfc3339(as_of))))
    (run,) = found["durability"]["runs"]
    assert run["promise"] == found["durability"]["promise"]
    return str(run["promise"])


def test_a_newest_checkpoint_that_is_gone_fails(home: Path, saved: Path) -> None:
    (saved / f"step-{STEP}").rename(saved / "elsewhere")
    done = headway(home, "restore-test", "big", "--no-refresh", code=1)
    assert b"no checkpoint" in done.stdout


def test_without_a_refresh_the_verdicts_wait_in_the_inbox(home: Path) -> None:
    headway(home, "restore-test", "big", "--no-refresh")
    assert events(home) == []
    assert len(list((home / "inbox" / "restore-tests").glob("*.lifecycle.jsonl"))) == 2
    headway(home, "ingest", str(home / "inbox"))
    assert [event["step"] for event in events(home)] == [200, STEP]


def test_the_step_that_was_marked_complete_must_be_the_one_in_it(
    tmp_path: Path, saved: Path
) -> None:
    fleet = told_fleet(saved)
    place = {"location": str(saved / f"step-{STEP}")}
    fleet.tell("checkpoint_completed", at(35), attempt=0, step=350, **place)
    home = ingested(tmp_path / "other", fleet)
    done = headway(home, "restore-test", "big", "--no-refresh", code=1)
    assert b"another step: 350 marked complete" in done.stdout


@pytest.mark.parametrize(
    ("location", "words"),
    [("store://bucket/300", b"checkpoints.command"), (None, b"names no location")],
)
def test_a_checkpoint_that_cannot_be_reached_says_what_to_do(
    tmp_path: Path, saved: Path, location: str | None, words: bytes
) -> None:
    fleet = told_fleet(saved)
    fleet.tell("checkpoint_completed", at(36), attempt=0, step=400, location=location)
    home = ingested(tmp_path / "other", fleet)
    assert words in headway(home, "restore-test", "big", code=2).stderr


# Elsewhere.


def elsewhere(*arguments: str) -> list[str]:
    """A command as a policy has it, that tests where the checkpoint lies: here, in its stead."""
    return [sys.executable, "-m", "pipelines.cli", "restore-test", *arguments]


def test_the_policys_command_tests_it_elsewhere(home: Path) -> None:
    with_policy(home, command=elsewhere("{path}", "--step", "{step}", "--format", "json"))
    found = answer(headway(home, "restore-test", "big", "--no-refresh", "--format", "json"))
    assert found["result"] == "pass"
    assert found["checkpoints"][0]["step"] == STEP


def test_a_newest_checkpoint_that_is_gone_elsewhere_fails(home: Path, saved: Path) -> None:
    with_policy(home, command=elsewhere("{path}", "--step", "{step}", "--format", "json"))
    shutil.rmtree(saved)
    found = answer(headway(home, "restore-test", "big", "--no-refresh", "--format", "json", code=1))
    assert [one["step"] for one in found["checkpoints"]] == [STEP]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/nowhere/srun", "{path}"], b"cannot be run"),
        ([sys.executable, "-c", "print('hello', '{path}')"], b"printed no answer"),
        ([sys.executable, "-c", "raise SystemExit(7)", "{path}"], b"exit code 7"),
    ],
    ids=["absent", "another answer", "failing"],
)
def test_a_command_that_fails_says_nothing_of_the_checkpoint(
    home: Path, command: list[str], words: bytes
) -> None:
    with_policy(home, command=command)
    assert words in headway(home, "restore-test", "big", code=1).stderr
    assert not list(home.glob("inbox/*/*"))


def test_a_path_never_reaches_a_shell(tmp_path: Path, saved: Path) -> None:
    fleet, mark = told_fleet(saved), tmp_path / "harmed"
    odd = f"{saved}/$(touch {mark});touch {mark} #"
    fleet.tell("checkpoint_completed", at(36), attempt=0, step=400, location=odd)
    home = ingested(tmp_path / "other", fleet)
    with_policy(home, command=elsewhere("{path}", "--format", "json"))
    headway(home, "restore-test", "big", "--no-refresh", code=1)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('[srun, "{pathh}"]', "{pathh} means nothing; known are {path}, {job}, {step}"),
        ("[srun, headway]", "names no {path}"),
        ('[srun, "{path!r}"]', "write a placeholder as {name} alone"),
        ('[srun, "{path.parent}"]', "means nothing"),
        ('[srun, "{path"]', "expected '}'"),
    ],
)
def test_a_command_with_wrong_placeholders_is_a_fault_of_the_policy(
    command: str, words: str
) -> None:
    assert faults_of(command) and all(words in fault for fault in faults_of(command))


def faults_of(command: str, **limits: int) -> list[str]:
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    for name, value in limits.items():
        assert f"{name}: null" in text
        text = text.replace(f"{name}: null", f"{name}: {value}")
    return [
        str(fault) for fault in read_policy(text.replace("command: []", f"command: {command}"))[1]
    ]


@pytest.mark.parametrize(
    ("limit", "option"),
    [
        ("bytes_per_s", '--bytes-per-s, "{bytes_per_s}"'),
        ("bytes_per_run", '--most-bytes, "{most_bytes}"'),
    ],
)
def test_a_limit_that_does_not_reach_the_command_is_a_fault_of_the_policy(
    limit: str, option: str
) -> None:
    limits = {limit: 1000}
    (fault,) = faults_of('[srun, "{path}"]', **limits)
    assert f"{limit} does not reach the command" in fault
    assert option in fault
    assert faults_of(f'[srun, "{{path}}", {option}]', **limits) == []
    assert faults_of("[]", **limits) == []


LIMITED = ("--bytes-per-s", "{bytes_per_s}", "--most-bytes", "{most_bytes}", "--format", "json")


def test_the_limits_reach_the_command(home: Path, saved: Path) -> None:
    path = saved / f"step-{STEP}"
    found = Saved("big", STEP, 0, str(path), None, True, None, None)
    told = elsewhere("{path}", *LIMITED)
    rules = Checkpoints(command=tuple(told), bytes_per_s=10**9, bytes_per_run=10**6)
    assert command(found, rules)[-5:-2] == ["1000000000", "--most-bytes", "1000000"]
    no_limits = Checkpoints(command=tuple(told))
    assert command(found, no_limits)[-5:-2] == ["0", "--most-bytes", "0"]
    assert prove_saved(found, no_limits)["result"] == "pass"
    with pytest.raises(HeadwayError, match=r"exit code 2: .*may read .* bytes, 10 are left"):
        prove_saved(found, rules.model_copy(update={"bytes_per_run": 10}))


# The schedule.


def scheduled(home: Path) -> dict[str, Any]:
    with dg.DagsterInstance.ephemeral() as instance:
        done = dg.materialize(
            [restore_tests], resources={"site": Site(home=str(home))}, instance=instance
        )
    (event,) = done.get_asset_materialization_events()
    assert event.materialization
    return {name: value.value for name, value in event.materialization.metadata.items()}


def test_the_schedule_tests_what_is_due_and_leaves_what_was_proven(home: Path) -> None:
    first = scheduled(home)
    assert (first["runs"], first["not_covered"]) == (1, [])
    assert sorted(first["verdicts"]) == ["big, step 200: pass", "big, step 300: pass"]
    headway(home, "ingest", str(home / "inbox"))
    assert scheduled(home)["runs"] == 0


def test_the_schedule_says_what_it_could_not_cover(tmp_path: Path, saved: Path) -> None:
    fleet = told_fleet(saved)
    for job, location in (("cloud", "store://bucket/1"), ("silent", None)):
        fleet.submit(0, job=job)
        fleet.allocate(0, job=job)
        fleet.train(0, 40, job=job)
        fleet.tell("checkpoint_completed", at(30), job, attempt=0, step=1, location=location)
    home = ingested(tmp_path / "other", fleet)
    with_policy(home, bytes_per_run=10)
    found = scheduled(home)
    assert (found["runs"], found["bytes"]) == (0, 0)
    told = {line.partition(":")[0]: line for line in found["not_covered"]}
    assert told.keys() == {"big", "cloud", "silent"}
    assert "bandwidth" in told["big"]
    assert "store://bucket/1" in told["cloud"]
    assert "names no location" in told["silent"]


def two_runs(root: Path, saved: Path, **about: Any) -> Path:
    """A home that knows two runs whose newest checkpoints, of three hours ago, are as large."""
    fleet = Fleet()
    for number, job in enumerate(("one", "two"), 1):
        place = saved / f"step-{STEP}" if job == "one" else saved.parent / "copy"
        fleet.submit(0, job=job)
        fleet.allocate(0, job=job)
        fleet.train(0, 40, job=job)
        told = about | {"location": str(place)}
        fleet.tell("checkpoint_completed", at(36 + number), job, attempt=0, step=STEP, **told)
    shutil.rmtree(saved.parent / "copy", ignore_errors=True)
    shutil.copytree(saved / f"step-{STEP}", saved.parent / "copy")
    return ingested(root / "other", fleet)


def test_a_run_of_the_schedule_reads_no_more_than_bytes_per_run(
    tmp_path: Path, saved: Path
) -> None:
    # The records say less than what lies there: the files win.
    home = two_runs(tmp_path, saved, bytes=1)
    one = Layout.of(saved / f"step-{STEP}").reading
    for limit, runs in ((2 * one, 2), (2 * one - 1, 1), (one, 1), (one - 1, 0)):
        with_policy(home, bytes_per_run=limit)
        found = scheduled(home)
        assert found["runs"] == len(found["verdicts"]) == runs
        assert found["bytes"] <= limit
        assert len(found["not_covered"]) == 2 - runs
        assert all("bandwidth" in line for line in found["not_covered"])


def test_what_grew_since_it_was_planned_is_left_out_when_its_turn_comes(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = two_runs(tmp_path, saved)
    limit = 2 * Layout.of(saved / f"step-{STEP}").reading
    with_policy(home, bytes_per_run=limit)
    planned = due(Home.at(home), now_us())
    for place in (saved / f"step-{STEP}", saved.parent / "copy"):
        (place / "more.bin").write_bytes(bytes(limit // 4))
    monkeypatch.setattr("pipelines.defs.restore_tests.due", lambda *given: planned)
    found = scheduled(home)
    assert len(found["verdicts"]) == 1 and 0 < found["bytes"] <= limit
    (line,) = found["not_covered"]
    assert "step 300: bandwidth: a test of" in line


def test_a_command_that_fails_may_have_read_all_that_its_test_reads(
    tmp_path: Path, saved: Path
) -> None:
    home = two_runs(tmp_path, saved)
    most = Layout.of(saved / f"step-{STEP}").reading
    failing = [sys.executable, "-c", "raise SystemExit(7)", "{path}", "{most_bytes}"]
    with_policy(home, bytes_per_run=2 * most, command=failing)
    found = scheduled(home)
    assert (found["verdicts"], found["bytes"]) == ([], 2 * most)
    assert ["exit code 7" in line for line in found["not_covered"]] == [True, True]


def test_a_run_is_due_a_day_before_its_proof_is_as_old_as_the_policy_allows(home: Path) -> None:
    headway(home, "restore-test", "big")
    (tested_us,) = {event["ts_us"] for event in events(home) if event["is_newest"]}
    site = Home.at(home)
    assert due(site, tested_us + 6 * DAY_US - 1)[0].tested == ()
    assert due(site, tested_us + 6 * DAY_US)[0].tested == ("big",)
