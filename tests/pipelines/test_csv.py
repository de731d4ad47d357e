"""Canonical CSV, as people and programs write it."""

import csv
from pathlib import Path

import duckdb
import harness
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.sources import Record, Reject
from pipelines.sources.canonical_csv import MAX_CELL_LINES, read_csv

HEADER = "event,ts,job,reason,detail\n"
AT = "2026-10-01T12:00:0"


def waits(number: int, detail: str) -> str:
    """A row that tells why a job waits, its detail as given."""
    return f"job_pending,{AT}{number}Z,j,quota,{detail}\n"


def details(con: duckdb.DuckDBPyConnection) -> list[str]:
    """What the stored records say, in the order of time."""
    return [text for (text,) in con.execute("select detail from events order by ts_us").fetchall()]


def take(con: duckdb.DuckDBPyConnection, folder: Path, text: str) -> tuple[int, int, int]:
    """Ingest a file: how many records were read, stored and set aside."""
    path = folder / "a.csv"
    path.write_text(text, encoding="utf-8", newline="")
    summary = harness.ingest_one(con, path, "auto")
    return summary.read, summary.new, summary.quarantined


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_quoted_cell_may_hold_line_ends(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, end: str
) -> None:
    text = HEADER + waits(1, '"a\nb, ""c""\n\nd"') + waits(2, "e") + waits(3, '"f\n"')
    assert take(con, tmp_path, text.replace("\n", end)) == (3, 3, 0)
    assert details(con) == ['a\nb, "c"\n\nd', "e", "f\n"]


def test_a_fault_after_a_row_of_many_lines_has_its_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    text = HEADER + waits(1, '"a\nb\nc"') + waits(2, "d,e")
    assert take(con, tmp_path, text) == (2, 1, 1)
    assert con.execute("select line, reason from quarantine").fetchall() == [
        (5, "not_csv: 6 cells under 5 columns")
    ]


@pytest.mark.parametrize(
    "torn",
    [waits(1, '"a'), waits(1, 'a"b'), '"' + waits(1, "a"), waits(1, '"a"b'), '"\n'],
    ids=["in the last cell", "within a cell", "in the first cell", "after a quote", "a quote"],
)
def test_a_row_that_is_torn_in_a_quote_takes_no_other_with_it(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, torn: str
) -> None:
    rest = [waits(2, "b"), waits(3, '"c, d"'), waits(4, '"e\nf"'), waits(5, "g")]
    kept = ['a"b'] if torn == waits(1, 'a"b') else []
    text = HEADER + torn + "".join(rest)
    assert take(con, tmp_path, text) == (5, 4 + len(kept), 1 - len(kept))
    assert details(con) == [*kept, "b", "c, d", "e\nf", "g"]


def test_a_quote_that_nobody_closes_takes_not_the_file_with_it(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    many = "".join(f"job_ended,{AT}9Z,{n},quota,\n" for n in range(2 * MAX_CELL_LINES))
    read, new, quarantined = take(con, tmp_path, HEADER + waits(1, '"a') + many)
    # The rows after it lack their outcome, and each says so.
    assert (read, new, quarantined) == (1 + 2 * MAX_CELL_LINES, 0, 1 + 2 * MAX_CELL_LINES)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("job,attempt,step,ts,duration_s", f"j,0,1,{AT}1Z,1"),
        ("duration_s,ts,step,job,attempt", f"1,{AT}1Z,1,j,0"),
        ('"job","attempt","step","ts","duration_s"', f'"j","0","1","{AT}1Z","1"'),
        ("job, attempt, step, ts, duration_s", f"j, 0, 1, {AT}1Z, 1"),
        ('"job", "attempt", "step", "ts", "duration_s"', f'"j", "0", "1", "{AT}1Z", "1"'),
        (",job,attempt,step,ts,duration_s", f"0,j,0,1,{AT}1Z,1"),
        ("job,attempt,step,ts,duration_s,", f"j,0,1,{AT}1Z,1,"),
        ("job,job,attempt,step,ts,duration_s", f"j,k,0,1,{AT}1Z,1"),
        ("job,attempt,step,ts,duration_s,note", f"j,0,1,{AT}1Z,1,{'x' * 500_000}"),
        ("job,attempt,step,ts,duration_s,steps", f"j,0.0,1.0,{AT}1Z,1,"),
        ("job,attempt,step,ts,duration_s,event", f"j,0,1,{AT}1Z,1,"),
    ],
    ids=[
        *("plain", "in another order", "quoted", "spaced", "quoted and spaced", "an index"),
        *("an empty column", "a column twice", "a long cell", "whole floats", "an empty event"),
    ],
)
@pytest.mark.parametrize("begin", ["", "\ufeff", "\ufeff\r\n"], ids=["", "mark", "mark and blank"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_the_same_step_may_be_written_in_any_way(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, header: str, row: str, begin: str, end: str
) -> None:
    assert take(con, tmp_path, begin + header + end + row + end) == (1, 1, 0)
    stored = con.execute(
        "select job, attempt, step, ts_us, duration_us from steps"
        " join step_groups using (group_id) join jobs using (job_id)"
    ).fetchall()
    assert stored == [("j", 0, 1, 1_790_856_001_000_000, 1_000_000)]


CELLS = st.text('ab",\n;é', max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=8))
def test_what_a_writer_of_csv_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([["job", "detail"], *rows])
    found = list(read_csv(path))
    assert [item for item in found if isinstance(item, Reject)] == []
    assert [item.fields for item in found if isinstance(item, Record)] == [
        {name: cell for name, cell in zip(("job", "detail"), row, strict=True) if cell}
        for row in rows
    ]
