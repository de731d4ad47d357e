"""One file into records that wait to be stored: what its source yields, checked.

Lifecycle records are checked one by one. Step records can be a hundred million, so a canonical file
of them is read whole by DuckDB (`take bulk`) where every record in it is good. Where something is
wrong the file is read in blocks, halved down to the lines at fault, so that one torn line costs no
more than its neighbours. Either way `sql/ingest/judged_steps.sql` judges.

What was read waits in temporary tables, so that a file may be larger than memory: steps in
`incoming`, lifecycle records in `incoming_events`, which is there once the first of them is. `line`
is null for steps that were read whole: then the place in the table tells the place in the file.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import sql
from pipelines.privacy import Salt, withheld
from pipelines.records import (
    STEP_COLUMNS,
    STEP_FIELDS,
    STEP_TEXT_FIELDS,
    BadRecord,
    allowed_fields,
    check_lifecycle,
    plain_text,
)
from pipelines.sources import Record, Reject, Settings, Source
from pipelines.sources.canonical import Canonical
from pipelines.sources.canonical_bulk import Bulk
from pipelines.sources.canonical_json import bulk_json
from pipelines.sources.text import is_damaged_gzip, lines
from pipelines.warehouse import one_row

MAX_REJECT_CHARS = 200
"""Of text that is no record, so much is kept."""
BATCH_RECORDS = 20_000
BLOCK_LINES = 200_000
"""A file in which the bulk reader met a fault is read in blocks of so many lines."""
SMALLEST_BLOCK_LINES = 1_000
"""Below this a faulty block is not halved again but read line by line."""

_STEP_SCHEMA = pa.schema(
    [("line", pa.int64()), ("raw", pa.string())]
    + [(name, pa.string() if name in STEP_TEXT_FIELDS else pa.float64()) for name in STEP_COLUMNS]
    + [("ts_us", pa.int64())]
)


@dataclass
class Batch:
    """What was read of a file besides its good records: rejects, and counts.

    `rejects` are (line, reason, raw text); `events` counts the lifecycle records that wait. With a
    `salt` user names are hashed before anything else is done with a record. Where it
    `counts_records`, the lines of its steps are counts of records, which blank lines are not.
    """

    salt: Salt | None = None
    counts_records: bool = False

    read: int = 0
    dropped_fields: int = 0
    events: int = 0
    rejects: list[tuple[int | None, str, str]] = field(default_factory=list)

    def reject(self, line: int | None, reason: str, raw: str) -> None:
        """Note something that goes to quarantine."""
        self.rejects.append((line, reason, raw))

    def reject_text(self, found: Reject) -> None:
        """Note text that is no record. Where names are hashed neither it nor what its reason quotes
        is kept: a name may stand anywhere in it."""
        if self.salt is None:
            self.reject(found.line, found.reason, found.text[:MAX_REJECT_CHARS])
        else:
            self.reject(found.line, found.reason.partition(":")[0], withheld(found.text))

    def fields(self, record: Record) -> Mapping[str, Any]:
        """The record's fields as they may be stored."""
        return record.fields if self.salt is None else self.salt.hide(record.fields)


@contextmanager
def incoming_records(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """The temporary tables in which records wait, empty, for as long as a file is at work."""
    con.execute(
        "create or replace temp table incoming (job varchar, attempt integer, step bigint, "
        "ts_us bigint, duration_us bigint, data_wait_us bigint, straggler_us bigint, "
        "checkpoint_us bigint, overhead_us bigint, straggler_node varchar, line bigint)"
    )
    try:
        yield
    finally:
        for name in ("incoming", "incoming_events", "judged_steps"):
            con.execute(f"drop table if exists {name}")


def read(con: duckdb.DuckDBPyConnection, path: Path, source: Source, settings: Settings) -> Batch:
    """Read a file: good steps into `incoming`, all else into the batch.

    Raises UnreadableInput where the file as a whole makes no sense.
    """
    batch = Batch(salt=settings.salt)
    if isinstance(source, Canonical):
        ways = source.bulk_steps(path)
        is_text = any(way.is_text for way in ways)
        is_whole = not (is_text and is_damaged_gzip(path))
        if is_whole and _take_bulk(con, ways, batch):
            batch.counts_records = is_text
            return batch
        if is_text:
            _take_blocks(con, path, batch)
            return batch
    take_records(con, source.read(path, settings), batch)
    return batch


@dataclass(frozen=True)
class _Judged:
    """What judged_steps holds of a relation: how much, and whether it may be taken as it is."""

    records: int
    dropped_fields: int
    is_good: bool


def _take_bulk(
    con: duckdb.DuckDBPyConnection,
    ways: list[Bulk],
    batch: Batch,
    numbers: list[int] | None = None,
) -> bool:
    """Take a whole relation of steps if each is good; else take nothing and say so.

    `numbers` are the lines of its records, where they are known.
    """
    judged = next(filter(None, (_judge_bulk(con, way) for way in ways)), None)
    if judged is None or not judged.is_good:
        return False
    con.execute("alter table judged_steps add column line bigint")
    if numbers is not None:
        _number(con, numbers)
    _let_wait(con)
    batch.read += judged.records
    batch.dropped_fields += judged.dropped_fields
    return True


def _judge_bulk(con: duckdb.DuckDBPyConnection, bulk: Bulk) -> _Judged | None:
    """Judge a whole relation of steps; None where it cannot be read in this way."""
    judged = f"with parsed_steps as ({bulk.steps}) {sql.read('ingest/judged_steps')}"
    dropped, truths = 0, 0
    try:
        with _statistics_mistrusted(con):
            con.execute(f"create or replace temp table judged_steps as {judged}", bulk.parameters)
        read, bad = one_row(con, "select count(*), count(reason) from judged_steps")
        doubtful = con.execute(sql.read("ingest/doubtful_names")).fetchall()
        if bulk.dropped_fields:
            dropped, truths = one_row(con, bulk.dropped_fields, bulk.parameters)
    except (duckdb.Error, UnicodeDecodeError):  # the latter: an error about bytes that are no text
        return None
    dropped_fields = int(dropped or 0) + read * bulk.dropped_each
    return _Judged(read, dropped_fields, is_good=not (bad or doubtful or truths))


@contextmanager
def _statistics_mistrusted(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Compare each value, whatever a Parquet file says of its least and greatest: the statistics of
    a column leave its NaNs out, and by them every value would be found possible."""
    con.execute("set disabled_optimizers = 'statistics_propagation'")
    try:
        yield
    finally:
        con.execute("reset disabled_optimizers")


def _number(con: duckdb.DuckDBPyConnection, numbers: list[int]) -> None:
    """Give each judged step its line."""
    con.register("numbers", pa.table({"place": range(len(numbers)), "line": numbers}))
    con.execute(
        "update judged_steps set line = numbers.line from numbers"
        " where judged_steps.rowid = numbers.place"
    )
    con.unregister("numbers")


def _let_wait(con: duckdb.DuckDBPyConnection) -> None:
    """Move the good judged steps into `incoming`; the table itself where it says the same."""
    (is_same,) = one_row(
        con,
        "select not exists (from incoming)"
        " and not exists (from judged_steps where stands_for <> 1)"
        " and not exists (from judged_steps where reason is not null)",
    )
    if is_same:
        con.execute("drop table incoming")
        con.execute("alter table judged_steps drop column reason")
        con.execute("alter table judged_steps drop column stands_for")
        con.execute("alter table judged_steps rename to incoming")
    else:
        con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")


def _take_blocks(con: duckdb.DuckDBPyConnection, path: Path, batch: Batch) -> None:
    """Take a file in which something is wrong: bulk where it is right, by line where it is not."""
    block: list[tuple[int, str]] = []
    for line in lines(path):
        if isinstance(line, Reject):
            batch.read += 1
            batch.reject_text(line)
            continue
        block.append(line)
        if len(block) == BLOCK_LINES:
            _take_block(con, block, batch)
            block = []
    _take_block(con, block, batch)


def _take_block(con: duckdb.DuckDBPyConnection, block: list[tuple[int, str]], batch: Batch) -> None:
    if len(block) <= SMALLEST_BLOCK_LINES:
        take_records(con, Canonical.parse(block), batch)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(text + "\n" for _, text in block)
        file.flush()
        if _take_bulk(con, bulk_json(Path(file.name)), batch, [number for number, _ in block]):
            return
    middle = len(block) // 2
    _take_block(con, block[:middle], batch)
    _take_block(con, block[middle:], batch)


def take_records(
    con: duckdb.DuckDBPyConnection, records: Iterable[Record | Reject], batch: Batch
) -> None:
    """Check records one by one: good ones to where they wait, all else into the batch."""
    events: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for record in records:
        batch.read += 1
        if isinstance(record, Reject):
            batch.reject_text(record)
            continue
        fields = batch.fields(record)
        try:
            if record.stream == "lifecycle":
                checked = check_lifecycle(fields)
                batch.dropped_fields += checked.dropped
                events.append(checked.columns | {"record_key": checked.key, "line": record.line})
            else:
                steps.append(_step_row(record))
                batch.dropped_fields += len(record.fields.keys() - set(STEP_FIELDS))
        except BadRecord as e:
            batch.reject(record.line, str(e), allowed_fields(fields))
        if len(events) >= BATCH_RECORDS:
            _let_events_wait(con, events, batch)
            events = []
        if len(steps) >= BATCH_RECORDS:
            _judge(con, steps, batch)
            steps = []
    _let_events_wait(con, events, batch)
    _judge(con, steps, batch)


_ARROW = {
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "BOOLEAN": pa.bool_(),
}


def _let_events_wait(
    con: duckdb.DuckDBPyConnection, events: list[dict[str, Any]], batch: Batch
) -> None:
    """Move checked lifecycle records into `incoming_events`."""
    if not events:
        return
    if not batch.events:
        con.execute(
            "create temp table incoming_events as select * exclude (event_id, file_id, job_id),"
            " null::varchar as job, null::bigint as line from events limit 0"
        )
    # A record has few of the many columns, and a table of them all would be mostly made of nothing.
    told = set().union(*events)
    described = con.execute("describe incoming_events").fetchall()
    schema = pa.schema([(name, _ARROW[kind]) for name, kind, *_ in described if name in told])
    con.register("event_batch", pa.Table.from_pylist(events, schema=schema))
    con.execute("insert into incoming_events by name from event_batch")
    con.unregister("event_batch")
    batch.events += len(events)


def _step_row(record: Record) -> dict[str, Any]:
    """The record's fields as parsed_steps has them. Raises BadRecord for one of a wrong kind."""
    fields = record.fields
    row = {name: _step_value(name, fields.get(name)) for name in STEP_COLUMNS}
    return row | {"line": record.line, "raw": allowed_fields(fields)}


def _step_value(name: str, value: object) -> object:
    if value is None:
        return None
    if name in STEP_TEXT_FIELDS:
        try:
            return plain_text(value)
        except BadRecord as e:
            raise BadRecord(f"bad field {name}: {e}") from e
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or "_" in str(value):
        raise BadRecord(f"bad field {name}: not a number")
    try:
        return float(value)
    except (ValueError, OverflowError) as e:
        raise BadRecord(f"bad field {name}: not a number") from e


def _judge(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], batch: Batch) -> None:
    if not rows:
        return
    table = pa.Table.from_pylist(rows, schema=_STEP_SCHEMA)
    con.register("parsed_steps", table)
    con.execute(f"create or replace temp table judged_steps as {sql.read('ingest/judged_steps')}")
    con.unregister("parsed_steps")
    bad = con.execute("select line, reason, raw from judged_steps where reason is not null")
    batch.rejects += bad.fetchall()
    con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")
