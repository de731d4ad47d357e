"""Prunes what the orchestrator keeps of its own past, so that it stops growing.

Finished runs go with their events, logs and checks once they are older than the policy's days or
beyond its number; so do files of runs that no longer exist, as a kill between two deletions leaves
them. The newest run of each asset is among the newest runs, so the page goes on showing it.
"""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunsFilter

from metrics.policy import Housekeeping
from pipelines.defs.site import Site

FINISHED = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
BATCH = 200
ORPHAN_AGE_S = 24 * 3600.0
"""Files of an unknown run are left alone for a day: it may only just begin."""

WORTH_VACUUM = 0.2
"""The share of free pages from which a database is written anew."""

_BUSY_S = 10.0


@dataclass(frozen=True)
class Pruned:
    """What was deleted, and how many bytes Dagster's directory took before and after."""

    runs: int
    orphans: int
    ticks: int
    bytes_before: int
    bytes_after: int


def prune(instance: dg.DagsterInstance, keep: Housekeeping, now: datetime) -> Pruned:
    """Delete what is older than `keep` allows at `now`. May be killed anywhere and run again."""
    root = Path(instance.root_directory)
    before = _bytes_below(root)
    runs = 0
    for run_id in _outdated(instance, keep, now):
        _delete(instance, root, run_id)
        runs += 1
    orphans = _delete_orphans(instance, root)
    ticks = _delete_ticks(root, now - timedelta(days=keep.keep_days))
    for database in _databases(root):
        _vacuum(database)
    return Pruned(runs, orphans, ticks, before, _bytes_below(root))


def _outdated(instance: dg.DagsterInstance, keep: Housekeeping, now: datetime) -> Iterator[str]:
    oldest = now - timedelta(days=keep.keep_days)
    finished = RunsFilter(statuses=FINISHED)
    newest = instance.get_run_ids(finished, limit=keep.keep_runs)
    if len(newest) == keep.keep_runs:
        yield from _in_batches(instance, finished, newest[-1])
    old = RunsFilter(statuses=FINISHED, created_before=oldest)
    yield from _in_batches(instance, old, None)


def _in_batches(
    instance: dg.DagsterInstance, those: RunsFilter, after: str | None
) -> Iterator[str]:
    """Run ids, the newest first, of the runs that are older than `after`; they may be deleted."""
    while found := instance.get_run_ids(those, cursor=after, limit=BATCH):
        yield from found


def _delete(instance: dg.DagsterInstance, root: Path, run_id: str) -> None:
    """The run itself goes last: by it a second try finds what a killed one left."""
    _delete_traces(instance, root, run_id)
    instance.run_storage.delete_run(run_id)


def _delete_traces(instance: dg.DagsterInstance, root: Path, run_id: str) -> None:
    _forget_checks(root, run_id)
    instance.event_log_storage.delete_events(run_id)
    for file in (root / "history" / "runs").glob(f"{run_id}.db*"):
        file.unlink(missing_ok=True)
    for place in (root / "storage" / run_id, root / "logs" / run_id):
        shutil.rmtree(place, ignore_errors=True)


def _forget_checks(root: Path, run_id: str) -> None:
    """Dagster keeps the results of checks when it deletes their run."""
    with _database(_index(root)) as con:
        con.execute("delete from asset_check_executions where run_id = ?", [run_id])


def _index(root: Path) -> Path:
    return root / "history" / "runs" / "index.db"


def _delete_orphans(instance: dg.DagsterInstance, root: Path) -> int:
    """Files of runs that are not in the list of runs."""
    deleted = 0
    begun = time.time() - ORPHAN_AGE_S
    for run_id in {
        path.name.split(".")[0]
        for folder in (root / "history" / "runs", root / "logs", root / "storage")
        if folder.is_dir()
        for path in folder.iterdir()
        if _is_run(path.name) and path.stat().st_mtime < begun
    }:
        if not instance.has_run(run_id):
            _delete_traces(instance, root, run_id)
            deleted += 1
    return deleted


def _is_run(name: str) -> bool:
    """Whether a file is named after a run's id: a UUID."""
    stem = name.split(".")[0]
    return len(stem) == 36 and stem.count("-") == 4


def _delete_ticks(root: Path, before: datetime) -> int:
    """Dagster prunes the ticks of sensors and schedules that exist; those of old names stay."""
    database = root / "schedules" / "schedules.db"
    if not database.exists():
        return 0
    with _database(database) as con:
        told = before.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        return con.execute("delete from job_ticks where timestamp < ?", [told]).rowcount


def _databases(root: Path) -> list[Path]:
    found = (
        root / "history" / "runs.db",
        _index(root),
        root / "schedules" / "schedules.db",
    )
    return [database for database in found if database.exists()]


def _vacuum(database: Path) -> None:
    """Give free pages back to the disk, if there are many and nobody writes just now."""
    try:
        with _database(database) as con:
            (free,) = con.execute("pragma freelist_count").fetchone()
            (pages,) = con.execute("pragma page_count").fetchone()
            if free > pages * WORTH_VACUUM:
                con.execute("vacuum")
                con.execute("pragma wal_checkpoint(truncate)")
    except sqlite3.OperationalError as e:
        if "locked" not in str(e):
            raise


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    con = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    try:
        yield con
    finally:
        con.close()


def _bytes_below(root: Path) -> int:
    total = 0
    for path in root.rglob("*"):
        try:
            total += path.lstat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


@dg.op(description="Deletes old finished runs with their logs, and old ticks (see the policy).")
def prune_history(context: dg.OpExecutionContext, site: Site) -> None:
    done = prune(context.instance, site.places().policy().housekeeping, datetime.now(UTC))
    context.log.info(
        f"deleted {done.runs} runs, what was left of {done.orphans} more, and {done.ticks} ticks;"
        f" {done.bytes_before} bytes before, {done.bytes_after} after"
    )
    context.add_output_metadata(
        {
            "runs": done.runs,
            "orphans": done.orphans,
            "ticks": done.ticks,
            "bytes_before": done.bytes_before,
            "bytes_after": done.bytes_after,
        }
    )


@dg.job(description="Keeps the orchestrator's own records from filling the disk.")
def housekeeping() -> None:
    prune_history()


daily_housekeeping = dg.ScheduleDefinition(
    name="daily_housekeeping",
    job=housekeeping,
    cron_schedule="35 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
)
