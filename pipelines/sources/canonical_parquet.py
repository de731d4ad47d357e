"""Canonical records as rows of Parquet: one by one, and steps in bulk."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metrics.errors import UnreadableInput
from pipelines.records import STEP_FIELDS
from pipelines.sources import Record, record_of
from pipelines.sources.canonical_bulk import STEP_TYPES, Bulk, unglobbed
from pipelines.sources.text import first_line


def read_parquet(path: Path) -> Iterator[Record]:
    """Yield a record for each row; its line is the row's number. Raises UnreadableInput."""
    try:
        batches = pq.ParquetFile(path).iter_batches()
        rows = chain.from_iterable(_rows(batch) for batch in batches)
        for number, fields in enumerate(rows, start=1):
            yield record_of(fields, number)
    except Exception as e:  # pyarrow raises a dozen kinds for a damaged file
        raise _unreadable(path, e) from e


def _unreadable(path: Path, error: Exception) -> UnreadableInput:
    return UnreadableInput(f"{path}: cannot be read as Parquet ({first_line(str(error))})")


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The fields of each row. Of a column given twice the first counts."""
    columns = dict(reversed(list(zip(batch.schema.names, batch.columns, strict=True))))
    for values in zip(*map(_values, columns.values()), strict=True):
        yield {n: _plain(v) for n, v in zip(columns, values, strict=True) if v is not None}


def _values(column: pa.Array) -> list[Any]:
    """The values of a column; moments as text, since a datetime cannot hold each of them."""
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    unzoned = column.cast(pa.int64()).cast(pa.timestamp(column.type.unit)).cast(pa.string())
    offset = "Z" if column.type.tz else ""
    return [text and text + offset for text in unzoned.to_pylist()]


def _plain(value: Any) -> Any:
    """The value as canonical JSON would hold it, where it could."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return _decoded(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def _decoded(value: bytes) -> str | bytes:
    # Some writers do not mark text as such.
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


def bulk_parquet(path: Path) -> list[Bulk]:
    """How DuckDB reads a file of steps whole, if it can. Raises UnreadableInput."""
    try:
        schema = pq.read_schema(path)
    except Exception as e:
        raise _unreadable(path, e) from e
    kinds = dict(zip(schema.names, schema.types, strict=True))
    if "event" in kinds or not _reads_alike(schema):
        return []
    columns = [_column(name, kind, kinds) for name, kind in STEP_TYPES.items()]
    stamped = "ts" in kinds and pa.types.is_timestamp(kinds["ts"])
    columns.append(f"{'epoch_us(ts)' if stamped else 'null::bigint'} as ts_us")
    extra = [f"count({_quoted(name)})" for name in kinds if name not in STEP_FIELDS]
    counted = f"select {' + '.join(extra)}, 0 from read_parquet($path)" if extra else None
    steps = f"select {', '.join(columns)} from read_parquet($path)"
    return [Bulk({"path": unglobbed(path)}, steps, counted)]


def _reads_alike(schema: pa.Schema) -> bool:
    """Whether DuckDB takes each column for what it is. (A timedelta is a plain integer to it, bytes
    are text, and names do not differ by their case.)"""
    if len({name.lower() for name in schema.names}) < len(schema.names):
        return False
    fields = zip(schema.names, schema.types, strict=True)
    return all(_is_plain(name, kind) for name, kind in fields if name in STEP_TYPES)


def _is_plain(name: str, kind: pa.DataType) -> bool:
    if name == "ts":
        return _is_text(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None)
    is_number = any(is_kind(kind) for is_kind in _NUMBERS)
    return is_number or (STEP_TYPES[name] == "varchar" and _is_text(kind))


_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal128,
    pa.types.is_null,
)


def _is_text(kind: pa.DataType) -> bool:
    held = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(held) or pa.types.is_large_string(held))


def _column(name: str, kind: str, kinds: dict[str, pa.DataType]) -> str:
    known = name in kinds and not (name == "ts" and pa.types.is_timestamp(kinds["ts"]))
    return f"try_cast({name} as {kind}) as {name}" if known else f"null::{kind} as {name}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
