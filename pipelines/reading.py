"""One file into records that wait to be stored: what its source yields, checked.

Lifecycle records are few and are checked one by one. Step records can be a hundred million, so a
canonical file of them is read whole by DuckDB (`take bulk`) where every record in it is good. Where
something is wrong the file is read in blocks, halved down to the lines at fault, so that one torn
line costs no more than its neighbours. Either way `sql/ingest/judged_steps.sql` judges.

What was read of steps waits in the temporary table `incoming`.
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
from pipelines.sources.canonical import Bulk, Canonical, bulk_json
from pipelines.sources.text import lines
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
    """What was read of a file besides its good steps: events, rejects, and counts.

    `rejects` are (line, reason, raw text); `events` are columns of the events table. With a `salt`
    user names are hashed before anything else is done with a record.
    """

    salt: Salt | None = None

    read: int = 0
    dropped_fields: int = 0
    events: list[dict[str, Any]] = field(default_factory=list)
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
def incoming_steps(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """The temporary table `incoming`, empty, for as long as a file is at work."""
    con.execute(
        "create or replace temp table incoming (job varchar, attempt integer, step bigint, "
        "ts_us bigint, duration_us bigint, data_wait_us bigint, straggler_us bigint, "
        "checkpoint_us bigint, overhead_us bigint, straggler_node varchar)"
    )
    try:
        yield
    finally:
        con.execute("drop table if exists incoming")


def read(con: duckdb.DuckDBPyConnection, path: Path, source: Source, settings: Settings) -> Batch:
    """Read a file: good steps into `incoming`, all else into the batch.

    Raises UnreadableInput where the file as a whole makes no sense.
    """
    batch = Batch(salt=settings.salt)
    if isinstance(source, Canonical):
        bulk = source.bulk_steps(path)
        if bulk is not None:
            if _take_bulk(con, bulk, batch):
                return batch
            if bulk.lines_may_be_read_apart:
                _take_blocks(con, path, batch)
                return batch
    take_records(con, source.read(path, settings), batch)
    return batch


def _take_bulk(con: duckdb.DuckDBPyConnection, bulk: Bulk, batch: Batch) -> bool:
    """Take a whole relation of steps if each is good; else take nothing and say so."""
    path = {"path": bulk.path}
    judged = f"with parsed_steps as ({bulk.steps}) {sql.read('ingest/judged_steps')}"
    try:
        con.execute(f"create or replace temp table judged_steps as {judged}", path)
        read, bad = one_row(con, "select count(*), count(reason) from judged_steps")
        doubtful = con.execute(sql.read("ingest/doubtful_names")).fetchall()
        dropped, truths = one_row(con, bulk.dropped_fields, path) if bulk.dropped_fields else (0, 0)
    except (duckdb.Error, UnicodeDecodeError):  # the latter: an error about bytes that are no text
        return False
    if bad or doubtful or truths:
        return False
    con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")
    batch.read += read
    batch.dropped_fields += int(dropped or 0)
    return True


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
        if _take_bulk(con, bulk_json(Path(file.name)), batch):
            return
    middle = len(block) // 2
    _take_block(con, block[:middle], batch)
    _take_block(con, block[middle:], batch)


def take_records(
    con: duckdb.DuckDBPyConnection, records: Iterable[Record | Reject], batch: Batch
) -> None:
    """Check records one by one: good steps into `incoming`, all else into the batch."""
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
                batch.events.append(checked.columns | {"record_key": checked.key})
            else:
                steps.append(_step_row(record))
                batch.dropped_fields += len(record.fields.keys() - set(STEP_FIELDS))
        except BadRecord as e:
            batch.reject(record.line, str(e), allowed_fields(fields))
        if len(steps) >= BATCH_RECORDS:
            _judge(con, steps, batch)
            steps = []
    if steps:
        _judge(con, steps, batch)


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
    table = pa.Table.from_pylist(rows, schema=_STEP_SCHEMA)
    con.register("parsed_steps", table)
    con.execute(f"create or replace temp table judged_steps as {sql.read('ingest/judged_steps')}")
    con.unregister("parsed_steps")
    bad = con.execute("select line, reason, raw from judged_steps where reason is not null")
    batch.rejects += bad.fetchall()
    con.execute(f"insert into incoming by name {sql.read('ingest/expanded_steps')}")
