"""What starts refreshes by itself: files that arrive in the inbox, and the hour.

The sensor keeps no memory of its own that a crash could tear. The complete files of the inbox, with
all that changes when one of them does, make a digest; a run that is asked for carries it as a tag.
While no run with the digest of now has succeeded, one is asked for. A run takes all that lies in
the inbox when it starts, and the warehouse knows each file by its content: so nothing is forgotten,
and what is asked for twice changes nothing.
"""

import hashlib
import time
from pathlib import Path

import dagster as dg
from dagster import DagsterRunStatus, RunRecord, RunsFilter

from answers.home import Home
from pipelines.ingest import find_files

DIGEST_TAG = "headway/inbox"
POLL_S = 30
FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3600.0
"""After failures the pause doubles from the first to the longest, so that a lasting fault does not
fill the list of runs."""

_ENDED_BADLY = (DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED)


def inbox_digest(inbox: Path) -> str | None:
    """A digest of the inbox's complete files as they are now; None where it has none.

    A file's change of content shows in its size or its times; the time of its inode's change also
    where a copy keeps the others.
    """
    digest = hashlib.sha256()
    files = find_files([inbox]) if inbox.is_dir() else []
    for path in files:
        try:
            found = path.stat()
        except OSError:  # taken away meanwhile, or in a folder that may not be entered
            continue
        seen = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        digest.update(f"{path.relative_to(inbox)!s}\0{seen}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32] if files else None


def pause_s(records: list[RunRecord], now_s: float) -> float:
    """How many seconds to wait yet after runs that all ended badly; 0 where it is time."""
    wait_s = min(FIRST_PAUSE_S * 2 ** (len(records) - 1), LONGEST_PAUSE_S)
    since_s = now_s - max(record.end_time or 0.0 for record in records)
    # A negative age means that the clock stepped back: waiting for it could take for ever.
    return 0.0 if since_s < 0 else max(wait_s - since_s, 0.0)


@dg.sensor(
    name="inbox",
    job_name="refresh",
    minimum_interval_seconds=POLL_S,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Asks for one refresh when complete files arrive in HEADWAY_HOME/inbox.",
)
def inbox_sensor(context: dg.SensorEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    inbox = Home.open().root / "inbox"
    digest = inbox_digest(inbox)
    if digest is None:
        return dg.SkipReason(f"no complete file in {inbox}")
    records = list(context.instance.get_run_records(RunsFilter(tags={DIGEST_TAG: digest})))
    statuses = [record.dagster_run.status for record in records]
    if DagsterRunStatus.SUCCESS in statuses:
        return dg.SkipReason("everything in the inbox was ingested")
    if any(status not in _ENDED_BADLY for status in statuses):
        return dg.SkipReason("a run for what is in the inbox is queued or at work")
    if records and (left_s := pause_s(records, time.time())):
        return dg.SkipReason(
            f"{len(records)} runs for what is in the inbox failed; the next is in {left_s:.0f} s"
        )
    return dg.RunRequest(run_key=f"{digest}-{len(records)}", tags={DIGEST_TAG: digest})


@dg.schedule(
    name="hourly_refresh",
    job_name="refresh",
    cron_schedule="5 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="A refresh each hour, also where no file arrives.",
)
def hourly_refresh(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    waiting = context.instance.get_runs(
        RunsFilter(job_name="refresh", statuses=[DagsterRunStatus.QUEUED]), limit=1
    )
    if waiting:
        return dg.SkipReason("a refresh is queued already, and will do this one's work")
    return dg.RunRequest()
