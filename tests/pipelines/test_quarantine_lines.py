"""Where a record stood that can be read and was set aside: its line, or its row in Parquet."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import harness
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from answers.home import Home
from answers.mart import open_mart
from answers.questions import quality
from pipelines.publish import publish
from pipelines.warehouse import open_warehouse

BASE_US = 1_772_409_600_000_000
"""2026-03-02T00:00:00Z"""
CONFLICT = "conflicts with another record of this step"
FORMATS = {
    "a.steps.jsonl": 3,
    "a.steps.jsonl.gz": 3,
    "a.steps.csv": 4,
    "a.steps.csv.gz": 4,
    "a.steps.parquet": 2,
}
"""Where the second of three records stands, a blank line before it: CSV has its header as well."""


def step(number: int, ends: float, duration: float = 10, job: str = "j", **fields: Any) -> dict:
    """A step record as in a file, its end in seconds after the base."""
    ts = harness.stamp(BASE_US + round(ends * 1e6))
    given = {"job": job, "attempt": 0, "step": number, "ts": ts, "duration_s": duration}
    return given | fields


def interruption(ends: float, job: str = "j") -> dict:
    """A lifecycle record as in a file."""
    ts = harness.stamp(BASE_US + round(ends * 1e6))
    return {"event": "interruption", "ts": ts, "job": job, "attempt": 0, "cause": "hardware"}


def write(path: Path, records: list[dict]) -> Path:
    """The records in the format that the file's name tells; a blank line after the first."""
    if path.suffix == ".parquet":
        pd.DataFrame(records).to_parquet(path, index=False)
        return path
    if ".csv" in path.name:
        lines = pd.DataFrame(records).to_csv(index=False).splitlines()
        lines.insert(2, "")
    else:
        lines = [json.dumps(record) for record in records]
        lines.insert(1, "")
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse with step 1 of job j, and with job old, whose first hour is folded."""
    con = harness.fresh_warehouse()
    con.execute("insert into jobs values (1, 'j'), (2, 'old')")
    con.execute("insert into folds values (2, ?, false)", [BASE_US + 3_600_000_000])
    yield con
    con.close()


def quarantine(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """File, line and reason of what was set aside."""
    return con.execute(
        "select file_id, line, split_part(reason, ':', 1) from quarantine order by all"
    ).fetchall()


def steps(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Job, step and duration of what is stored."""
    return con.execute(
        "select job, step, duration_us from steps join step_groups using (group_id)"
        " join jobs using (job_id) order by all"
    ).fetchall()


@pytest.mark.parametrize(("name", "line"), FORMATS.items())
def test_a_step_that_conflicts_with_a_stored_one_has_its_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, line: int
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(1, 10)]))
    path = write(tmp_path / name, [step(7, 70), step(1, 10, 11), step(8, 80)])
    summary = harness.ingest_one(con, path)
    assert (summary.new, summary.quarantined) == (2, 1)
    assert quarantine(con) == [(2, line, CONFLICT)]
    assert steps(con) == [("j", 1, 10_000_000), ("j", 7, 10_000_000), ("j", 8, 10_000_000)]


@pytest.mark.parametrize(("name", "line"), FORMATS.items())
def test_a_refused_step_has_its_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, line: int
) -> None:
    path = write(tmp_path / name, [step(7, 70), step(1, 10, job="old"), step(8, 80)])
    summary = harness.ingest_one(con, path)
    assert (summary.new, summary.quarantined) == (2, 1)
    assert quarantine(con) == [(1, line, "folded")]
    assert steps(con) == [("j", 7, 10_000_000), ("j", 8, 10_000_000)]


def test_a_refused_step_moves_no_line_of_a_conflict_behind_it(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(1, 10)]))
    records = [step(7, 70), step(1, 10, job="old"), step(1, 10, 11), step(8, 80)]
    harness.ingest_one(con, write(tmp_path / "second.steps.jsonl", records))
    assert quarantine(con) == [(2, 3, "folded"), (2, 4, CONFLICT)]


@pytest.mark.parametrize(("name", "line"), FORMATS.items())
def test_a_refused_lifecycle_record_has_its_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, line: int
) -> None:
    path = write(
        tmp_path / name.replace("steps", "lifecycle"),
        [interruption(70), interruption(10, job="old"), interruption(80)],
    )
    summary = harness.ingest_one(con, path)
    assert (summary.new, summary.quarantined) == (2, 1)
    assert quarantine(con) == [(1, line, "folded")]
    assert "line" not in con.execute("select raw from quarantine").fetchall()[0][0]


@pytest.mark.parametrize(
    "beside",
    [
        pytest.param([step(20, 200, steps=3)], id="a record that stands for three steps"),
        pytest.param([step(20, 200, loss=2.5)], id="a field that no other has"),
        pytest.param([step(20, 200, attempt=True)], id="a record that is none"),
        pytest.param([step(20, 200, 11), step(20, 200, 12)], id="a conflict in the same file"),
    ],
)
def test_the_line_is_the_same_in_whatever_way_a_file_is_read(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, beside: list[dict]
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(1, 10)]))
    path = tmp_path / "second.steps.jsonl"
    harness.ingest_one(con, write(path, [step(7, 70), step(1, 10, 11), *beside]))
    assert (2, 3, CONFLICT) in quarantine(con)


def test_of_a_record_delivered_often_the_first_line_is_told(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(1, 10)]))
    again = [step(7, 70), step(1, 10, 11), step(1, 10, 11)]
    summary = harness.ingest_one(con, write(tmp_path / "second.steps.jsonl", again))
    assert (summary.new, summary.quarantined) == (1, 2)
    assert quarantine(con) == [(2, 3, CONFLICT)]


def test_a_stored_step_that_a_smaller_one_displaces_has_its_file_and_no_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(1, 10)]))
    smaller = [step(1, 10, 9), step(1, 10), step(2, 20)]
    harness.ingest_one(con, write(tmp_path / "second.steps.jsonl", smaller))
    assert quarantine(con) == [(1, None, CONFLICT)]
    assert steps(con) == [("j", 1, 9_000_000), ("j", 2, 10_000_000)]


@pytest.mark.parametrize("junk", [[], ["junk"]], ids=["read whole", "read in blocks"])
def test_a_line_far_down_a_long_file_is_told(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, junk: list[str]
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(230_000, 10)]))
    head = step(0, 0)
    text = json.dumps(head | {"step": "#", "ts": "@"})
    stamps = [harness.stamp(BASE_US + n * 10_000) for n in range(240_000)]
    lines = [text.replace('"#"', str(n)).replace("@", ts) for n, ts in enumerate(stamps, start=1)]
    path = tmp_path / "long.steps.jsonl"
    path.write_text("\n".join(junk + lines) + "\n")
    summary = harness.ingest_one(con, path)
    assert (summary.new, summary.quarantined) == (239_999, 1 + len(junk))
    assert (2, 230_000 + len(junk), CONFLICT) in quarantine(con)


def test_a_row_far_down_a_parquet_file_of_many_groups_is_told(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    harness.ingest_one(con, write(tmp_path / "first.steps.jsonl", [step(230_000, 10)]))
    count = 240_000
    table = pa.table(
        {
            "job": ["j"] * count,
            "attempt": [0] * count,
            "step": range(1, count + 1),
            "ts": pa.array([BASE_US + n * 10_000 for n in range(count)], pa.timestamp("us", "UTC")),
            "duration_s": [0.01] * count,
        }
    )
    path = tmp_path / "long.steps.parquet"
    pq.write_table(table, path, row_group_size=20_000)
    assert harness.ingest_one(con, path).new == count - 1
    assert quarantine(con) == [(2, 230_000, CONFLICT)]


def test_quality_tells_file_and_line_of_one_record_and_one_that_has_a_line(tmp_path: Path) -> None:
    # Of the displaced record in the first file no line is known, of the other in the third one.
    files = [[step(1, 10), step(2, 20)], [step(1, 10, 9)], [step(3, 30), step(2, 20, 11)]]
    home = Home.open(tmp_path / "home")
    with open_warehouse(home.warehouse) as con:
        for number, records in enumerate(files):
            harness.ingest_one(con, write(tmp_path / f"{number}.steps.jsonl", records))
        harness.rederive(con)
        publish(con, home, harness.POLICY, as_of_given=False)
    with open_mart(home) as mart:
        (told,) = quality(mart)["quarantine"]
    assert (told["records"], told["example"]) == (2, CONFLICT)
    assert (told["example_path"], told["example_line"]) == (str(tmp_path / "2.steps.jsonl"), 3)
