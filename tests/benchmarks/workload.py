"""The records that the benchmarks run over: realistic, of any size, the same in every run.

Jobs take a step about every 5 s. A step's length jitters, one in 200 is slow, and each loses a
little time to data, a straggler or overhead. An attempt lasts 8 to 19 hours; the next one begins 5
to 20 minutes later, a few hundred steps back. Every 30 to 60 minutes a checkpoint blocks training
for 10 to 40 s, every few hours an evaluation does for 1 to 5 minutes, and before one step in 50 lie
2 to 50 ms that nobody accounts for. All chance is a hash of job, step and SEED.
"""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

SEED = 20_260_105
START_US = 1_767_571_200_000_000
"""2026-01-05, a Monday: when the first job is allocated, in µs since 1970 UTC."""
HOUR_US = 3_600_000_000
JOBS_A_BATCH = 10
STEPS_A_FILE = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Shape:
    """What to make: `steps` stored in all, and `hours` more hours of every job after those.

    With `gap_everywhere` there are 2 ms before every step. `restarts` fixes their number for each
    job (an attempt then has as many steps as that leaves); `ends` ends the jobs.
    """

    steps: int
    jobs: int
    hours: int = 0
    gap_everywhere: bool = False
    restarts: int | None = None
    ends: bool = False


@dataclass(frozen=True)
class Delivery:
    """Files that arrive together."""

    lifecycle: Path
    steps: tuple[Path, ...]

    @property
    def files(self) -> list[Path]:
        """All of them, in the order in which they are ingested."""
        return [self.lifecycle, *self.steps]


class Workload:
    """The made records, in a database of their own in `folder`, to be written as files."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.shape = shape
        self.con = duckdb.connect(folder / "made.duckdb")
        self.con.execute("set timezone = 'UTC'")
        self.con.execute("set enable_progress_bar = false")
        self.con.execute("set memory_limit = '4GB'")
        self._make()

    def close(self) -> None:
        """Close the database and delete it: what was written stays."""
        self.con.close()
        (self.folder / "made.duckdb").unlink()

    def stored(self, form: str) -> Delivery:
        """The first `shape.steps` steps, a file for about every million, as parquet or jsonl."""
        counts = range(STEPS_A_FILE, self.shape.steps, STEPS_A_FILE)
        cuts = [0, *(self._moment(count) for count in counts), self.cut_us]
        spans = list(itertools.pairwise(cuts))
        steps = tuple(
            self._write_steps(f"{number:03}.steps.{form}", *span)
            for number, span in enumerate(spans)
        )
        return Delivery(self._write_events("lifecycle.jsonl", 0, self.cut_us), steps)

    def hour(self, number: int, form: str) -> Delivery:
        """The hour number 0, 1, ... after the stored steps."""
        begin_us = self.cut_us + number * HOUR_US
        span = (begin_us, begin_us + HOUR_US)
        return Delivery(
            self._write_events(f"hour-{number}.lifecycle.jsonl", *span),
            (self._write_steps(f"hour-{number}.steps.{form}", *span),),
        )

    def library_entries(self) -> list[dict[str, Any]]:
        """The only job's records as ml-goodput-measurement logs them, in order; times in s."""
        moments: list[tuple[int, dict[str, Any]]] = []
        for event in self._events(0, self.cut_us):
            moments += _library_marks(event)
        steps = self.con.execute(
            "select ts_us - duration_us, step from made where ts_us <= ?", [self.cut_us]
        )
        moments += [
            (us, {"step_count": step, "step_start_time": us / 1e6}) for us, step in steps.fetchall()
        ]
        moments.sort(key=lambda moment: moment[0])
        return [{"job_name": "job", **entry} for _, entry in moments]

    def _make(self) -> None:
        shape = self.shape
        # An hour holds at most 735 steps; the stored ones do not end at one step of every job.
        each = shape.steps // shape.jobs
        made = each if shape.ends else int(each * 1.1) + 735 * shape.hours + 100
        attempt = (
            f"{-(-made // (shape.restarts + 1))}"
            if shape.restarts
            else "6000 + draw(j, 0, 0) % 8000"
        )
        for first in range(0, shape.jobs, JOBS_A_BATCH):
            last = min(first + JOBS_A_BATCH, shape.jobs)
            jobs = f"range({first}, {last})"
            query = _MADE.format(
                jobs=jobs,
                made=made,
                attempt=attempt,
                gap_share=1.0 if shape.gap_everywhere else 0.02,
                gap_us="2000" if shape.gap_everywhere else "2000 + draw(j, i, 4) % 48000",
            )
            con = self.con
            con.execute(_MACROS)
            con.execute(f"insert into made {query}" if first else f"create table made as {query}")
        self.cut_us = self._moment(min(shape.steps, made * shape.jobs))

    def _moment(self, count: int) -> int:
        """When so many steps had ended, in µs."""
        found = self.con.execute(_MOMENT, [count]).fetchone()
        return int(found[0]) if found else 0

    def _write_steps(self, name: str, after_us: int, until_us: int) -> Path:
        path = self.folder / name
        if path.suffix == ".parquet":
            stamp, form = "make_timestamp(ts_us) at time zone 'UTC'", "parquet"
        else:
            stamp, form = (
                "strftime(make_timestamp(ts_us), '%Y-%m-%dT%H:%M:%S.%fZ')",
                "json",
            )
        self.con.execute(
            f"copy (select job, attempt, step, {stamp} as ts, duration_us / 1e6 as duration_s,"
            " data_wait_us / 1e6 as data_wait_s, straggler_us / 1e6 as straggler_s,"
            " checkpoint_us / 1e6 as checkpoint_s, overhead_us / 1e6 as overhead_s, straggler_node"
            f" from made where ts_us > {after_us} and ts_us <= {until_us}"
            f" order by ts_us // {HOUR_US}, job, ts_us) to '{path}' (format {form})"
        )
        return path

    def _write_events(self, name: str, after_us: int, until_us: int) -> Path:
        path = self.folder / name
        with path.open("w", encoding="utf-8") as file:
            for event in self._events(after_us, until_us):
                stamp = _stamp(event.pop("ts_us"))
                file.write(json.dumps({"ts": stamp, **event}) + "\n")
        return path

    def _events(self, after_us: int, until_us: int) -> Iterator[dict[str, Any]]:
        """The lifecycle records of a span in order, `ts_us` in µs."""
        rows = self.con.execute(
            "select job, attempt, step, before, ts_us - duration_us - idle_us as from_us,"
            " ts_us - duration_us as until_us from made"
            " where before in ('start', 'restart', 'pause', 'evaluation')"
            f" and ts_us - duration_us - idle_us <= {until_us} order by from_us, job"
        ).fetchall()
        events = [event for row in rows for event in _events_before(*row)]
        if self.shape.ends:
            events += [
                {
                    "event": "job_ended",
                    "job": job,
                    "outcome": "completed",
                    "ts_us": last_us,
                }
                for job, last_us in self.con.execute(
                    "select job, max(ts_us) from made group by job order by job"
                ).fetchall()
            ]
        events.sort(key=lambda event: event["ts_us"])
        return (event for event in events if after_us < event["ts_us"] <= until_us)


def _stamp(us: int) -> str:
    """RFC 3339 text of microseconds since 1970 UTC."""
    return (_EPOCH + timedelta(microseconds=us)).isoformat()


def _events_before(
    job: str, attempt: int, step: int, before: str, from_us: int, until_us: int
) -> Iterator[dict[str, Any]]:
    """The lifecycle records of the time before a step, from_us to until_us."""
    ids = {"job": job, "attempt": attempt}
    if before == "pause":
        at = {**ids, "step": step - 1}
        yield {"event": "checkpoint_started", **at, "blocking": True, "ts_us": from_us}
        yield {"event": "checkpoint_completed", **at, "ts_us": until_us}
    elif before == "evaluation":
        phase = {**ids, "name": "evaluation"}
        yield {"event": "phase_started", **phase, "ts_us": from_us}
        yield {"event": "phase_ended", **phase, "ts_us": until_us}
    elif before == "start":
        yield from _start(job, attempt, from_us)
    else:
        yield from _restart(job, attempt, step, from_us)


def _start(job: str, attempt: int, from_us: int) -> Iterator[dict[str, Any]]:
    waits = {"job": job, "ts_us": from_us - 600_000_000}
    ids = {"job": job, "attempt": attempt}
    yield {"event": "job_submitted", "tier": "production", "gpus": 512, **waits}
    yield {"event": "job_pending", "reason": "quota", **waits}
    yield {"event": "resources_allocated", **ids, "gpus": 512, "ts_us": from_us}
    yield {"event": "process_started", **ids, "ts_us": from_us + 40_000_000}


def _restart(job: str, attempt: int, step: int, from_us: int) -> Iterator[dict[str, Any]]:
    cause = ("hardware", "preemption", "job_error", "network")[(attempt + len(job)) % 4]
    broken = {"job": job, "attempt": attempt - 1, "cause": cause}
    ids = {"job": job, "attempt": attempt}
    yield {"event": "interruption", **broken, "ts_us": from_us + 20_000_000}
    yield {"event": "resources_allocated", **ids, "gpus": 512, "ts_us": from_us + 100_000_000}
    yield {"event": "process_started", **ids, "ts_us": from_us + 140_000_000}
    loaded_us = from_us + 200_000_000
    yield {"event": "checkpoint_loaded", **ids, "step": step - 1, "ts_us": loaded_us}


def _library_marks(event: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """What ml-goodput-measurement's recorder would log where a lifecycle record stands."""
    us = event["ts_us"]
    names = {
        "resources_allocated": ("job_start_time",),
        "process_started": ("tpu_init_start_time",),
        "checkpoint_loaded": ("tpu_init_end_time",),
        "job_ended": ("job_end_time",),
    }.get(event["event"], ())
    return [(us, {name: us / 1e6}) for name in names]


_MACROS = f"""
create or replace temp macro draw(j, i, salt) as (hash(j, i, salt, {SEED}) >> 20)::bigint;
create or replace temp macro chance(j, i, salt) as draw(j, i, salt) % 1000000 / 1e6;
"""

_MOMENT = f"""
with hours as (
  select ts_us // {HOUR_US} as hour, count(*) as steps from made group by hour
),
counted as (select *, sum(steps) over (order by hour) - steps as steps_before from hours),
wanted as (
  select hour, $1 - steps_before as place from counted
  where steps_before < $1 and $1 <= steps_before + steps
)
select ts_us from made join wanted on ts_us // {HOUR_US} = hour
qualify row_number() over (order by ts_us) = place
"""

_MADE = f"""
with jobs as (
  select *, 'train-' || lpad(j::varchar, 4, '0') as job, {{attempt}} as attempt_steps,
    100 + draw(j, 0, 1) % 400 as back_steps, 360 + draw(j, 0, 2) % 360 as pause_steps,
    2000 + draw(j, 0, 3) % 2000 as evaluation_steps
  from (select unnest({{jobs}}) as j)
),
taken as (
  select jobs.*, i, i // attempt_steps as attempt, i % attempt_steps as place
  from jobs, range({{made}}) made(i)
),
named as (
  select *, case
      when i = 0 then 'start'
      when place = 0 then 'restart'
      when place % evaluation_steps = evaluation_steps // 2 then 'evaluation'
      when place % pause_steps = 0 then 'pause'
      when chance(j, i, 10) < {{gap_share}} then 'gap'
    end as before
  from taken
),
timed as (
  select *, case before
      when 'start' then 180000000
      when 'restart' then 300000000 + draw(j, i, 11) % 900000000
      when 'evaluation' then 60000000 + draw(j, i, 12) % 240000000
      when 'pause' then 10000000 + draw(j, i, 13) % 30000000
      when 'gap' then {{gap_us}}
      else 0 end as idle_us,
    4900000 + draw(j, i, 14) % 200000 + case when chance(j, i, 15) < 0.005 then 7500000 else 0 end
      as duration_us
  from named
)
select job, attempt::integer as attempt, i - attempt * back_steps as step, before, idle_us,
  {START_US} + j * 37000000 + sum(idle_us + duration_us) over (partition by j order by i)::bigint
    as ts_us,
  duration_us, draw(j, i, 16) % 100000 as data_wait_us,
  case when chance(j, i, 17) < 0.1 then draw(j, i, 18) % 500000 else 0 end as straggler_us,
  case when chance(j, i, 17) < 0.1 then 'node-' || draw(j, i, 19) % 64 end as straggler_node,
  case when place % 100 = 50 then draw(j, i, 20) % 200000 else 0 end as checkpoint_us,
  draw(j, i, 21) % 5000 as overhead_us
from timed
"""
