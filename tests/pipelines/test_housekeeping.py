"""Housekeeping: what it deletes and what not, and that a year of hourly runs fills no disk."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from answers.home import Home
from metrics.policy import Housekeeping
from pipelines import dagster_home
from pipelines.definitions import defs
from pipelines.defs import housekeeping
from pipelines.defs.housekeeping import ORPHAN_AGE_S, prune
from pipelines.defs.site import Report, Site

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
KEEP = Housekeeping(keep_days=30, keep_runs=1000)
DAYS = int(os.environ.get("HEADWAY_DAYS", "5"))
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


TABLES = {
    "history/runs.db": ("runs", "run_tags"),
    "history/runs/index.db": ("event_logs", "asset_check_executions"),
}
"""Where Dagster keeps rows of a run."""

STAMPS = ("create_timestamp", "timestamp")


class Copier:
    """Copies of one real run under other ids and times: all its rows and files, as a run leaves."""

    def __init__(self, instance: dg.DagsterInstance, model: str) -> None:
        self.root = root(instance)
        self.made = 0
        self.shard = (self.root / "history" / "runs" / f"{model}.db").read_bytes()
        self.log = b"what a run prints to its console\n" * 100
        self.rows = {
            (file, table): self._rows_of(file, table, model)
            for file, tables in TABLES.items()
            for table in tables
        }

    def _rows_of(self, file: str, table: str, model: str) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self.root / file)) as con:
            con.row_factory = sqlite3.Row
            found = con.execute(f"select * from {table} where run_id = ?", [model]).fetchall()
        return [{name: row[name] for name in row.keys() if name != "id"} for row in found]  # noqa: SIM118

    def copy(self, at: datetime) -> str:
        self.made += 1
        run = f"00000000-0000-4000-8000-{self.made:012d}"
        for (file, table), rows in self.rows.items():
            self._insert(file, table, [_restamped(row, run, at) for row in rows])
        (self.root / "history" / "runs" / f"{run}.db").write_bytes(self.shard)
        logs = self.root / "logs" / run / "compute_logs"
        logs.mkdir(parents=True)
        (logs / "step.err").write_bytes(self.log)
        return run

    def _insert(self, file: str, table: str, rows: list[dict[str, Any]]) -> None:
        with closing(sqlite3.connect(self.root / file)) as con, con:
            for row in rows:
                names = ", ".join(f'"{name}"' for name in row)
                values = ", ".join("?" for _ in row)
                con.execute(f"insert into {table} ({names}) values ({values})", [*row.values()])


def _restamped(row: dict[str, Any], run: str, at: datetime) -> dict[str, Any]:
    stamp = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    other = {name: stamp for name in STAMPS if name in row}
    return row | other | {"run_id": run}


def runs(instance: dg.DagsterInstance) -> set[str]:
    return set(instance.get_run_ids())


def traces(instance: dg.DagsterInstance, run: str) -> list[str]:
    """Where anything of a run is left: tables and files."""
    place = root(instance)
    found = [str(path) for path in place.rglob(f"*{run}*")]
    for file, tables in TABLES.items():
        with closing(sqlite3.connect(place / file)) as con:
            found += [
                table
                for table in tables
                if con.execute(f"select 1 from {table} where run_id = ?", [run]).fetchone()
            ]
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
    with closing(sqlite3.connect(root(instance) / "history" / "runs.db")) as con, con:
        con.execute("update runs set create_timestamp = '2020-01-01 00:00:00'")
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
    with closing(sqlite3.connect(database)) as con, con:
        for stamp in ("2026-10-01 00:00:00.000000", "2026-11-29 00:00:00.000000"):
            con.execute(
                "insert into job_ticks (job_origin_id, status, type, timestamp, tick_body)"
                " values ('gone', 'SKIPPED', 'SENSOR', ?, '')",
                [stamp],
            )
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
