"""Housekeeping: what it deletes and what not, and that a year of hourly runs fills no disk."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from metrics.policy import Housekeeping
from pipelines import dagster_home
from pipelines.definitions import defs
from pipelines.defs import housekeeping
from pipelines.defs.housekeeping import ORPHAN_AGE_S, prune
from pipelines.defs.site import Report, Site
from pipelines.home import Home

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
KEEP = Housekeeping(keep_days=30, keep_runs=1000)
DAYS = int(os.environ.get("HEADWAY_DAYS", "8"))
"""Days of hourly runs in the test of growth; 365 for the whole year."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home")


@pytest.fixture
def instance(home: Home) -> Iterator[dg.DagsterInstance]:
    """Dagster's own storage as `headway up` makes it."""
    dagster_home.prepare(home)
    with dg.DagsterInstance.from_config(str(dagster_home.folder(home))) as made:
        yield made


def root(instance: dg.DagsterInstance) -> Path:
    return Path(instance.root_directory)


def real_run(instance: dg.DagsterInstance, home: Home) -> str:
    """A refresh as the daemon runs it, with its events, checks and logs."""
    done = defs.resolve_job_def("refresh").execute_in_process(
        instance=instance, resources={"site": Site(home=str(home.root)), "report": Report()}
    )
    assert done.success
    return str(done.run_id)


class Copier:
    """Copies of one real run under other ids and times: all its rows and files, as a run leaves."""

    def __init__(self, instance: dg.DagsterInstance, model: str) -> None:
        self.root = root(instance)
        self.model = model
        self.made = 0
        with sqlite3.connect(self.root / "history" / "runs.db") as con:  # so the model stays
            con.execute("update runs set create_timestamp = '2099-01-01 00:00:00'")
        con.close()
        # A log of usual size: a real one differs from run to run.
        self.log = b"what a run prints to its console\n" * 100

    def copy(self, at: datetime) -> str:
        self.made += 1
        run = f"00000000-0000-4000-8000-{self.made:012d}"
        stamp = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
        self._rows("history/runs.db", "runs", run, {"create_timestamp": stamp})
        self._rows("history/runs.db", "run_tags", run, {})
        self._rows("history/runs/index.db", "event_logs", run, {"timestamp": stamp})
        self._rows("history/runs/index.db", "asset_check_executions", run, {})
        shards = self.root / "history" / "runs"
        shutil.copy(shards / f"{self.model}.db", shards / f"{run}.db")
        logs = self.root / "logs" / run / "compute_logs"
        logs.mkdir(parents=True)
        (logs / "step.err").write_bytes(self.log)
        return run

    def _rows(self, file: str, table: str, run: str, other: dict[str, str]) -> None:
        with sqlite3.connect(self.root / file) as con:
            names = [row[1] for row in con.execute(f"pragma table_info({table})")]
            kept = [name for name in names if name not in ("id", "run_id", *other)]
            columns = ", ".join(f'"{name}"' for name in (*kept, "run_id", *other))
            source = ", ".join(f'"{name}"' for name in kept)
            values = ", ".join([*([source] if source else []), "?", *("?" for _ in other)])
            con.execute(
                f"insert into {table} ({columns}) select {values} from {table} where run_id = ?",
                [run, *other.values(), self.model],
            )
        con.close()


def runs(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.get_run_ids())


def traces(instance: dg.DagsterInstance, run: str) -> list[str]:
    """Where anything of a run is left: tables and files."""
    place = root(instance)
    found = [str(path) for path in place.rglob(f"*{run}*")]
    for file, tables in {
        "history/runs.db": ("runs", "run_tags"),
        "history/runs/index.db": ("event_logs", "asset_check_executions"),
    }.items():
        with sqlite3.connect(place / file) as con:
            found += [
                table
                for table in tables
                if con.execute(f"select 1 from {table} where run_id = ?", [run]).fetchone()
            ]
        con.close()
    return found


def test_runs_beyond_the_days_go_with_every_trace_and_newer_ones_stay(
    home: Home, instance: dg.DagsterInstance
) -> None:
    model = real_run(instance, home)
    copier = Copier(instance, model)
    old = copier.copy(NOW - timedelta(days=30, seconds=1))
    young = copier.copy(NOW - timedelta(days=29))
    assert len(traces(instance, old)) == 6
    done = prune(instance, KEEP, NOW)
    assert done.runs == 1
    assert runs(instance) == {model, young}
    assert traces(instance, old) == []
    assert len(traces(instance, young)) == 6


def test_no_more_runs_than_the_policy_allows_are_kept_the_newest(
    home: Home, instance: dg.DagsterInstance
) -> None:
    copier = Copier(instance, real_run(instance, home))
    made = [copier.copy(NOW - timedelta(hours=10 - n)) for n in range(10)]
    prune(instance, Housekeeping(keep_runs=3), NOW)
    assert runs(instance) == set(made[-3:])


def test_a_run_under_way_stays_however_old(home: Home, instance: dg.DagsterInstance) -> None:
    run = instance.create_run_for_job(
        defs.resolve_job_def("refresh"), status=DagsterRunStatus.STARTED
    )
    with sqlite3.connect(root(instance) / "history" / "runs.db") as con:
        con.execute("update runs set create_timestamp = '2020-01-01 00:00:00'")
    con.close()
    prune(instance, KEEP, NOW)
    assert runs(instance) == {run.run_id}


def test_what_a_killed_housekeeping_left_of_a_run_goes_at_the_next(
    home: Home, instance: dg.DagsterInstance
) -> None:
    run = Copier(instance, real_run(instance, home)).copy(NOW)
    instance.run_storage.delete_run(run)
    assert traces(instance, run)
    prune(instance, KEEP, NOW)
    assert traces(instance, run), "it may only just begin"
    yesterday = time.time() - ORPHAN_AGE_S - 1
    for path in root(instance).rglob(f"*{run}*"):
        os.utime(path, (yesterday, yesterday))
    assert prune(instance, KEEP, NOW).orphans == 1
    assert traces(instance, run) == []


def test_a_database_that_somebody_writes_is_left_for_the_next_time(
    home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(housekeeping, "_BUSY_S", 0.1)
    monkeypatch.setattr(housekeeping, "WORTH_VACUUM", -1.0)
    real_run(instance, home)
    writer = sqlite3.connect(root(instance) / "history" / "runs.db", isolation_level=None)
    writer.execute("begin immediate")
    try:
        prune(instance, KEEP, NOW)
    finally:
        writer.execute("rollback")
        writer.close()


def test_ticks_of_old_names_go_with_age(instance: dg.DagsterInstance) -> None:
    database = root(instance) / "schedules" / "schedules.db"
    assert instance.all_instigator_state() == []  # makes the database
    with sqlite3.connect(database) as con:
        for stamp in ("2026-10-01 00:00:00.000000", "2026-11-29 00:00:00.000000"):
            con.execute(
                "insert into job_ticks (job_origin_id, status, type, timestamp, tick_body)"
                " values ('gone', 'SKIPPED', 'SENSOR', ?, '')",
                [stamp],
            )
    con.close()
    assert prune(instance, KEEP, NOW).ticks == 1


def test_the_job_runs_and_says_what_it_deleted(home: Home, instance: dg.DagsterInstance) -> None:
    done = defs.resolve_job_def("housekeeping").execute_in_process(
        instance=instance, resources={"site": Site(home=str(home.root))}
    )
    assert done.success


def test_hourly_runs_day_after_day_reach_a_level_and_stay_there(
    home: Home, instance: dg.DagsterInstance
) -> None:
    copier = Copier(instance, real_run(instance, home))
    keep = Housekeeping(keep_days=max(DAYS // 4, 2))
    sizes = []
    now = NOW
    for day in range(DAYS):
        for hour in range(24):
            copier.copy(now + timedelta(days=day, hours=hour))
        sizes.append(prune(instance, keep, now + timedelta(days=day + 1)).bytes_after)
    level = sizes[keep.keep_days]
    print(f"{DAYS} days, {keep.keep_days} kept: {level} bytes at first, {sizes[-1]} in the end")
    assert max(sizes[keep.keep_days :]) <= 1.1 * level
    assert sizes[0] < level / 1.5, "it must grow until then, or nothing is measured"
