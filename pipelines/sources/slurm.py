"""Slurm's accounting: `sacct -P`, with a header in any order of columns or none.

A row is one run of a job. Slurm requeues a job under the same id, and with `-D` every run is there:
they become attempts 0, 1, 2, … in the order of Start. Without `-D` only the last run of each job is
there, and becomes attempt 0. Each file is read on its own and attempts are numbered from the first
run that it holds, so export with `-D` and from before the submission of the jobs of interest
(`sacct -P -X -D -S …`).

What sacct does not say is not made up: a job without a GPU in its TRES has an unknown number of
them, a run without End has none, and a suspension (the column Suspended is a sum) has no place in
time. Timelimit is an upper bound that many leave at its default, not an expectation: not read.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from math import prod
from pathlib import Path
from typing import Any

from metrics.errors import UnreadableInput
from metrics.policy import Policy
from pipelines.sources import Record, Reject, Settings, text

NECESSARY = ("state", "submit", "start", "end")
ID_COLUMNS = frozenset({"jobid", "jobidraw"})
TIME_COLUMNS = ("submit", "eligible", "start", "end")
KNOWN_COLUMNS = ID_COLUMNS | {
    *("state", "submit", "eligible", "start", "end", "elapsed", "elapsedraw", "timelimit"),
    *("account", "user", "qos", "partition", "jobname", "cluster", "exitcode", "reason"),
    *("nodelist", "nnodes", "ncpus", "alloctres", "reqtres", "priority", "suspended"),
}
"""Enough names to know a header by."""

EXPORT_HINT = (
    "export with sacct -P -X -D --format=JobID,JobIDRaw,JobName,User,Account,QOS,Partition,State,"
    "Submit,Eligible,Start,End,ReqTRES,AllocTRES,NodeList,Reason"
)

WAITING = frozenset({"PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
RUNNING = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING"}) | frozenset(
    {"SIGNALING", "STAGE_OUT", "STOPPED"}
)
CAUSE_OF_STATE = {
    "PREEMPTED": "preemption",
    "NODE_FAIL": "hardware",
    "BOOT_FAIL": "hardware",
    "FAILED": "job_error",
    "OUT_OF_MEMORY": "job_error",
    "REQUEUED": "unknown",
}
"""Why a run ended that another follows. A state that should have ended the job explains nothing."""

OUTCOME_OF_STATE = {
    "COMPLETED": "completed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "failed",
    "DEADLINE": "failed",
    "FAILED": "failed",
    "OUT_OF_MEMORY": "failed",
}
"""How a job ended whose last run is in this state; the other states wait for the next run."""

STATES = WAITING | RUNNING | CAUSE_OF_STATE.keys() | OUTCOME_OF_STATE.keys()
STATE = re.compile(f"(?:{'|'.join(sorted(STATES))})(?: by [0-9]+)?")

INELIGIBLE = {"Dependency": "dependency", "BeginTime": "user_hold"}
"""Reasons for which a job is not eligible yet. A begin time is the owner's wish, like a hold."""

PENDING_REASONS = {
    **INELIGIBLE,
    "DependencyNeverSatisfied": "dependency",
    "JobHeldUser": "user_hold",
    "Priority": "priority",
    # Slurm starts a job on all its resources or not at all.
    "Resources": "gang_size",
    "PowerNotAvail": "power",
    "PowerReserved": "power",
    "QOSJobLimit": "quota",
    "QOSResourceLimit": "quota",
    "AssociationJobLimit": "quota",
    "AssociationResourceLimit": "quota",
}
QUOTA_REASONS = ("QOSGrp", "QOSMax", "AssocGrp", "AssocMax")

NOT_SAID = frozenset({"", "unknown", "none", "n/a", "0"})
NO_NODES = frozenset({"", "none assigned", "none", "(null)"})
ISO_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)
DIGIT = re.compile("[0-9]")
EPOCH_SECONDS = re.compile(r"[0-9]{1,12}")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JOB_ID = re.compile(r"[0-9]+(?:[_+][0-9]+|_\[[^\]]*\])?")
NODE_PATTERN = re.compile(r"(?:\[[^\[\]]*\]|[^,\[])+|\[")
NODE_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
NODE_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
MAX_NODES = 65_536
"""More nodes than Slurm can be built for: a list that names more is damaged."""


class _Bad(Exception):
    """Why a row cannot be used: a Reject's reason."""


@dataclass(frozen=True, slots=True)
class Run:
    """One row: one run of a job, or a job that waits for one. Times are UTC, None if not said."""

    line: int
    cluster: str | None
    job: str
    name: str | None
    tier: str
    tenant: str | None
    user: str | None
    state: str
    reason: str
    submit: datetime
    eligible: datetime | None
    start: datetime | None
    end: datetime | None
    gpus: int | None
    nodes: tuple[str, ...]
    ran: bool
    """Whether it held its resources at any time, if only for 0 s."""


class Slurm:
    """Reads what `sacct -P` prints."""

    name = "slurm"
    names_jobs_after_files = False

    def recognises(self, path: Path, head: str) -> bool:
        """Whether the text begins with sacct's header, or with rows that only sacct would print."""
        first = text.first_line(head)
        names = set(_column_names(first))
        return not names.isdisjoint(ID_COLUMNS) if _is_header(first) else _looks_like_run(first)

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        """Yield the records of all jobs, by job in the order of submission; rejected rows first.

        Raises UnreadableInput where there is no header and no names of columns were given, or
        where necessary columns are missing.
        """
        runs: list[Run] = []
        columns: tuple[str, ...] | None = None
        for item in text.lines(path):
            if isinstance(item, Reject):
                yield item
                continue
            line, row = item
            if _is_header(row):
                columns = _checked(path, _column_names(row))
                continue
            if columns is None:
                columns = _checked(path, _given_columns(path, settings))
            try:
                run = _run(line, row, columns, settings)
            except _Bad as e:
                yield Reject(line, str(e), _kept(row, columns))
            else:
                runs += [run] if run else []
        for job in _jobs(runs):
            yield from _job_records(job)


def _kept(row: str, columns: tuple[str, ...]) -> str:
    """What quarantine may hold of a row: of one that fits its columns, only those used here."""
    values = row.split("|")
    if len(values) != len(columns):
        return row
    return "|".join(v for name, v in zip(columns, values, strict=True) if name in KNOWN_COLUMNS)


# --- columns --------------------------------------------------------------------------------------


def _column_names(header: str | Iterable[str]) -> tuple[str, ...]:
    """Names as sacct's --format takes them, in any case, with or without a width (`JobName%40`)."""
    names = header.lstrip("\ufeff").split("|") if isinstance(header, str) else header
    return tuple(name.partition("%")[0].strip().lower() for name in names)


def _is_header(row: str) -> bool:
    """Whether it names columns: no name has a digit, and every row has some."""
    if DIGIT.search(row):
        return False
    return sum(name in KNOWN_COLUMNS for name in _column_names(row)) >= 2


def _looks_like_run(row: str) -> bool:
    """Whether it has what is necessary of a run, wherever: an id, a state and the submission."""
    fields = row.split("|")
    kinds = (JOB_ID.fullmatch, ISO_TIME.fullmatch, STATE.fullmatch)
    return len(fields) > len(NECESSARY) and all(any(map(is_kind, fields)) for is_kind in kinds)


def _given_columns(path: Path, settings: Settings) -> tuple[str, ...]:
    if settings.columns is None:
        raise UnreadableInput(
            f"{path}: no header in it; name its columns with --columns jobid,state,... in their "
            f"order, or {EXPORT_HINT}"
        )
    return _column_names(settings.columns)


def _checked(path: Path, columns: tuple[str, ...]) -> tuple[str, ...]:
    missing = [name for name in NECESSARY if name not in columns]
    if ID_COLUMNS.isdisjoint(columns):
        missing.insert(0, "jobid")
    if missing:
        raise UnreadableInput(
            f"{path}: no column {', '.join(missing)} among {'|'.join(columns)}; {EXPORT_HINT}"
        )
    return columns


# --- rows -----------------------------------------------------------------------------------------


def _run(line: int, row: str, columns: tuple[str, ...], settings: Settings) -> Run | None:
    """The run of a row, None for a job step; _Bad where the row cannot be used."""
    values = row.split("|")
    if len(values) != len(columns):
        raise _Bad(f"wrong_columns: {len(values)} where there should be {len(columns)}")
    fields = dict(zip(columns, (v.strip() for v in values), strict=True))
    shown, job = _job_ids(fields)
    if "." in shown or "." in job:
        return None
    state = _state(fields)
    times = {name: _time(name, fields.get(name, ""), settings.timezone) for name in TIME_COLUMNS}
    submit, start, end = times["submit"], times["start"], times["end"]
    if submit is None:
        raise _Bad(f"bad_time: Submit is {fields['submit']!r:.80}")
    if start and end and end < start:
        raise _Bad(f"end_before_start: {fields['end']} before {fields['start']}")
    return Run(
        line=line,
        cluster=fields.get("cluster") or None,
        job=job,
        name=shown if "_" in shown else fields.get("jobname") or None,
        tier=_tier(fields, settings.policy),
        tenant=fields.get("account") or None,
        user=fields.get("user") or None,
        state=state,
        reason=fields.get("reason", ""),
        submit=submit,
        eligible=times["eligible"],
        start=start,
        end=end,
        gpus=_gpus(fields),
        nodes=node_names(fields.get("nodelist", "")),
        ran=_ran(fields, state, start, end),
    )


def _job_ids(fields: dict[str, str]) -> tuple[str, str]:
    """The id as shown, which tells tasks of arrays, and the job's own, which its processes see."""
    raw = fields.get("jobidraw", "")
    shown = fields.get("jobid", "") or raw
    job = raw or shown
    if not job:
        raise _Bad("missing_job_id")
    for value in (shown, job):
        if not JOB_ID.fullmatch(value.partition(".")[0]):
            raise _Bad(f"bad_job_id: {value!r:.80}")
    if "[" in job:
        raise _Bad(f"array_not_split: {job} stands for tasks that have no id yet; add JobIDRaw")
    return shown, job


def _state(fields: dict[str, str]) -> str:
    """The state alone, of what may be `CANCELLED by 1000`."""
    state = fields["state"].partition(" ")[0].upper()
    if state not in STATES:
        raise _Bad(f"unknown_state: {fields['state']!r:.80}")
    return state


def _ran(fields: dict[str, str], state: str, start: datetime | None, end: datetime | None) -> bool:
    """Whether the run held resources: sacct gives one cancelled in the queue a Start like its End.

    Where there is no NodeList to tell, a cancelled run of 0 s is taken for one that never started.
    """
    if start is None or state in WAITING:
        return False
    if state in RUNNING or start != end:
        return True
    if "nodelist" not in fields:
        return state != "CANCELLED"
    return fields["nodelist"].lower() not in NO_NODES


def _tier(fields: dict[str, str], policy: Policy) -> str:
    """The tier that the policy knows the QOS by, else the partition; else their own names.

    A waiting job may name several partitions: the first that the policy knows, else the first.
    """
    qos, partitions = fields.get("qos", ""), fields.get("partition", "").split(",")
    for name in (qos, *partitions):
        if tier := policy.tier(name):
            return tier.name
    return partitions[0] or qos or "unknown"


def _gpus(fields: dict[str, str]) -> int | None:
    return gpus_of_tres(fields.get("alloctres", "")) or gpus_of_tres(fields.get("reqtres", ""))


def gpus_of_tres(tres: str) -> int | None:
    """GPUs in a TRES list such as `cpu=8,gres/gpu=4,gres/gpu:a100=4`; None where it names none.

    `gres/gpu` is the total; the types are summed only where it is missing.
    """
    if "gres/gpu" not in tres:
        return None
    pairs = [item.partition("=") for item in tres.split(",")]
    counts = [(name.strip(), int(n)) for name, _, n in pairs if re.fullmatch("[0-9]{1,9}", n)]
    total = [n for name, n in counts if name == "gres/gpu"]
    typed = [n for name, n in counts if name.startswith("gres/gpu:")]
    return sum(total[:1] or typed) or None


# --- times ----------------------------------------------------------------------------------------


def _time(column: str, value: str, zone: tzinfo) -> datetime | None:
    """A time of sacct in UTC, None where it says that it knows none; _Bad where it makes no sense.

    It is local unless it has an offset or is in seconds since 1970 (SLURM_TIME_FORMAT=%s).
    """
    if value.lower() in NOT_SAID:
        return None
    try:
        if EPOCH_SECONDS.fullmatch(value):
            return EPOCH + timedelta(seconds=int(value))
        if not ISO_TIME.fullmatch(value):
            raise ValueError(value)
        stated = datetime.fromisoformat(value)
        return _utc(column, stated, zone) if stated.tzinfo is None else stated.astimezone(UTC)
    except (ValueError, OverflowError) as e:
        raise _Bad(f"bad_time: {column.capitalize()} is {value!r:.80}") from e


def _utc(column: str, local: datetime, zone: tzinfo) -> datetime:
    """A local time in UTC; _Bad where a change of the clocks left it out or had it twice."""
    first = local.replace(tzinfo=zone, fold=0)
    moment = first.astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != local:
        fault = "impossible_local_time"
    elif first.utcoffset() != first.replace(fold=1).utcoffset():
        fault = "ambiguous_local_time"
    else:
        return moment
    raise _Bad(f"{fault}: {column.capitalize()} is {local.isoformat()} in {zone}")


# --- nodes ----------------------------------------------------------------------------------------


def node_names(nodelist: str) -> tuple[str, ...]:
    """The nodes of a list such as `n[01-03,7],rack[1-2]gpu[1-4]`; none for `None assigned`.

    Raises _Bad where the brackets make no sense, or for more than MAX_NODES.
    """
    if nodelist.lower() in NO_NODES:
        return ()
    names: list[str] = []
    for pattern in NODE_PATTERN.findall(nodelist):
        names += _expanded(pattern, MAX_NODES - len(names), nodelist)
    return tuple(names)


def _expanded(pattern: str, room: int, nodelist: str) -> list[str]:
    """The names of one pattern, its brackets taken from left to right."""
    parts = NODE_BRACKETS.split(pattern)
    if any(c in "[]" for part in parts[::2] for c in part):
        raise _Bad(f"bad_node_list: {nodelist!r:.80}")
    choices = [_range_bounds(inside, nodelist) for inside in parts[1::2]]
    if prod(sum(last - first + 1 for first, last, _ in choice) for choice in choices) > room:
        raise _Bad(f"too_many_nodes: {nodelist!r:.80}")
    names = [parts[0]]
    for choice, after in zip(choices, parts[2::2], strict=True):
        numbers = [f"{n:0{w}}" for first, last, w in choice for n in range(first, last + 1)]
        names = [f"{name}{number}{after}" for name in names for number in numbers]
    return names


def _range_bounds(inside: str, nodelist: str) -> list[tuple[int, int, int]]:
    """(first, last, digits) of each range in brackets; all have at least the first one's digits."""
    bounds = []
    for item in inside.split(","):
        match = NODE_RANGE.fullmatch(item.strip())
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise _Bad(f"bad_node_list: {nodelist!r:.80}")
        bounds.append((int(match[1]), int(match[2] or match[1]), len(match[1])))
    return bounds


# --- jobs -----------------------------------------------------------------------------------------


def _jobs(runs: list[Run]) -> list[list[Run]]:
    """The runs of each job in the order of Start, jobs in the order of submission."""
    grouped: dict[tuple[str | None, str], list[Run]] = {}
    for run in runs:
        grouped.setdefault((run.cluster, run.job), []).append(run)
    jobs = [sorted(_distinct(rows), key=_order) for rows in grouped.values()]
    return sorted(jobs, key=lambda job: min((r.submit, r.line) for r in job))


def _distinct(rows: list[Run]) -> list[Run]:
    """One of the rows that tell of the same run, as where two exports were joined: the latest told.

    A run is known by its Submit and Start. One with an End is told later than one without, and the
    row of a job that waited is superseded once that submission has started.
    """
    kept: dict[tuple[datetime, datetime | None], Run] = {}
    for row in sorted(rows, key=lambda r: (r.state not in RUNNING, r.end is not None, r.line)):
        kept[row.submit, row.start] = row
    started = {submit for submit, start in kept if start is not None}
    return [r for (submit, start), r in kept.items() if start is not None or submit not in started]


def _order(run: Run) -> tuple[Any, ...]:
    """By Start, those without one last; of two in the same second the one that ended first."""
    return (run.start is None, run.start or run.submit, run.end is None, run.end or run.submit)


def _job_records(runs: list[Run]) -> Iterator[Record]:
    """The records of one job. Its submission is the first run's: a requeue rewrites Submit."""
    yield _submission(runs[0])
    yield from _pending(runs[0])
    attempt = 0
    for place, run in enumerate(runs):
        last = place == len(runs) - 1
        if run.ran:
            yield _allocation(run, attempt)
        ended = run.end is not None and run.state not in RUNNING | WAITING
        if ended and last and run.state in OUTCOME_OF_STATE:
            yield _record(run, "job_ended", run.end, outcome=OUTCOME_OF_STATE[run.state])
        elif ended and run.ran:
            yield _interruption(run, attempt)
        attempt += run.ran


def _submission(run: Run) -> Record:
    return _record(
        run,
        "job_submitted",
        run.submit,
        tier=run.tier,
        tenant=run.tenant,
        user=run.user,
        name=run.name,
        gpus=run.gpus,
    )


def _allocation(run: Run, attempt: int) -> Record:
    return _record(
        run,
        "resources_allocated",
        run.start,
        attempt=attempt,
        nodes=list(run.nodes) or None,
        gpus=run.gpus,
    )


def _interruption(run: Run, attempt: int) -> Record:
    cause = CAUSE_OF_STATE.get(run.state, "unknown")
    return _record(run, "interruption", run.end, attempt=attempt, cause=cause, detail=run.state)


def _pending(run: Run) -> Iterator[Record]:
    """Why a job waits, for its first run only: later waits are restarts.

    Eligible is when Slurm began to consider the job, and Reason the last one that it noted, beside
    priority and resources. Where that is one which makes a job ineligible, it explains the time up
    to Eligible, and nothing the time after. (Slurm delays a requeue by a BeginTime too: without
    `-D` that looks the same.) Any other reason is of the present, so only a waiting job's is told,
    and only where it was eligible all along. While a job waits, Eligible may lie in the future.
    """
    waiting = run.state in WAITING
    later = run.eligible is not None and run.eligible > run.submit
    if run.reason in INELIGIBLE and (waiting or later):
        yield _waits(run, run.submit, INELIGIBLE[run.reason])
        until = run.start or run.end
        if not waiting and run.eligible and (until is None or run.eligible < until):
            yield _record(run, "job_pending", run.eligible, reason="other")
    elif waiting and not later and run.reason.lower() not in NOT_SAID:
        yield _waits(run, run.submit, pending_reason(run.reason))


def _waits(run: Run, moment: datetime, reason: str) -> Record:
    return _record(run, "job_pending", moment, reason=reason, detail=run.reason)


def pending_reason(reason: str) -> str:
    """The event reference's word for a Slurm reason; "other" where none surely means it."""
    if reason.startswith(QUOTA_REASONS):
        return "quota"
    if "maintenance" in reason.lower():
        return "maintenance"
    return PENDING_REASONS.get(reason, "other")


def _record(run: Run, event: str, moment: datetime | None, **fields: Any) -> Record:
    stated = {
        "event": event,
        "ts": moment.isoformat() if moment else None,
        "job": run.job,
        "cluster": run.cluster,
        **fields,
    }
    return Record("lifecycle", {k: v for k, v in stated.items() if v is not None}, run.line)
