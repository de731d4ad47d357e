"""What Dagster loads, and that its job gives what the command line gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import dagster as dg
import harness
import pytest

import sql
from answers.home import Home
from answers.mart import open_mart
from pipelines import dagster_home
from pipelines.definitions import defs
from pipelines.defs.site import Report, Site
from pipelines.demo import three_weeks
from pipelines.derive import CHECKS

NODE = {"event": "node_state", "node": "n1", "gpus": 8, "state": "allocated"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose inbox holds the run of three weeks, and a node's state."""
    inbox = tmp_path / "home" / "inbox"
    inbox.mkdir(parents=True)
    lifecycle, steps = three_weeks.records()
    lifecycle.append({**NODE, "ts": three_weeks.START.isoformat()})
    for stream, records in (("lifecycle", lifecycle), ("steps", steps)):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (inbox / f"run.{stream}.jsonl").write_text(text, encoding="utf-8")
    return Home.open(tmp_path / "home")


def run_job(home: Home) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("refresh").execute_in_process(
        resources={"site": Site(home=str(home.root)), "report": Report()}, raise_on_error=False
    )


def test_the_job_ingests_the_inbox_derives_and_publishes(home: Home) -> None:
    result = run_job(home)
    assert result.success
    with open_mart(home) as mart:
        (job,) = mart.rows("select wall_us, useful_us from jobs")
    # 504 h of wall, 96 h of them lost (see pipelines/demo/three_weeks.py).
    assert job == {"wall_us": 504 * 3600 * 10**6, "useful_us": 408 * 3600 * 10**6}


def test_every_asset_says_its_rows_seconds_and_how_far_its_data_reach(home: Home) -> None:
    result = run_job(home)
    told = {
        event.asset_key.to_user_string(): event.materialization.metadata
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }
    assert list(told) == [
        "raw_events",
        "attempts",
        "segments",
        "ledger",
        "goodput",
        "capacity",
        "restarts",
        "queue_waits",
        "mart",
    ]
    for metadata in told.values():
        assert {"rows", "seconds", "data_through"} <= metadata.keys()
        assert metadata["rows"].value > 0


JOBS = sorted(job.name for job in defs.resolve_all_job_defs() if not job.name.startswith("_"))


def test_the_definitions_load_with_their_sensor_schedules_and_freshness() -> None:
    dg.Definitions.validate_loadable(defs)
    assert JOBS == [
        "housekeeping",
        "pull_prometheus",
        "refresh",
        "restore_tests_job",
        "weekly_review_job",
    ]
    repository = defs.get_repository_def()
    assert [sensor.name for sensor in repository.sensor_defs] == ["inbox"]
    crons = {schedule.name: schedule.cron_schedule for schedule in repository.schedule_defs}
    assert crons == {
        "hourly_refresh": "5 * * * *",
        "daily_housekeeping": "35 2 * * *",
        "daily_restore_tests": "15 3 * * *",
        "every_monday": "0 6 * * 1",
        "hourly_pull": "55 * * * *",
    }
    (mart,) = defs.resolve_asset_graph().get_all_asset_keys() & {dg.AssetKey("mart")}
    assert defs.resolve_asset_graph().get(mart).freshness_policy is not None


READERS = ("restore_tests_job", "weekly_review_job")
"""They read what was published."""

_EXECUTE = ("-m", "dagster", "job", "execute", "-m", "pipelines.definitions", "-j")


@pytest.mark.parametrize("job", JOBS)
def test_every_job_runs_from_the_command_line(home: Home, job: str) -> None:
    dagster = dagster_home.prepare(home)
    if job in READERS:
        assert run_job(home).success
    done = subprocess.run(
        [sys.executable, *_EXECUTE, job],
        env=os.environ | {"HEADWAY_HOME": str(home.root), "DAGSTER_HOME": str(dagster)},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (home.mart / "CURRENT").exists() == (job not in ("housekeeping", "pull_prometheus"))
    assert (home.root / "reviews").exists() == (job == "weekly_review_job")


def test_the_checks_pass_on_good_data_and_block(home: Home) -> None:
    found = run_job(home).get_asset_check_evaluations()
    evaluations = [evaluation for evaluation in found if evaluation.blocking]
    assert {evaluation.check_name for evaluation in evaluations} == set(CHECKS)
    assert all(evaluation.passed and evaluation.blocking for evaluation in evaluations)


BROKEN = {
    "job_hours_balance": ("marts/ledger", "select * replace (us + 1 as us) from good"),
    "no_negative_time": (
        "marts/ledger",
        "from good union all by name select distinct job_id, hour_us, 'useful' as category,"
        " 'nothing' as component, '' as cause, 0::bigint as us from good",
    ),
    "keys_are_unique": (
        "marts/ledger",
        "select * replace (us - 1 as us) from good"
        " union all select * replace (1::bigint as us) from good",
    ),
    "capacity_is_whole": ("capacity/capacity", "select * replace (gpu_us + 1 as gpu_us) from good"),
}
"""For each check that blocks: a model, and what makes rows of it that only that check refuses."""


def test_every_check_that_blocks_is_shown_to_fail() -> None:
    assert set(BROKEN) == set(CHECKS)


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_that_fails_says_so_and_nothing_is_published(
    home: Home, monkeypatch: pytest.MonkeyPatch, check: str
) -> None:
    assert run_job(home).success
    with open_mart(home) as mart:
        published_us = mart.meta().published_us
    model, harm = BROKEN[check]
    real_read = sql.read

    def read(name: str) -> str:
        return f"with good as ({real_read(name)}) {harm}" if name == model else real_read(name)

    monkeypatch.setattr(sql, "read", read)
    more = {"job": "new", "ts_us": harness.RECENT_US, "attempt": 0, "gpus": 1}
    records = [
        more | {"event": "resources_allocated"},
        more | {"event": "job_ended", "ts_us": harness.RECENT_US + 9, "outcome": "completed"},
        NODE | {"ts_us": harness.RECENT_US},
    ]
    harness.write_jsonl(home.root / "inbox" / "more.lifecycle.jsonl", records)
    result = run_job(home)
    assert not result.success
    failed = [e.check_name for e in result.get_asset_check_evaluations() if not e.passed]
    assert failed == [check]
    assert [e.blocking for e in result.get_asset_check_evaluations()] == [True] * len(CHECKS)
    with open_mart(home) as mart:
        assert mart.meta().published_us == published_us
        assert mart.rows("select job from jobs") == [{"job": three_weeks.JOB}]
