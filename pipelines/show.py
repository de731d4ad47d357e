"""Answers on a terminal: tables and durations for people, JSON, CSV and Parquet for programs.

stdout is for results, stderr for diagnostics and progress.
"""

import csv
import enum
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
from rich import progress as rich_progress
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from metrics.conventions import HOUR_US, US_PER_MS, US_PER_S
from metrics.errors import UsageError

_WIDE = 140
"""Columns of a table that goes to a file or a pipe, unless COLUMNS says otherwise."""


class Format(enum.StrEnum):
    """How an answer is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


_JOINT = "\ue000"
"""Stands for a space at which no line may end: rich takes every space, NBSP too, for a place to end
it at. It is of private use, one cell wide, and never printed."""
_UNITS = r"%|µs|ms|s|min|m|h|d|[KMGTPE]?B|GPU-h|GPU-hours?|points"
_JOINED = re.compile(rf"(?<=\d) (?=(?:{_UNITS})(?!\w))|(?<=[<>]) (?=\d)")


def _joined(text: str) -> str:
    """The text with its numbers joined to their units and to the signs before them."""
    return _JOINED.sub(_JOINT, text)


_COMMANDS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal obeys, but for the end of a line."""


def visible(text: str) -> str:
    r"""The text with what a terminal would obey written out: \x1b[2J for what clears it."""
    return _COMMANDS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class _Console(Console):
    """A terminal on which no line ends between a number and its unit, or its sign.

    Text is printed as it is: a job may be called `[/b]` or `:smile:`, or hold what would command
    the terminal.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(_joined(visible(text)), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text.replace(_JOINT, " "), style, control)


def console(stderr: bool = False) -> Console:
    """A terminal to print to; wide enough where the output is no terminal."""
    width = _width(sys.stderr if stderr else sys.stdout)
    return _Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def _width(stream: TextIO) -> int:
    """Columns as COLUMNS says, else as the terminal does; where one says 0, it knows none."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _WIDE
    except OSError:
        return _WIDE


def progress_bar() -> rich_progress.Progress:
    """A bar on stderr that goes when it is done; nothing where stderr is no terminal."""
    out = console(stderr=True)
    return rich_progress.Progress(
        rich_progress.TextColumn("{task.description}", markup=False),
        rich_progress.BarColumn(),
        rich_progress.TextColumn("{task.fields[detail]}", markup=False),
        rich_progress.TimeElapsedColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )


class Barred:
    """Something that has a bar while it is entered, at first with these words beside it."""

    def __init__(self, description: str) -> None:
        super().__init__()
        self._bar = progress_bar()
        self._task = self._bar.add_task(description, total=None, detail="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        tb: TracebackType | None,
    ) -> None:
        self._bar.stop()


def duration(us: int | None) -> str:
    """A duration as people say it: 250 ms, 8.4 s, 5 m 10 s, 2 h 05 m, 3 d 04 h; – if unknown.

    What rounds up to the next unit is said in it; longer durations are cut to their smaller unit.
    """
    if us is None:
        return "–"
    if us < 0:
        return "-" + duration(-us)
    if us < US_PER_MS:
        return f"{us} µs" if us else "0 s"
    if us < US_PER_S - US_PER_MS // 2:
        return f"{us / US_PER_MS:.0f} ms"
    if us < 60 * US_PER_S - US_PER_S // 20:
        return f"{us / US_PER_S:.1f} s"
    seconds = max(us // US_PER_S, 60)
    if us < HOUR_US:
        return f"{seconds // 60} m {seconds % 60:02d} s"
    if us < 48 * HOUR_US:
        return f"{seconds // 3600} h {seconds // 60 % 60:02d} m"
    return f"{seconds // 86400} d {seconds // 3600 % 24:02d} h"


def moment(us: int | None) -> str:
    """A moment in UTC, to the second; – if unknown."""
    if us is None:
        return "–"
    return datetime.fromtimestamp(us / US_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S")


def percent(ratio: float | None) -> str:
    """A share in percent with one decimal; never 0.0 or 100.0 where it is not quite."""
    if ratio is None:
        return "unknown"
    if 0 < ratio < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= ratio < 1:
        return "> 99.9 %"
    return f"{ratio * 100:.1f} %"


def bar(ratio: float, width: int = 24) -> str:
    """A bar of `ratio` of `width` characters, in eighths."""
    eighths = round(min(max(ratio, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def reached(us: int | None, longest_us: int | None) -> str:
    """A quantile; one that was never reached is more than the longest age, if there is any."""
    if us is None and longest_us is not None:
        return f"> {duration(longest_us)}"
    return duration(us)


def text(value: object) -> str:
    """A table cell; – for what is not known."""
    return "–" if value is None else str(value)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table. Columns whose heading begins with > stand to the right, those with ~ may wrap.

    Where the terminal is too narrow for that every column may: a cut number would be a wrong one.
    Numbers then stay whole as long as there is room for that, then words; where there is none, what
    was a row stands as a column, as many beside one another as there is room for. Without rows only
    the title is printed, which says so.
    """
    out = console()
    if not rows:
        out.print(title if ": " in title else f"{title}: nothing", style="bold")
        return
    out.print(title, style="bold")
    rows = [[visible(cell).replace("\n", "\\n") for cell in row] for row in rows]
    lines = [[column.lstrip(">~") for column in columns], *rows]
    needed = [
        min(max(map(cell_len, _joined(" ".join(cells)).split()), default=0), LONG_WORD)
        if column.startswith("~")
        else max(map(cell_len, cells))
        for column, cells in zip(columns, zip(*lines, strict=True), strict=True)
    ]
    if sum(needed) + _GAP * len(needed) <= out.width:
        out.print(_table(columns, rows, may_wrap=False))
        return
    numbers = [column.startswith(">") for column in columns]
    widths = _widths(lines, out.width, numbers)
    if widths is None and len(columns) < MOST_WRAPPED:
        widths = _widths(lines, out.width, [False] * len(numbers))
    if widths:
        out.print(_table(columns, rows, may_wrap=True, widths=widths))
    else:
        _print_turned(out, lines)


LONG_WORD = 24
"""Words of a sentence up to this length are kept whole; paths may be broken."""
MOST_WRAPPED = 8
"""A table of fewer columns is read more easily with numbers on two lines than turned."""


def _print_turned(out: Console, lines: Sequence[Sequence[str]]) -> None:
    """Print headings as a column, and rows as further columns, in parts that fit side by side."""
    heads, *rows = lines
    left = max(map(cell_len, heads)) + _GAP
    wide = max(cell_len(cell) for row in rows for cell in row) + _GAP
    beside = max(1, (out.width - left) // wide)
    for first in range(0, len(rows), beside):
        shown = rows[first : first + beside]
        columns = ("", *(f">{row[0]}" if len(shown) > 1 else row[0] for row in shown))
        cells = [list(line) for line in zip(heads, *shown, strict=True)][1:]
        table = _table(columns, cells, may_wrap=True)
        table.columns[0].no_wrap = True
        out.print(table)


_GAP = 2
"""Spaces between two columns."""


def _widths(
    lines: Sequence[Sequence[str]], width: int, is_whole: Sequence[bool]
) -> list[int] | None:
    """Widths of columns in which no word is broken, and no cell of those that stay whole.

    None where the terminal is too narrow for that. What is left goes to the columns that lack most.
    """
    head, *rows = lines
    least, lacking = [], []
    for place, keeps in enumerate(is_whole):
        cells = [row[place] for row in rows]
        words = [word for cell in (head[place], *cells) for word in _joined(cell).split()]
        least.append(max(map(cell_len, [*words, *(cells if keeps else [])]), default=0))
        lacking.append(max(map(cell_len, [head[place], *cells])) - least[-1])
    left = width - sum(least) - _GAP * len(least)
    if left < 0:
        return None
    for _ in range(min(left, sum(lacking))):
        place = lacking.index(max(lacking))
        least[place] += 1
        lacking[place] -= 1
    return least


def _table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    may_wrap: bool,
    widths: Sequence[int] | None = None,
) -> Table:
    made = Table(header_style="dim", box=None)
    for place, column in enumerate(columns):
        made.add_column(
            column.lstrip(">~"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=not (may_wrap or column.startswith("~")),
            overflow="fold",
            width=widths[place] if widths else None,
        )
    for row in rows:
        made.add_row(*row)
    return made


def print_json(answer: object) -> None:
    """Print an answer as JSON; integers of any size stay integers."""
    json.dump(answer, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")


def print_data(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], how: Format, whole: object = None
) -> None:
    """Print rows as data: flat as CSV or Parquet; as JSON, all of the answer that they are from."""
    if how is Format.JSON:
        print_json(rows if whole is None else whole)
    else:
        print_rows(rows, columns, how)


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], how: Format) -> None:
    """Print rows as CSV or Parquet. Raises UsageError for Parquet on a terminal."""
    flat = [{name: row.get(name) for name in columns} for row in map(flatten, rows)]
    if how is Format.CSV:
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        return
    if sys.stdout.isatty():
        raise UsageError("--format parquet is binary: redirect it to a file")
    pq.write_table(_arrow(flat, columns), pa.PythonFile(sys.stdout.buffer, mode="w"))


def _arrow(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
    arrays = []
    for name in columns:
        values = [row[name] for row in rows]
        whole = any(isinstance(value, int) and not isinstance(value, bool) for value in values)
        large = any(abs(value) >= 2**63 for value in values if isinstance(value, int))
        kind = (pa.decimal128(38, 0) if large else pa.int64()) if whole else None
        arrays.append(pa.array(values, kind) if kind else pa.array(values))
    return pa.table(arrays, names=list(columns))


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row whose nested `components` stand beside the other fields, as `<name>_us`."""
    flat = {name: value for name, value in row.items() if name != "components"}
    return flat | {f"{name}_us": us for name, us in row.get("components", {}).items()}
