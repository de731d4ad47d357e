"""Canonical records as rows of CSV, with a header that names the fields in any order."""

import csv
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pipelines.sources import Record, Reject, record_of
from pipelines.sources.text import MAX_LINE_BYTES, Line, lines

MAX_CELL_LINES = 100
"""A quoted cell may hold line ends, but no more: a quote that nobody closes takes no file along."""

csv.field_size_limit(MAX_LINE_BYTES)


@dataclass(frozen=True)
class _Row:
    """The cells of a row, the line in which it begins, and its text."""

    line: int
    text: str
    cells: list[str]


def is_csv_header(line: str) -> bool:
    """Whether a file that begins with this line has the columns of either stream."""
    names = {name.strip().strip('"') for name in line.split(",")}
    return {"event", "ts"} <= names or {"job", "step", "ts"} <= names


def read_csv(path: Path) -> Iterator[Record | Reject]:
    """Yield a record for each row. An empty cell is absent; of equal columns the first counts."""
    header: list[str] = []
    for row in _rows(path):
        if isinstance(row, Reject):
            yield row
        elif not header:
            header = [cell.strip() for cell in row.cells]
        elif len(row.cells) != len(header):
            reason = f"not_csv: {len(row.cells)} cells under {len(header)} columns"
            yield Reject(row.line, reason, row.text)
        else:
            named = reversed(list(zip(header, row.cells, strict=True)))
            yield record_of({name: cell for name, cell in named if cell != ""}, row.line)


def _rows(path: Path) -> Iterator[_Row | Reject]:
    """The rows of a file, and what in it is none: a line that is torn within a quote goes alone."""
    rest = lines(path)
    ahead: deque[Line] = deque()
    columns = 0
    while line := ahead.popleft() if ahead else next(rest, None):
        if isinstance(line, Reject):
            yield line
            continue
        row = _row(*line) or _row_of_lines(line, columns, ahead, rest)
        columns = columns or (len(row.cells) if row else 0)
        yield row or Reject(line[0], "not_csv", line[1])


def _row(number: int, text: str) -> _Row | None:
    try:
        return _Row(number, text, next(csv.reader([text], strict=True, skipinitialspace=True)))
    except csv.Error:
        return None


def _row_of_lines(
    begin: tuple[int, str], columns: int, ahead: deque[Line], rest: Iterator[Line]
) -> _Row | None:
    """The row of so many columns that goes on in the lines after its first, which leave `ahead`."""
    number, text = begin
    last = number
    for taken in range(1, MAX_CELL_LINES):
        if text.count('"') % 2 == 0 or len(text) > MAX_LINE_BYTES:
            return None
        ahead.extend(islice(rest, taken - len(ahead)) if taken > len(ahead) else ())
        if taken > len(ahead) or isinstance(line := ahead[taken - 1], Reject):
            return None
        text += "\n" * (line[0] - last) + line[1]
        last = line[0]
        row = _row(number, text)
        if row is not None and len(row.cells) == columns:
            for _ in range(taken):
                ahead.popleft()
            return row
    return None
