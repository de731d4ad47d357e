"""Files into the warehouse: each exactly once, each record exactly once, a file a transaction.

A file's records, its quarantine rows and the note that it was ingested are committed together.
What has been stored of a job's hour is never changed in place: an hour that gains or loses a step
gets new step groups (see the schema), which is how a refresh knows what to derive anew.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import sql
from metrics.errors import UnknownKind, UnreadableInput, UsageError
from pipelines.clock import now_us
from pipelines.records import (
    STEP_FIELDS,
    BadRecord,
    allowed_fields,
    check_lifecycle,
)
from pipelines.sources import Record, Reject, Settings, Source
from pipelines.sources.canonical import Bulk, Canonical, bulk_json
from pipelines.sources.registry import SOURCES, recognise
from pipelines.sources.text import lines
from pipelines.warehouse import one_row, transaction

UNFINISHED = (".tmp", ".part", ".partial", ".swp", "~", ".crdownload")
"""Endings of files that somebody is still writing."""

MAX_REJECT_CHARS = 200
BATCH_RECORDS = 20_000
BLOCK_LINES = 200_000
"""A file in which the bulk reader met a fault is read in blocks of so many lines."""
SMALLEST_BLOCK_LINES = 1_000
"""Below this a faulty block is not halved again but read line by line."""


@dataclass(frozen=True)
class Summary:
    """What became of one file's records.

    read = new + duplicate + quarantined, except that a record which stands for n steps is read
    once and new n times, and a stored step that a smaller one displaces is quarantined as well.
    """

    path: Path
    source: str
    read: int = 0
    new: int = 0
    duplicate: int = 0
    dropped_fields: int = 0
    quarantined: int = 0
    known: bool = False


@dataclass
class _Batch:
    """What was read of a file and waits to be stored."""

    read: int = 0
    dropped_fields: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[tuple[int | None, str, str]] = field(default_factory=list)

    def reject(self, line: int | None, reason: str, raw: str) -> None:
        self.rejects.append((line, reason, raw))


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The complete files that the paths name: files as they are, folders with all below them.

    In folders, hidden files and those that somebody is still writing (UNFINISHED) are passed over.
    Raises UsageError for a path that does not exist.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.is_file() and _is_complete(p, path))
        elif path.exists():
            found.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    return found


def _is_complete(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and not path.name.endswith(UNFINISHED)


def choose_source(name: str, path: Path) -> Source:
    """The source of that name, or for `auto` the one that recognises the file's content.

    Raises UsageError for an unknown name, UnknownKind where no source recognises the file.
    """
    if name != "auto":
        if name not in SOURCES:
            raise UsageError(f"--source {name}: not one of auto, {', '.join(SOURCES)}")
        return SOURCES[name]
    source = recognise(path)
    if source is None:
        raise UnknownKind(
            f"{path}: no source recognises this file; if it is one of {', '.join(SOURCES)}, "
            "say so with --source"
        )
    return source


def ingest_file(
    con: duckdb.DuckDBPyConnection, path: Path, source: Source, settings: Settings
) -> Summary:
    """Store one file's records, all of them or, where it cannot be read, none.

    Raises UnreadableInput.
    """
    fingerprint = _fingerprint(path, source, settings)
    if con.execute("select 1 from files where fingerprint = ?", [fingerprint]).fetchall():
        return Summary(path, source.name, known=True)
    with transaction(con), _incoming(con):
        batch = _read(con, path, source, settings)
        (file_id,) = one_row(con, "select coalesce(max(file_id), 0) + 1 from files")
        new_events = _store_events(con, file_id, batch.events)
        duplicate_events = len(batch.events) - new_events
        steps = _store_steps(con, file_id)
        summary = Summary(
            path,
            source.name,
            read=batch.read,
            new=new_events + steps.new,
            duplicate=duplicate_events + steps.duplicate,
            dropped_fields=batch.dropped_fields,
            quarantined=len(batch.rejects) + steps.conflicting,
        )
        _store_rejects(con, file_id, batch.rejects)
        con.execute(
            "insert into files values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                file_id,
                fingerprint,
                str(path),
                source.name,
                now_us(),
                summary.read,
                summary.new,
                summary.duplicate,
                summary.dropped_fields,
                summary.quarantined,
            ],
        )
    return summary


def _fingerprint(path: Path, source: Source, settings: Settings) -> str:
    """Digest of the content and of all that decides what is read out of it."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256")
    except OSError as e:
        raise UnreadableInput(f"{path}: cannot be read ({e.strerror or e})") from e
    tiers = [tier.model_dump(mode="json") for tier in settings.policy.tiers]
    said = [source.name, str(settings.timezone), settings.columns, tiers]
    digest.update(json.dumps(said).encode())
    if source.name != Canonical.name:
        digest.update(path.name.encode())  # such a source may name the job after the file
    return digest.hexdigest()


# Reading ------------------------------------------------------------------------------------------

_STEP_COLUMNS = pa.schema(
    [("line", pa.int64()), ("raw", pa.string())]
    + [
        (name, pa.string() if name in ("job", "ts", "straggler_node") else pa.float64())
        for name in STEP_FIELDS
        if name != "cluster"
    ]
    + [("ts_us", pa.int64())]
)


@contextmanager
def _incoming(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    con.execute(
        "create or replace temp table incoming (job varchar, attempt integer, step bigint, "
        "ts_us bigint, duration_us bigint, data_wait_us bigint, straggler_us bigint, "
        "checkpoint_us bigint, overhead_us bigint, straggler_node varchar)"
    )
    try:
        yield
    finally:
        con.execute("drop table if exists incoming")


def _read(con: duckdb.DuckDBPyConnection, path: Path, source: Source, settings: Settings) -> _Batch:
    batch = _Batch()
    if isinstance(source, Canonical):
        bulk = source.bulk_steps(path)
        if bulk is not None:
            if _take_bulk(con, bulk, batch):
                return batch
            if bulk.lines_may_be_read_apart:
                _take_blocks(con, path, batch)
                return batch
    _take_records(con, source.read(path, settings), batch)
    return batch


def _take_bulk(con: duckdb.DuckDBPyConnection, bulk: Bulk, batch: _Batch) -> bool:
    """Take a whole relation of steps if each is good; else take nothing and say so."""
    try:
        con.execute(f"create or replace temp table parsed_steps as {bulk.steps}")
        con.execute(
            f"create or replace temp table judged_steps as {sql.read('ingest/judged_steps')}"
        )
        read, bad = one_row(con, "select count(*), count(reason) from judged_steps")
        (dropped,) = one_row(con, bulk.dropped_fields)
    except duckdb.Error:
        return False
    finally:
        con.execute("drop table if exists parsed_steps")
    if bad:
        return False
    con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")
    batch.read += read
    batch.dropped_fields += int(dropped or 0)
    return True


def _take_blocks(con: duckdb.DuckDBPyConnection, path: Path, batch: _Batch) -> None:
    """Take a file in which something is wrong: bulk where it is right, by line where it is not."""
    block: list[tuple[int, str]] = []
    for line in lines(path):
        if isinstance(line, Reject):
            batch.read += 1
            batch.reject(line.line, line.reason, line.text[:MAX_REJECT_CHARS])
            continue
        block.append(line)
        if len(block) == BLOCK_LINES:
            _take_block(con, block, batch)
            block = []
    _take_block(con, block, batch)


def _take_block(
    con: duckdb.DuckDBPyConnection, block: list[tuple[int, str]], batch: _Batch
) -> None:
    if len(block) <= SMALLEST_BLOCK_LINES:
        _take_records(con, Canonical.parse(block), batch)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(text + "\n" for _, text in block)
        file.flush()
        if _take_bulk(con, bulk_json(Path(file.name)), batch):
            return
    middle = len(block) // 2
    _take_block(con, block[:middle], batch)
    _take_block(con, block[middle:], batch)


def _take_records(
    con: duckdb.DuckDBPyConnection, records: Iterable[Record | Reject], batch: _Batch
) -> None:
    steps: list[dict[str, Any]] = []
    for record in records:
        batch.read += 1
        if isinstance(record, Reject):
            batch.reject(record.line, record.reason, record.text[:MAX_REJECT_CHARS])
            continue
        try:
            if record.stream == "lifecycle":
                checked = check_lifecycle(record.fields)
                batch.dropped_fields += checked.dropped
                batch.events.append(checked.columns | {"record_key": checked.key})
            else:
                steps.append(_step_row(record))
                batch.dropped_fields += len(record.fields.keys() - set(STEP_FIELDS))
        except BadRecord as e:
            batch.reject(record.line, str(e), allowed_fields(record.fields))
        if len(steps) >= BATCH_RECORDS:
            _judge(con, steps, batch)
            steps = []
    if steps:
        _judge(con, steps, batch)


def _step_row(record: Record) -> dict[str, Any]:
    """The record's fields as parsed_steps has them. Raises BadRecord for one of a wrong kind."""
    fields = record.fields
    row = {name: _step_value(name, fields.get(name)) for name in STEP_FIELDS if name != "cluster"}
    return row | {"line": record.line, "raw": allowed_fields(fields)}


def _step_value(name: str, value: object) -> object:
    if value is None:
        return None
    if name in ("job", "ts", "straggler_node"):
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return str(value)
        raise BadRecord(f"bad field {name}: not text")
    if not isinstance(value, (str, int, float)):
        raise BadRecord(f"bad field {name}: not a number")
    try:
        return float(value)
    except (ValueError, OverflowError) as e:
        raise BadRecord(f"bad field {name}: not a number") from e


def _judge(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], batch: _Batch) -> None:
    table = pa.Table.from_pylist(rows, schema=_STEP_COLUMNS)
    con.register("parsed_steps", table)
    con.execute(f"create or replace temp table judged_steps as {sql.read('ingest/judged_steps')}")
    con.unregister("parsed_steps")
    bad = con.execute("select line, reason, raw from judged_steps where reason is not null")
    batch.rejects += bad.fetchall()
    con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")


# Storing ------------------------------------------------------------------------------------------


def _store_events(
    con: duckdb.DuckDBPyConnection, file_id: int, events: list[dict[str, Any]]
) -> int:
    """Store the lifecycle records that are not there yet; their number."""
    if not events:
        return 0
    con.execute("create or replace temp table incoming_events as from events limit 0")
    con.execute("alter table incoming_events add column job varchar")
    described = con.execute("describe incoming_events").fetchall()
    names = [row[0] for row in described]
    for start in range(0, len(events), BATCH_RECORDS):
        table = _event_table(events[start : start + BATCH_RECORDS], described)
        con.register("event_batch", table)
        con.execute("insert into incoming_events by name from event_batch")
        con.unregister("event_batch")
    _name_jobs(con, "incoming_events")
    (new,) = one_row(
        con,
        "select count(distinct record_key) from incoming_events "
        "where record_key not in (select record_key from events)",
    )
    kept = [n for n in names if n not in ("event_id", "file_id", "job", "job_id")]
    columns = ", ".join(f'"{name}"' for name in kept)
    con.execute(
        "insert into events by name "
        "select next_event_id + row_number() over (order by ts_us, record_key) - 1 as event_id, "
        f"$file_id as file_id, jobs.job_id, {columns} "
        "from (select distinct on (record_key) * exclude (job_id) from incoming_events) "
        "left join jobs using (job), counters "
        "where record_key not in (select record_key from events)",
        {"file_id": file_id},
    )
    con.execute("drop table incoming_events")
    con.execute(
        "update counters set next_event_id = (select coalesce(max(event_id), 0) + 1 from events)"
    )
    return int(new)


_ARROW = {
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "BOOLEAN": pa.bool_(),
}


def _event_table(events: list[dict[str, Any]], described: list[tuple[Any, ...]]) -> pa.Table:
    schema = pa.schema([(row[0], _ARROW[row[1]]) for row in described])
    return pa.Table.from_pylist(events, schema=schema)


def _name_jobs(con: duckdb.DuckDBPyConnection, relation: str) -> None:
    con.execute(
        f"insert into jobs select (select coalesce(max(job_id), 0) from jobs) "
        f"+ row_number() over (order by job), job from (select distinct job from {relation} "
        "where job is not null and job not in (select job from jobs))"
    )


@dataclass(frozen=True)
class _Stored:
    """What became of a file's steps."""

    new: int = 0
    duplicate: int = 0
    conflicting: int = 0


def _store_steps(con: duckdb.DuckDBPyConnection, file_id: int) -> _Stored:
    """Merge the incoming steps with what is stored of the same hours and the same steps."""
    (incoming,) = one_row(con, "select count(*) from incoming")
    if not incoming:
        return _Stored()
    _name_jobs(con, "incoming")
    params = {"file_id": file_id}
    con.execute(f"create or replace temp table reopened as {sql.read('ingest/reopened_hours')}")
    con.execute(f"create or replace temp table merged as {sql.read('ingest/merged_steps')}", params)
    stored = _Stored(new=incoming)
    if con.execute(sql.read("ingest/has_rivals")).fetchall():
        stored = _settle_rivals(con, incoming)
    if stored.new:
        _replace_hours(con)
    for name in ("merged", "reopened"):
        con.execute(f"drop table {name}")
    return stored


def _settle_rivals(con: duckdb.DuckDBPyConnection, incoming: int) -> _Stored:
    """Of step records with one key let the smallest stand; quarantine those that differ from it."""
    con.execute(f"create or replace temp table ranked as {sql.read('ingest/ranked_steps')}")
    con.execute(f"insert into quarantine by name {sql.read('ingest/conflicting_steps')}")
    new, duplicate, conflicting = one_row(
        con,
        "select count(*) filter (verdict = 'stands' and not stored),"
        " count(*) filter (verdict = 'duplicate'), count(*) filter (verdict = 'conflict')"
        " from ranked",
    )
    # An hour in which nothing new stands and nothing stored fell is left as it is.
    con.execute(
        "create or replace temp table merged as select * exclude (verdict) from ranked"
        " where verdict = 'stands' and (job_id, hour_us) in (select (job_id, hour_us) from ranked"
        " where (verdict = 'stands' and not stored) or (verdict = 'conflict' and stored))"
    )
    con.execute("drop table ranked")
    return _Stored(new, duplicate, conflicting)


def _replace_hours(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(f"create or replace temp table placed as {sql.read('ingest/placed_steps')}")
    con.execute(
        "create or replace temp table stale as select group_id from step_groups"
        " where (job_id, hour_us) in (select (job_id, hour_us) from placed)"
    )
    con.execute("delete from steps where group_id in (from stale)")
    con.execute("delete from step_groups where group_id in (from stale)")
    con.execute(f"create or replace temp table fresh as {sql.read('ingest/fresh_groups')}")
    con.execute("insert into step_groups by name from fresh")
    con.execute(
        "insert into steps by name select group_id, step, ts_us, before_us, duration_us,"
        " data_wait_us, straggler_us, checkpoint_us, overhead_us, straggler_node, file_id"
        " from placed join fresh using (job_id, hour_us, attempt) order by group_id, ts_us, step"
    )
    con.execute("update counters set next_group_id = (select max(group_id) + 1 from fresh)")
    for name in ("placed", "stale", "fresh"):
        con.execute(f"drop table {name}")


def _store_rejects(
    con: duckdb.DuckDBPyConnection, file_id: int, rejects: list[tuple[int | None, str, str]]
) -> None:
    if rejects:
        table = pa.table(
            {
                "line": pa.array([r[0] for r in rejects], pa.int64()),
                "reason": pa.array([r[1] for r in rejects], pa.string()),
                "raw": pa.array([_storable(r[2]) for r in rejects], pa.string()),
            }
        )
        con.register("reject_batch", table)
        con.execute(
            "insert into quarantine select ?, line, reason, raw from reject_batch", [file_id]
        )
        con.unregister("reject_batch")


def _storable(text: str) -> str:
    return text.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")


@dataclass
class Ingested:
    """What became of the files: what was stored, could not be read, or was passed over."""

    summaries: list[Summary] = field(default_factory=list)
    failures: list[UnreadableInput] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)


def ingest(
    con: duckdb.DuckDBPyConnection,
    paths: list[Path],
    source_name: str,
    settings: Settings,
    on_files: Callable[[list[Path]], None] = lambda files: None,
    on_file: Callable[[Path], None] = lambda path: None,
) -> Ingested:
    """Store each file that the paths name; one that cannot be read stops none of the others.

    A file that no source recognises is a failure where it was named itself, and passed over where
    it only lies in a folder that was. `on_files` is told the files, `on_file` each when it is done.
    Raises UsageError for a path that does not exist.
    """
    files = find_files(paths)
    on_files(files)
    done = Ingested()
    for path in files:
        try:
            source = choose_source(source_name, path)
            done.summaries.append(ingest_file(con, path, source, settings))
        except UnknownKind as e:
            if path in paths:
                done.failures.append(e)
            else:
                done.skipped.append(path)
        except UnreadableInput as e:
            done.failures.append(e)
        on_file(path)
    return done
