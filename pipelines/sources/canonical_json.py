"""Canonical records as lines of JSON: one by one, and steps in bulk.

What a line is must not depend on the lines around it. So what DuckDB's reader lets pass in bulk
passes one by one too: a comma too many, numbers that are none in any spelling, endless integers. (A
byte order mark passes as well, which stays where files were joined.)
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from pipelines.records import STEP_FIELDS
from pipelines.sources import Record, Reject, record_of
from pipelines.sources.canonical_bulk import STEP_TYPES, Bulk, unglobbed
from pipelines.sources.text import MAX_LINE_BYTES, is_gzip, lines

_LOOSE = re.compile(
    r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])|-?\b(?:nan|inf(?:inity)?)\b', flags=re.IGNORECASE
)
"""A string, which stays as it is; or a comma too many; or a number that is none."""

_MAY_HOLD_TRUTH = "contains(json, 'true') or contains(json, 'false')"


def json_record(number: int, text: str) -> Record | Reject:
    """The record in a line."""
    try:
        fields = value_of(text)
    except (ValueError, RecursionError):
        return Reject(number, "not_json", text)
    if not isinstance(fields, dict):
        return Reject(number, "not_a_json_object", text)
    return record_of(fields, number)


def value_of(text: str) -> Any:
    """What a line of JSON says. Raises ValueError, or RecursionError where it is too deep."""
    try:
        return _STRICT.decode(text)
    except ValueError:
        strict = _LOOSE.sub(_as_strict, text.strip().removeprefix("\ufeff"))
        return json.loads(strict, object_pairs_hook=_first_of_each, parse_int=_integer)


def _as_strict(found: re.Match[str]) -> str:
    return found[1] or ("" if found[0] == "," else "NaN")


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of a key given twice the first counts, as in the bulk reader.
    return dict(reversed(pairs))


_STRICT = json.JSONDecoder(object_pairs_hook=_first_of_each)


def _integer(digits: str) -> int | float:
    try:
        return int(digits)
    except ValueError:  # thousands of digits: beyond anything that is counted here
        return math.inf


def bulk_json(path: Path) -> list[Bulk]:
    """Ways in which DuckDB reads a file of JSON step records whole. All raise at a bad line."""
    size = f"maximum_object_size = {2 * MAX_LINE_BYTES}"
    options = size + (", compression = 'gzip'" if is_gzip(path) else "")
    even, any_fields = _even_json(path, options), _any_json(path, options)
    return [even, any_fields] if even else [any_fields]


def _even_json(path: Path, options: str) -> Bulk | None:
    """One pass over a file in which every record has the fields of the first; else it raises."""
    first = next(lines(path), None)
    record = first if first is None or isinstance(first, Reject) else json_record(*first)
    if not isinstance(record, Record) or "event" in record.fields:
        return None
    fields = {name: STEP_TYPES.get(name, "varchar") for name in record.fields}
    columns = [f"found.{n}" if n in fields else f"null::{k} as {n}" for n, k in STEP_TYPES.items()]
    return Bulk(
        parameters={"path": unglobbed(path), "fields": json.dumps(fields), "count": len(fields)},
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
    columns = ", ".join(f"{name}: '{kind}'" for name, kind in STEP_TYPES.items())
    allowed = ", ".join(f"'{field}'" for field in STEP_FIELDS)
    # Errors are not ignored: an unreadable optional field would silently become absent.
    return Bulk(
        parameters={"path": unglobbed(path)},
        steps="select *, null::bigint as ts_us from read_json($path,"
        f" format = 'newline_delimited', {options}, columns = {{{columns}}})",
        dropped_fields="select sum(len(list_distinct(list_filter(json_keys(json), lambda key:"
        f" key not in ({allowed}))))), count(*) filter ({_MAY_HOLD_TRUTH}"
        f" or list_contains(json_keys(json), 'event')) from read_ndjson_objects($path, {options})",
        is_text=True,
    )
