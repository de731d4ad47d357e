"""Canonical lifecycle and step files: JSONL (also gzipped), Parquet and CSV, as they are.

A file of steps can hold a hundred million records, so DuckDB reads those whole (`bulk_steps`);
`read` goes line by line, for everything else and for what the bulk reader could not make sense of.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from metrics.errors import UnreadableInput
from pipelines.records import STEP_COLUMNS, STEP_FIELDS, STEP_TEXT_FIELDS
from pipelines.sources import Record, Reject, Settings
from pipelines.sources.text import MAX_LINE_BYTES, head, lines

_STEP_TYPES = {name: "varchar" if name in STEP_TEXT_FIELDS else "double" for name in STEP_COLUMNS}
_NUMERIC = re.compile(r"DOUBLE|FLOAT|DECIMAL|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?")


@dataclass(frozen=True)
class Bulk:
    """How DuckDB reads a file of steps whole.

    `steps` is a query with the columns of parsed_steps, in the order of the file; it takes
    `parameters`, and raises where the file holds something that is no step. Of the fields outside
    the allow-list each record has `dropped_each`, and `dropped_fields` is a query that counts those
    that only some have, and the records that may hold a truth value (which DuckDB reads as a
    number, and which is none); None where there are neither. Where `is_text`, lines may be read
    apart, and blank ones are passed over.
    """

    parameters: dict[str, str | int]
    steps: str
    dropped_fields: str | None = None
    dropped_each: int = 0
    is_text: bool = False


class Canonical:
    """The source of canonical files."""

    name = "canonical"

    def recognises(self, path: Path, head: str) -> bool:
        """Parquet, JSON objects with an event or a step, or CSV with the columns of either."""
        return (
            head.startswith("PAR1") or _is_csv_header(_first_line(head)) or _looks_canonical(head)
        )

    def read(self, path: Path, settings: Settings) -> Iterator[Record | Reject]:
        """Yield the file's records one by one. Raises UnreadableInput for a broken Parquet file."""
        if _is_parquet(path):
            yield from _read_parquet(path)
        elif _is_csv(path):
            yield from _read_csv(path)
        else:
            for line in lines(path):
                yield line if isinstance(line, Reject) else _json_record(*line)

    @staticmethod
    def parse(numbered: list[tuple[int, str]]) -> Iterator[Record | Reject]:
        """Records of lines of JSON, given with their numbers."""
        return (_json_record(number, text) for number, text in numbered)

    def bulk_steps(self, path: Path) -> list[Bulk]:
        """Ways to read the file in bulk, each to be tried where those before it raise.

        There is none where it is no file of steps, or no format for it.
        """
        if _is_parquet(path):
            return _bulk_parquet(path)
        if _is_csv(path) or not _holds_steps(path):
            return []
        return bulk_json(path)


def _looks_canonical(head: str) -> bool:
    # The last line of a head is usually cut, and the first may be torn: any good one decides.
    for line in head.splitlines()[:50]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and ("event" in record or {"job", "step"} <= record.keys()):
            return True
    return False


def _is_parquet(path: Path) -> bool:
    return head(path).startswith("PAR1")


def _is_csv(path: Path) -> bool:
    return _is_csv_header(_first_line(head(path)))


def _is_csv_header(line: str) -> bool:
    names = {name.strip().strip('"') for name in line.split(",")}
    return {"event", "ts"} <= names or {"job", "step", "ts"} <= names


def _first_line(text: str) -> str:
    return next((line for line in text.splitlines() if line.strip()), "")


def _holds_steps(path: Path) -> bool:
    if ".lifecycle." in path.name:
        return False
    start = head(path)
    return ".steps." in path.name or '"event"' not in _first_line(start)


def _json_record(number: int, text: str) -> Record | Reject:
    try:
        fields = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_first_of_each)
    except (ValueError, RecursionError):
        return Reject(number, "not_json", text)
    if not isinstance(fields, dict):
        return Reject(number, "not_a_json_object", text)
    return Record("lifecycle" if "event" in fields else "steps", fields, number)


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of a key given twice the first counts, as in the bulk reader.
    return dict(reversed(pairs))


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _read_csv(path: Path) -> Iterator[Record | Reject]:
    header: list[str] | None = None
    for line in lines(path):
        if isinstance(line, Reject):
            yield line
            continue
        number, text = line
        try:
            cells = next(csv.reader([text], strict=True))
        except csv.Error:
            yield Reject(number, "not_csv", text)
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
        elif len(cells) != len(header):
            yield Reject(number, f"not_csv: {len(cells)} cells under {len(header)} columns", text)
        else:
            fields = {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
            yield Record("lifecycle" if "event" in header else "steps", fields, number)


def _read_parquet(path: Path) -> Iterator[Record | Reject]:
    try:
        batches = pq.ParquetFile(path).iter_batches()
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        for number, row in enumerate(rows, start=1):
            fields = {k: _plain(v) for k, v in row.items() if v is not None}
            yield Record("lifecycle" if "event" in row else "steps", fields, number)
    except Exception as e:  # pyarrow raises a dozen kinds for a damaged file
        raise UnreadableInput(f"{path}: cannot be read as Parquet ({_first_line(str(e))})") from e


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if hasattr(value, "isoformat") else value


def bulk_json(path: Path) -> list[Bulk]:
    """Ways in which DuckDB reads a file of JSON step records whole. All raise at a bad line."""
    size = f"maximum_object_size = {2 * MAX_LINE_BYTES}"
    options = size + (", compression = 'gzip'" if _is_gzip(path) else "")
    even, any_fields = _even_json(path, options), _any_json(path, options)
    return [even, any_fields] if even else [any_fields]


_MAY_HOLD_TRUTH = "contains(json, 'true') or contains(json, 'false')"


def _even_json(path: Path, options: str) -> Bulk | None:
    """One pass over a file in which every record has the fields of the first; else it raises."""
    first = next(lines(path), None)
    record = first if first is None or isinstance(first, Reject) else _json_record(*first)
    if not isinstance(record, Record):
        return None
    fields = {name: _STEP_TYPES.get(name, "varchar") for name in record.fields}
    columns = [f"found.{n}" if n in fields else f"null::{k} as {n}" for n, k in _STEP_TYPES.items()]
    return Bulk(
        parameters={"path": _unglobbed(path), "fields": json.dumps(fields), "count": len(fields)},
        steps=f"select {', '.join(columns)}, null::bigint as ts_us from ("
        # Strict: it raises where one of these is missing; as many as these: there is no other.
        "select json_transform_strict(json, $fields) as found"
        f" from read_ndjson_objects($path, {options})"
        f" where case when len(json_keys(json)) <> $count or {_MAY_HOLD_TRUTH}"
        " then error('other fields than the first record, or a truth value') else true end)",
        dropped_each=len(fields.keys() - set(STEP_FIELDS)),
        is_text=True,
    )


def _any_json(path: Path, options: str) -> Bulk:
    """A pass for the fields that are known, and one for the names of the others."""
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in _STEP_TYPES.items())
    allowed = ", ".join(f"'{field}'" for field in STEP_FIELDS)
    # Errors are not ignored: an unreadable optional field would silently become absent.
    return Bulk(
        parameters={"path": _unglobbed(path)},
        steps="select *, null::bigint as ts_us from read_json($path,"
        f" format = 'newline_delimited', {options}, columns = {{{columns}}})",
        dropped_fields=f"select sum(len(list_filter(json_keys(json), lambda key: key not in "
        f"({allowed})))), count(*) filter ({_MAY_HOLD_TRUTH})"
        f" from read_ndjson_objects($path, {options})",
        is_text=True,
    )


def _bulk_parquet(path: Path) -> list[Bulk]:
    try:
        with duckdb.connect() as con:
            described = con.execute(
                "describe from read_parquet($path)", {"path": _unglobbed(path)}
            ).fetchall()
    except duckdb.Error as e:
        raise UnreadableInput(f"{path}: cannot be read as Parquet ({_first_line(str(e))})") from e
    kinds = {row[0]: row[1] for row in described}
    numbers = [name for name, kind in _STEP_TYPES.items() if kind == "double" and name in kinds]
    if "event" in kinds or not all(_NUMERIC.match(kinds[name]) for name in numbers):
        return []
    columns = [_parquet_column(name, kind, kinds) for name, kind in _STEP_TYPES.items()]
    extra = [f'count("{name}")' for name in kinds if name not in STEP_FIELDS]
    stamped = kinds.get("ts") == "TIMESTAMP WITH TIME ZONE"
    columns.append(f"{'epoch_us(ts)' if stamped else 'null::bigint'} as ts_us")
    counted = f"select {' + '.join(extra)}, 0 from read_parquet($path)" if extra else None
    steps = f"select {', '.join(columns)} from read_parquet($path)"
    return [Bulk({"path": _unglobbed(path)}, steps, counted)]


def _parquet_column(name: str, kind: str, kinds: dict[str, str]) -> str:
    known = name in kinds and not (name == "ts" and kinds["ts"] == "TIMESTAMP WITH TIME ZONE")
    return f"try_cast({name} as {kind}) as {name}" if known else f"null::{kind} as {name}"


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _unglobbed(path: Path) -> str:
    """The path as DuckDB's readers take it literally, whatever characters are in it."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))
