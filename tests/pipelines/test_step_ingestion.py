"""Section 1, the step stream: every format, every kind of damage, and each step exactly once."""

import gzip
import json
from itertools import permutations
from pathlib import Path
from typing import Any

import duckdb
import harness
import pandas as pd
import pyarrow as pa
import pytest
from harness import ingest_one as take
from harness import quarantine
from harness import write_lines as write
from hypothesis import given, settings
from hypothesis import strategies as st

import sql
from metrics.errors import UnreadableInput
from pipelines.records import BadRecord, time_us

BASE_US = 1_772_409_600_000_000
"""2026-03-02T00:00:00Z"""


def stamp(seconds: float) -> str:
    """The moment so many seconds after the base."""
    return harness.stamp(BASE_US + round(seconds * 1e6))


def record(number: int = 1, ends: float = 10, duration: float = 10, **fields: Any) -> dict:
    """A step record; fields as in the file."""
    given = {"job": "j", "attempt": 0, "step": number, "ts": stamp(ends), "duration_s": duration}
    return given | fields


COLUMNS = "ts_us, duration_us, data_wait_us, straggler_us, checkpoint_us, overhead_us"


def stored(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, int, int], tuple[Any, ...]]:
    """Each stored step by its key: µs after the base, duration, components, straggler node."""
    rows = con.execute(
        f"select job, attempt, step, {COLUMNS}, straggler_node from steps"
        " join step_groups using (group_id) join jobs using (job_id)"
    ).fetchall()
    found = {(job, a, s): (ts_us - BASE_US, *rest) for job, a, s, ts_us, *rest in rows}
    assert len(found) == len(rows)
    return found


@pytest.mark.parametrize("name", ["[exp] llama", "{a}", "[1, 2]", '["j"]', "["])
@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_a_name_that_looks_like_a_list_is_a_name(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, suffix: str
) -> None:
    records = [record(n, ends=10 * n, job=name, straggler_node=name) for n in (1, 2)]
    path = tmp_path / f"a.steps.{suffix}"
    if suffix == "jsonl":
        write(path, *records, record(3, job=[name]), record(3, straggler_node={name: 1}))
    elif suffix == "csv":
        pd.DataFrame(records).to_csv(path, index=False)
    else:
        pd.DataFrame(records).to_parquet(path)
    take(con, path)
    assert {(*key, row[-1]) for key, row in stored(con).items()} == {
        (name, 0, 1, name),
        (name, 0, 2, name),
    }
    reasons = [reason.partition(":")[0] for _, reason, _ in quarantine(con)]
    assert reasons == (["bad field job", "bad field straggler_node"] if suffix == "jsonl" else [])


# --- formats ---


SAME = [
    record(1, 10, 10, attempt=0),
    record(2, 20.25, 10.25, data_wait_s=1.5, straggler_s=0.25, straggler_node="n1"),
    record(3, 30.000001, 9.750001, checkpoint_s=2, overhead_s=0.5),
    record(1, 3700, 5, attempt=1, job="k, the other"),
]


def frame(records: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(records)


def test_every_format_gives_the_same_steps(tmp_path: Path) -> None:
    text = "".join(json.dumps(r) + "\n" for r in SAME)
    table = frame(SAME)
    stamped = table.assign(ts=pd.to_datetime(table["ts"], utc=True, format="ISO8601"))
    (tmp_path / "a.steps.jsonl").write_text(text)
    (tmp_path / "b.steps.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.jsonl").write_text(text)
    (tmp_path / "d.steps.jsonl").write_text("junk\n" + text)  # read line by line
    table.to_csv(tmp_path / "e.steps.csv", index=False)
    table.to_csv(tmp_path / "f.steps.csv.gz", index=False)
    table.to_parquet(tmp_path / "g.steps.parquet", index=False)
    stamped.to_parquet(tmp_path / "h.steps.parquet", index=False)
    stamped.assign(ts=stamped["ts"].dt.tz_convert("Asia/Tokyo")).to_parquet(
        tmp_path / "i.steps.parquet", index=False
    )
    for path in sorted(tmp_path.iterdir()):
        con = harness.fresh_warehouse()
        summary = take(con, path)
        assert (summary.new, summary.dropped_fields) == (4, 0), path
        assert stored(con) == {
            ("j", 0, 1): (10_000_000, 10_000_000, 0, 0, 0, 0, None),
            ("j", 0, 2): (20_250_000, 10_250_000, 1_500_000, 250_000, 0, 0, "n1"),
            ("j", 0, 3): (30_000_001, 9_750_001, 0, 0, 2_000_000, 500_000, None),
            ("k, the other", 1, 1): (3_700_000_000, 5_000_000, 0, 0, 0, 0, None),
        }, path


@pytest.mark.parametrize(
    ("ts", "us"),
    [
        ("2026-03-02T00:00:10Z", 10_000_000),
        ("2026-03-02T01:00:10+01:00", 10_000_000),
        ("2026-03-01T15:30:10-08:30", 10_000_000),
        ("2026-03-02t00:00:10z", 10_000_000),
        ("2026-03-02T00:00:10.1234567Z", 10_123_456),
    ],
)
def test_offsets_are_followed(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, ts: str, us: int
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(ts=ts)))
    assert stored(con)["j", 0, 1][0] == us


@pytest.mark.parametrize(
    ("seconds", "us"), [(0.1234564, 123_456), (0.1234566, 123_457), (0, 0), ("2.5", 2_500_000)]
)
def test_durations_are_taken_to_the_nearest_microsecond(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, seconds: object, us: int
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(duration_s=seconds, data_wait_s=seconds)))
    assert stored(con)["j", 0, 1][1:3] == (us, us)


def test_absent_and_null_components_are_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(data_wait_s=None, straggler_node=None)))
    assert stored(con)["j", 0, 1] == (10_000_000, 10_000_000, 0, 0, 0, 0, None)


def test_fields_outside_the_allow_list_are_dropped_and_counted(tmp_path: Path) -> None:
    records = [record(1), record(2, 20, prompt="secret", loss=2.5), record(3, 30, prompt="secret")]
    write(tmp_path / "a.steps.jsonl", *records)
    write(tmp_path / "b.steps.jsonl", *records, "junk\n")
    frame(records).to_csv(tmp_path / "c.steps.csv", index=False)
    frame(records).to_parquet(tmp_path / "d.steps.parquet", index=False)
    for path in sorted(tmp_path.iterdir()):
        con = harness.fresh_warehouse()
        summary = take(con, path)
        assert (summary.new, summary.dropped_fields) == (3, 3), path
        assert "secret" not in str(con.execute("from steps").fetchall())


@pytest.mark.parametrize(
    ("extras", "dropped"),
    [
        ([{"loss": 2.5}] * 3, 3),
        ([{"loss": None, "note": {"a": [1, 2]}}] * 3, 6),
        ([{"loss": 1}, {"note": 1}, {"data_wait_s": 1}], 2),
        ([{"data_wait_s": 1}, {"loss": 1}, {}], 1),
        ([{}, {}, {"loss": 1, "overhead_s": 1}], 1),
        ([{"cluster": "c", "loss": "a:b"}] * 3, 3),
    ],
    ids=["the same", "null and nested", "one each", "for a known one", "only the last", "cluster"],
)
def test_every_dropped_field_counts_however_alike_the_records_are(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, extras: list[dict], dropped: int
) -> None:
    lines = [record(n, 10 * n) | extra for n, extra in enumerate(extras, start=1)]
    summary = take(con, write(tmp_path / "a.steps.jsonl", *lines))
    assert (summary.read, summary.new, summary.dropped_fields) == (3, 3, dropped)


# --- records that cannot be ---


IMPOSSIBLE = [
    pytest.param({"ts": "2026-03-02T00:00:10"}, "ts", id="a stamp without an offset"),
    pytest.param({"ts": "2026-02-30T00:00:10Z"}, "ts", id="a day that was none"),
    pytest.param({"ts": "2026-03-02T24:00:00Z"}, "ts", id="an hour that is none"),
    pytest.param({"ts": "2026-03-02T00:00:10+99:99"}, "ts", id="an offset that is none"),
    pytest.param({"ts": "1970-01-01T00:00:10Z"}, "ts", id="1970"),
    pytest.param({"ts": "9999-01-01T00:00:10Z"}, "ts", id="9999"),
    pytest.param({"ts": 1_772_409_610}, "ts", id="a number for a stamp"),
    pytest.param({"ts": None}, "ts", id="no stamp"),
    pytest.param({"duration_s": -1}, "duration_s", id="a negative duration"),
    pytest.param({"duration_s": 1e30}, "duration_s", id="a duration of 1e30 s"),
    pytest.param({"duration_s": 3e9}, "duration_s", id="a beginning before the year 2000"),
    pytest.param({"duration_s": "long"}, "duration_s", id="text for a duration"),
    pytest.param({"duration_s": [10]}, "duration_s", id="a list for a duration"),
    pytest.param({"duration_s": None}, "duration_s", id="no duration"),
    pytest.param({"data_wait_s": -0.5}, "data_wait_s", id="negative loader"),
    pytest.param({"straggler_s": 1e30}, "straggler_s", id="endless straggler"),
    pytest.param({"checkpoint_s": "x"}, "checkpoint_s", id="text for a component"),
    pytest.param({"overhead_s": {"a": 1}}, "overhead_s", id="an object for a component"),
    pytest.param({"attempt": -1}, "attempt", id="attempt -1"),
    pytest.param({"attempt": 1.5}, "attempt", id="attempt 1.5"),
    pytest.param({"attempt": 2**31}, "attempt", id="an attempt past 32 bits"),
    pytest.param({"attempt": None}, "attempt", id="no attempt"),
    pytest.param({"step": -1}, "step", id="step -1"),
    pytest.param({"step": 0.5}, "step", id="step 0.5"),
    pytest.param({"step": 2**60}, "step", id="a step past 53 bits"),
    pytest.param({"step": None}, "step", id="no step"),
    pytest.param({"job": None}, "job", id="no job"),
    pytest.param({"job": ""}, "job", id="an empty job"),
    pytest.param({"job": {"name": "secret"}}, "job", id="an object for a job"),
    pytest.param({"job": ["j"]}, "job", id="a list for a job"),
    pytest.param({"straggler_node": ["n1"]}, "straggler_node", id="a list for a node"),
    pytest.param({"straggler_node": {"a": "secret"}}, "straggler_node", id="an object for a node"),
    pytest.param({"straggler_node": "a\0b"}, "straggler_node", id="a node that is no text"),
    pytest.param({"steps": 0}, "steps", id="a record of no step"),
    pytest.param({"steps": 1.5}, "steps", id="a record of 1.5 steps"),
    pytest.param({"steps": -3}, "steps", id="a record of -3 steps"),
    pytest.param({"steps": 3}, "steps", id="more steps than there are up to step 1"),
    pytest.param({"steps": 10**9, "step": 10**10}, "steps", id="a billion steps"),
]


@pytest.mark.parametrize("company", ["alone", "beside a line that is no record"])
@pytest.mark.parametrize(("fields", "field"), IMPOSSIBLE)
def test_a_record_that_cannot_be_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, fields: dict, field: str, company: str
) -> None:
    # What a record means must not depend on the lines around it.
    junk = ["junk\n"] if company != "alone" else []
    path = write(
        tmp_path / "a.steps.jsonl", record(7), record(1, 20) | fields, record(8, 30), *junk
    )
    summary = take(con, path)
    assert sorted(stored(con)) == [("j", 0, 7), ("j", 0, 8)]
    assert (summary.read, summary.new, summary.quarantined) == (
        3 + len(junk),
        2,
        1 + len(junk),
    )
    line, reason, raw = quarantine(con)[0]
    assert line == 2
    assert field in reason
    assert "secret" not in raw


@pytest.mark.parametrize(
    "fields",
    [{"job": 1.5}, {"job": True}, {"job": 7}, {"attempt": True}, {"duration_s": "2.5"}],
    ids=str,
)
def test_what_a_record_is_does_not_depend_on_the_lines_around_it(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, fields: dict
) -> None:
    alone = harness.fresh_warehouse()
    take(alone, write(tmp_path / "a.steps.jsonl", record(1) | fields))
    take(con, write(tmp_path / "b.steps.jsonl", record(1) | fields, "junk\n"))
    assert stored(con) == stored(alone)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999"])
@pytest.mark.parametrize("field", ["duration_s", "data_wait_s", "attempt", "steps"])
def test_a_number_that_is_none_is_set_aside(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, field: str, word: str
) -> None:
    bad = json.dumps(record(2, 20) | {field: "?"}).replace('"?"', word) + "\n"
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), bad, record(3, 30)))
    assert (summary.new, summary.quarantined) == (2, 1)
    assert [line for line, _, _ in quarantine(con)] == [2]


def test_cells_that_are_no_numbers_are_set_aside_in_csv(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    header = "job,attempt,step,ts,duration_s\n"
    lines = [f"j,0,{n},{stamp(10 * n)},{d}\n" for n, d in enumerate(["10", "nan", "-1", "", "x"])]
    summary = take(con, write(tmp_path / "a.steps.csv", header, *lines, "j,0\n", '"j,0,9\n'))
    assert (summary.read, summary.new, summary.quarantined) == (7, 1, 6)
    assert [line for line, _, _ in quarantine(con)] == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("stamped", [True, False], ids=["timestamps", "text"])
def test_rows_that_cannot_be_are_set_aside_in_parquet(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, stamped: bool
) -> None:
    table = frame([record(1), record(2, 20, float("inf")), record(-1, 30), record(4, 40)])
    if stamped:
        table["ts"] = pd.to_datetime(table["ts"], utc=True)
    table.to_parquet(tmp_path / "a.steps.parquet", index=False)
    summary = take(con, tmp_path / "a.steps.parquet")
    assert (summary.read, summary.new, summary.quarantined) == (4, 2, 2)
    assert sorted(stored(con)) == [("j", 0, 1), ("j", 0, 4)]


def test_a_parquet_file_whose_stamps_have_no_zone_is_refused_row_by_row(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    table = frame([record(1), record(2, 20)])
    table["ts"] = pd.to_datetime(table["ts"], utc=True).dt.tz_localize(None)
    table.to_parquet(tmp_path / "a.steps.parquet", index=False)
    summary = take(con, tmp_path / "a.steps.parquet")
    assert (summary.new, summary.quarantined) == (0, 2)


def test_a_parquet_column_of_structures_is_no_node(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    table = frame([record(1, straggler_node={"prompt": "secret"})])
    table.to_parquet(tmp_path / "a.steps.parquet", index=False)
    assert take(con, tmp_path / "a.steps.parquet").quarantined == 1
    assert "secret" not in str(quarantine(con))


def test_a_parquet_file_that_is_cut_off_is_refused_whole(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = tmp_path / "a.steps.parquet"
    frame(SAME).to_parquet(path, index=False)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UnreadableInput, match=r"a\.steps\.parquet"):
        take(con, path)
    assert con.execute("from files").fetchall() == []


# --- lines that are no record ---


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not a record\n", "not_json"),
        (b'{"job": "j", "attempt": 0, "st\n', "not_json"),
        (b"[1, 2]\n", "not_a_json_object"),
        (b'"text"\n', "not_a_json_object"),
        (b"null\n", "not_a_json_object"),
        (b"17\n", "not_a_json_object"),
        (b'{"job": "\xff\xfe"}\n', "not_utf8"),
        (b"[" * 100_000 + b"\n", "not_json"),
        (b'{"job": "' + b"x" * 2_000_000 + b'"}\n', "line_too_long"),
        (b'{"a": "' + b"x" * 1_000 + b"\n", "not_json"),
    ],
    ids=["text", "half", "list", "string", "null", "number", "no utf-8", "deep", "endless", "long"],
)
def test_a_line_that_is_no_record_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, line: bytes, reason: str
) -> None:
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), line, record(2, 20)))
    assert (summary.read, summary.new, summary.quarantined) == (3, 2, 1)
    ((number, why, raw),) = quarantine(con)
    assert (number, why) == (2, reason)
    assert len(raw) <= 200


def test_two_records_on_one_line_are_no_record(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    both = json.dumps(record(2, 20)) + json.dumps(record(3, 30)) + "\n"
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), both))
    assert (summary.new, [line for line, _, _ in quarantine(con)]) == (1, [2])


def test_a_half_written_last_line_is_set_aside(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    torn = json.dumps(record(2, 20))[:40]
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), torn))
    assert (summary.new, summary.quarantined) == (1, 1)
    assert quarantine(con) == [(2, "not_json", torn)]


def test_a_half_written_first_line_is_set_aside(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    torn = json.dumps(record(2, 20))[20:]
    summary = take(con, write(tmp_path / "a.steps.jsonl", torn + "\n", record(1)))
    assert (summary.new, summary.quarantined) == (1, 1)
    assert quarantine(con) == [(1, "not_json", torn)]


def test_a_last_line_that_only_lacks_its_end_is_a_record(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), json.dumps(record(2, 20))))
    assert (summary.new, summary.quarantined) == (2, 0)


def test_blank_lines_and_the_ends_of_another_system_are_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lines = json.dumps(record(1)) + "\r\n\r\n  \r\n" + json.dumps(record(2, 20)) + "\r\n"
    summary = take(con, write(tmp_path / "a.steps.jsonl", lines))
    assert (summary.read, summary.new, summary.quarantined) == (2, 2, 0)


def test_a_byte_order_mark_loses_no_record(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    summary = take(con, write(tmp_path / "a.steps.jsonl", "\ufeff", record(1), record(2, 20)))
    assert (summary.read, summary.new + summary.quarantined) == (2, 2)
    assert summary.new >= 1


def test_text_that_no_encoding_holds_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    half = json.dumps(record(2, 20, job="\ud800")) + "\n"
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), half))
    assert (summary.new, summary.quarantined) == (1, 1)


def test_a_truncated_archive_keeps_what_came_before(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lines = [json.dumps(record(n, 10 * n)) + "\n" for n in range(1, 3_001)]
    whole = gzip.compress("".join(lines).encode())
    summary = take(con, write(tmp_path / "a.steps.jsonl.gz", whole[: len(whole) // 2]))
    # Whatever the half unpacks to: the first steps without a hole, and one note of the break.
    assert 0 < summary.new < 3_000
    assert sorted(stored(con)) == [("j", 0, n) for n in range(1, summary.new + 1)]
    assert [(line, why) for line, why, _ in quarantine(con)] == [
        (summary.new + 1, "truncated_file")
    ]


@pytest.mark.parametrize("name", ["a.steps.jsonl", "a.steps.csv", "a.steps.jsonl.gz"])
@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_holds_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, content: bytes
) -> None:
    data = gzip.compress(content) if name.endswith("gz") else content
    summary = take(con, write(tmp_path / name, data))
    assert (summary.read, summary.new, summary.quarantined) == (0, 0, 0)


def test_tables_without_a_row_hold_nothing(tmp_path: Path) -> None:
    empty = frame(SAME).iloc[:0]
    empty.to_csv(tmp_path / "a.steps.csv", index=False)
    empty.to_parquet(tmp_path / "b.steps.parquet", index=False)
    for path in sorted(tmp_path.iterdir()):
        assert take(harness.fresh_warehouse(), path).read == 0


def test_a_big_file_with_one_bad_line_and_a_torn_end_keeps_all_others(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    total, bad = 300_000, 150_001
    with (tmp_path / "a.steps.jsonl").open("w") as file:
        for n in range(1, total + 1):
            ts = f"2026-03-{2 + n // 86_400:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z"
            text = f'{{"job":"j","attempt":0,"step":{n},"ts":"{ts}","duration_s":1}}\n'
            file.write("here the writer stumbled\n" if n == bad else text)
        file.write('{"job":"j","attempt":0,"step":300001,"ts":"2026-03-05T11:2')
    summary = take(con, tmp_path / "a.steps.jsonl")
    assert (summary.read, summary.new, summary.quarantined) == (total + 1, total - 1, 2)
    assert [row[:2] for row in quarantine(con)] == [(bad, "not_json"), (total + 1, "not_json")]
    # All of 1 to 300,000 but the bad one: their number and their sum.
    found = con.execute(
        "select count(*), sum(step)::bigint, sum(duration_us)::bigint from steps"
    ).fetchall()
    assert found == [(total - 1, total * (total + 1) // 2 - bad, (total - 1) * 1_000_000)]


def test_quarantine_holds_nothing_outside_the_allow_list(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "a.steps.jsonl",
        record(-1, prompt="secret", env={"KEY": "secret"}),
        record(1, attempt={"deep": [{"prompt": "secret"}]}),
        record(2, ts="no stamp", cluster="east", weights=["secret"]),
        record(3, duration_s=["secret", {"prompt": "secret"}]),
        {"prompt": "secret"},
    )
    assert take(con, path).quarantined == 5
    for _, _, raw in quarantine(con):
        allowed = {"job", "attempt", "step", "ts", "duration_s", "cluster"}
        assert set(json.loads(raw)) <= allowed
        assert "prompt" not in raw
        assert "KEY" not in raw


# --- records of n steps ---


def test_a_record_of_n_steps_becomes_n_back_to_back(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    # 10 s and 3 µs by 4: 2,500,000 µs each and 3 more for the last; the loader's 1 s 250,000 each;
    # the straggler's 7 µs 1 each and 3 more. The record begins at 90.
    path = write(
        tmp_path / "a.steps.jsonl",
        record(
            20, 100.000003, 10.000003, steps=4, data_wait_s=1, straggler_s=7e-6, straggler_node="n1"
        ),
    )
    summary = take(con, path)
    assert (summary.read, summary.new) == (1, 4)
    assert stored(con) == {
        ("j", 0, 17): (92_500_000, 2_500_000, 250_000, 1, 0, 0, "n1"),
        ("j", 0, 18): (95_000_000, 2_500_000, 250_000, 1, 0, 0, "n1"),
        ("j", 0, 19): (97_500_000, 2_500_000, 250_000, 1, 0, 0, "n1"),
        ("j", 0, 20): (100_000_003, 2_500_003, 250_000, 4, 0, 0, "n1"),
    }


def test_a_record_may_stand_for_all_steps_from_0_on(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(2, 10, 10, steps=3)))
    # 10,000,000 = 3 × 3,333,333 + 1.
    assert {key[2]: row[:2] for key, row in stored(con).items()} == {
        0: (3_333_333, 3_333_333),
        1: (6_666_666, 3_333_333),
        2: (10_000_000, 3_333_334),
    }


def test_a_record_of_n_steps_equals_its_steps_one_by_one(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(4, 40, 40, steps=4)))
    single = [record(n, 10 * n, 10) for n in range(1, 5)]
    summary = take(con, write(tmp_path / "b.steps.jsonl", *single))
    assert (summary.new, summary.duplicate, summary.quarantined) == (0, 4, 0)


def test_a_record_of_n_steps_may_be_spread_over_hours(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(3, 7300, 200, steps=4)))
    hours = con.execute("select hour_us, steps from step_groups order by hour_us").fetchall()
    # They end at 7150, 7200 (hour 1) and 7250, 7300 (hour 2).
    assert hours == [(BASE_US + 3_600_000_000, 2), (BASE_US + 7_200_000_000, 2)]


def test_steps_of_one_are_written_out_or_left_out(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    summary = take(con, write(tmp_path / "a.steps.jsonl", record(1), record(1, steps=1)))
    assert (summary.new, summary.duplicate) == (1, 1)


# --- each once ---


def test_a_step_is_stored_once_within_and_across_files(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    first = take(con, write(tmp_path / "a.steps.jsonl", record(1), record(1), record(2, 20)))
    second = take(con, write(tmp_path / "b.steps.jsonl", record(3, 30), record(2, 20, loss=1)))
    assert (first.read, first.new, first.duplicate) == (3, 2, 1)
    assert (second.read, second.new, second.duplicate) == (2, 1, 1)
    assert sorted(key[2] for key in stored(con)) == [1, 2, 3]
    assert quarantine(con) == []


def test_one_number_in_two_attempts_or_jobs_is_two_steps(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.steps.jsonl", record(1), record(1, attempt=1), record(1, job="k"))
    assert take(con, path).new == 3


def test_a_file_delivered_again_changes_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    records = [record(n, 600 * n, 600) for n in range(1, 14)]
    path = write(tmp_path / "a.steps.jsonl", *records, "junk\n")
    take(con, path)

    def everything() -> list[Any]:
        tables = ("steps", "step_groups", "quarantine", "files", "counters", "jobs")
        return [con.execute(f"from {table} order by all").fetchall() for table in tables]

    before = everything()
    assert take(con, path).known
    assert take(con, path.rename(tmp_path / "renamed.steps.jsonl")).known
    assert everything() == before


def test_the_same_records_in_another_file_leave_the_stored_groups_alone(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    records = [record(n, 600 * n, 600) for n in range(1, 14)]
    take(con, write(tmp_path / "a.steps.jsonl", *records))
    before = con.execute("from step_groups order by all").fetchall()
    summary = take(con, write(tmp_path / "b.steps.jsonl", *reversed(records)))
    assert (summary.new, summary.duplicate) == (0, 13)
    assert con.execute("from step_groups order by all").fetchall() == before


RIVALS = [
    # In rising order of (ts, duration, data wait, straggler, checkpoint, overhead, node).
    {"ts": stamp(9), "duration_s": 99, "data_wait_s": 9, "straggler_s": 9, "checkpoint_s": 9},
    {"duration_s": 9, "data_wait_s": 9, "straggler_s": 9, "checkpoint_s": 9, "overhead_s": 9},
    {"data_wait_s": 1, "straggler_s": 9, "checkpoint_s": 9, "overhead_s": 9},
    {"data_wait_s": 2, "straggler_s": 1, "checkpoint_s": 9, "overhead_s": 9},
    {"data_wait_s": 2, "straggler_s": 2, "checkpoint_s": 1, "overhead_s": 9},
    {"data_wait_s": 2, "straggler_s": 2, "checkpoint_s": 2, "overhead_s": 1, "straggler_node": "z"},
    {"data_wait_s": 2, "straggler_s": 2, "checkpoint_s": 2, "overhead_s": 2, "straggler_node": "a"},
    {"data_wait_s": 2, "straggler_s": 2, "checkpoint_s": 2, "overhead_s": 2, "straggler_node": "b"},
]


@pytest.mark.parametrize("smaller", range(len(RIVALS) - 1))
@pytest.mark.parametrize("how", ["smaller first", "larger first", "in one file"])
def test_of_records_with_one_key_the_smallest_counts_and_the_other_is_set_aside(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, smaller: int, how: str
) -> None:
    low, high = record(1, **RIVALS[smaller]), record(1, **RIVALS[smaller + 1])
    alone = harness.fresh_warehouse()
    take(alone, write(tmp_path / "alone.steps.jsonl", low))
    if how == "in one file":
        write(tmp_path / "a.steps.jsonl", high, low)
    else:
        write(tmp_path / "a.steps.jsonl", low if how == "smaller first" else high)
        write(tmp_path / "b.steps.jsonl", high if how == "smaller first" else low)
    for path in sorted(tmp_path.glob("?.steps.jsonl")):
        take(con, path)
    assert stored(con) == stored(alone)
    assert [reason for _, reason, _ in quarantine(con)] == [
        "conflicts with another record of this step"
    ]


def test_three_rivals_end_the_same_in_any_order_of_delivery(tmp_path: Path) -> None:
    rivals = [record(1, 10), record(1, 3_610), record(1, 7_210)]
    for order in permutations(range(3)):
        con = harness.fresh_warehouse()
        for place, n in enumerate(order):
            # Beside the rival another step of its own, so that no file is known already.
            name = f"{''.join(map(str, order))}{place}.steps.jsonl"
            take(con, write(tmp_path / name, rivals[n], record(2 + n, 20 + n)))
        assert {key[2]: row[0] for key, row in stored(con).items()} == {
            1: 10_000_000,
            2: 20_000_000,
            3: 21_000_000,
            4: 22_000_000,
        }
        assert con.execute("select sum(steps)::int from step_groups").fetchall() == [(4,)]
        assert len(quarantine(con)) == 2


def test_a_smaller_record_moves_a_step_to_another_hour(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(1, 3700), record(2, 3800)))
    summary = take(con, write(tmp_path / "b.steps.jsonl", record(1, 3500)))
    assert (summary.new, summary.quarantined) == (1, 1)
    groups = con.execute("select hour_us, steps, min_step from step_groups order by 1").fetchall()
    assert groups == [(BASE_US, 1, 1), (BASE_US + 3_600_000_000, 1, 2)]


def test_a_smaller_record_empties_the_hour_of_the_only_step_that_it_displaces(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(1, 3700)))
    take(con, write(tmp_path / "b.steps.jsonl", record(1, 3500)))
    assert con.execute("select hour_us, steps from step_groups").fetchall() == [(BASE_US, 1)]
    assert con.execute("select ts_us from steps").fetchall() == [(BASE_US + 3_500_000_000,)]


def test_a_set_aside_rival_that_comes_again_is_set_aside_no_second_time_in_its_file(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(1, 10)))
    take(con, write(tmp_path / "b.steps.jsonl", record(1, 11), record(1, 11)))
    assert len(quarantine(con)) == 1
    assert stored(con)["j", 0, 1][0] == 10_000_000


def test_numbers_that_fall_with_time_are_steps_like_any_other(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    records = [record(9, 10), record(8, 20), record(7, 3_700), record(1, 15, attempt=1)]
    summary = take(con, write(tmp_path / "a.steps.jsonl", *records))
    assert (summary.new, summary.duplicate, summary.quarantined) == (4, 0, 0)
    assert {key[1:]: row[0] for key, row in stored(con).items()} == {
        (0, 9): 10_000_000,
        (0, 8): 20_000_000,
        (0, 7): 3_700_000_000,
        (1, 1): 15_000_000,
    }


def test_one_key_in_two_hours_of_a_file_is_one_step(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(1, 10), record(1, 3_700)))
    assert {key: row[0] for key, row in stored(con).items()} == {("j", 0, 1): 10_000_000}
    assert len(quarantine(con)) == 1


def test_an_hour_between_two_that_arrive_is_left_as_it_was(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    take(con, write(tmp_path / "a.steps.jsonl", record(5, 5_000)))
    take(con, write(tmp_path / "b.steps.jsonl", record(4, 3_000), record(6, 9_000)))
    groups = con.execute("select hour_us, group_id from step_groups order by hour_us").fetchall()
    assert [hour_us - BASE_US for hour_us, _ in groups] == [0, 3_600_000_000, 7_200_000_000]
    assert min(group for _, group in groups) == groups[1][1]


FEW_RECORDS = st.lists(
    st.builds(
        record,
        number=st.integers(0, 4),
        ends=st.sampled_from([10, 20, 3_599, 3_600, 3_601, 7_300]),
        duration=st.sampled_from([5, 6]),
        attempt=st.integers(0, 2),
        job=st.sampled_from(["j", "k"]),
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=40)
@given(files=st.lists(FEW_RECORDS, min_size=1, max_size=4))
def test_of_any_records_in_any_files_the_smallest_of_each_key_stands(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[dict[str, Any]]]
) -> None:
    con, folder = harness.fresh_warehouse(), tmp_path_factory.mktemp("any")
    given = [r for records in files for r in records]
    read = sum(
        take(con, write(folder / f"{place}.steps.jsonl", *records)).read
        for place, records in enumerate(files)
        if records not in files[:place]
    )
    smallest: dict[tuple[str, int, int], tuple[int, int]] = {}
    for r in given:
        key = (r["job"], r["attempt"], r["step"])
        value = (time_us(r["ts"]) - BASE_US, r["duration_s"] * 1_000_000)
        smallest[key] = min(value, smallest.get(key, value))
    assert {key: row[:2] for key, row in stored(con).items()} == smallest
    assert con.execute("select sum(steps)::int from step_groups").fetchall() == [(len(smallest),)]
    assert read == sum(len(r) for place, r in enumerate(files) if r not in files[:place])
    con.close()


# --- stamps ---


DAMAGE = st.tuples(
    st.sampled_from(["put", "cut", "change"]),
    st.integers(0, 31),
    st.sampled_from(list("0123456789-:.TtZz+ /\té")),
)
STAMPS = st.tuples(
    st.sampled_from(
        [
            "2026-01-05T00:03:04.995633Z",
            "2026-01-05T00:03:04.995633+00:00",
            "2024-02-29T23:59:59.000001Z",
            "2026-01-05T00:03:04Z",
            "2026-01-05T24:00:60.995633Z",
            "2026-1-5T0:3:4.9956331111Z",
            "  206-01-05T00:03:04.995633Z",
        ]
    ),
    st.lists(DAMAGE, max_size=3),
)


def damaged(text: str, damage: list[tuple[str, int, str]]) -> str:
    """The text with characters put in, cut out or changed."""
    for how, place, character in damage:
        place %= len(text)
        text = text[:place] + ("" if how == "cut" else character) + text[place + (how != "put") :]
    return text


@settings(deadline=None, max_examples=25)
@given(stamps=st.lists(STAMPS.map(lambda drawn: damaged(*drawn)), min_size=50, max_size=200))
def test_a_stamp_of_a_step_is_read_as_one_of_a_lifecycle_record(stamps: list[str]) -> None:
    con = harness.fresh_warehouse()
    con.register("stamps", pa.table({"ts": stamps}))
    parsed = (
        "select 'j' as job, 0.0::double as attempt, 1.0::double as step, ts, null::bigint as ts_us,"
        " 1.0::double as duration_s, null::double as data_wait_s, null::double as straggler_s,"
        " null::double as checkpoint_s, null::double as overhead_s, null::double as steps,"
        " null::varchar as straggler_node, ts as raw from stamps"
    )
    judged = con.execute(
        "select raw, ts_us, reason from"
        f" (with parsed_steps as ({parsed}) {sql.read('ingest/judged_steps')})"
    ).fetchall()
    for raw, us, reason in judged:
        assert (us if reason is None else reason) == read_by_hand(raw)
    con.close()


def read_by_hand(stamp: str) -> int | str:
    """What the rule of lifecycle records makes of a stamp: its moment, or why it is none."""
    try:
        us = time_us(stamp)
    except BadRecord as e:
        return f"bad field ts: {e}"
    begins_too_early = us - 1_000_000 < 946_684_800_000_000
    return "bad field duration_s: begins before the year 2000" if begins_too_early else us
