"""What a record is must not depend on the lines around it, on the format, or on how it is read.

Steps are read in bulk by DuckDB where all are good and of one kind, else line by line. What is odd
here is given alone, among good lines, and beside a line that is no record, which turns bulk off.
"""

import json
import os
import tempfile
from pathlib import Path
from random import Random
from typing import Any

import harness
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.sources import canonical

FUZZ = int(os.environ.get("HEADWAY_FUZZ", "15"))
"""Examples a fuzz test; more for a long run."""

FIELDS = {"job": "odd", "attempt": 0, "step": 1, "ts": "2026-10-01T12:00:10Z", "duration_s": 1}
LINE = json.dumps(FIELDS)
TEN = 1_790_856_010_000_000
"""2026-10-01T12:00:10Z in µs."""


def line(number: int) -> str:
    """A good line of another job."""
    return json.dumps(FIELDS | {"job": "good", "step": number}) + "\n"


def took(path: Path) -> dict[str, Any]:
    """What a file leaves in an empty warehouse: of the odd records, and how many good ones."""
    with harness.fresh_warehouse() as con:
        summary = harness.ingest_one(con, path)
        steps = con.execute(
            "select job, attempt, step, ts_us, duration_us, data_wait_us, straggler_node from steps"
            " join step_groups using (group_id) join jobs using (job_id) order by all"
        ).fetchall()
        events = con.execute(
            "select event, job from events left join jobs using (job_id) order by all"
        ).fetchall()
        reasons = con.execute(
            "select reason from quarantine where raw <> 'junk' order by all"
        ).fetchall()
    return {
        "steps": [step for step in steps if step[0] != "good"],
        "good": len([step for step in steps if step[0] == "good"]),
        "events": events,
        "reasons": [reason for (reason,) in reasons],
        "dropped": summary.dropped_fields,
    }


def in_each_company(folder: Path, odd: str) -> list[dict[str, Any]]:
    """What an odd line leaves alone, among good lines, and beside one that is no record."""
    found = []
    for name, before, after in [
        ("alone", "", ""),
        ("among", line(7), line(8)),
        ("junk", "junk\n" + line(7), line(8)),
    ]:
        path = folder / f"{name}.steps.jsonl"
        path.write_text(before + odd + "\n" + after, encoding="utf-8")
        took_of_it = took(path)
        assert took_of_it.pop("good") == (0 if name == "alone" else 2), name
        found.append(took_of_it)
    return found


def in_any_company(folder: Path, odd: str) -> dict[str, Any]:
    """What an odd line leaves, the same in each company."""
    alone, among, beside_junk = in_each_company(folder, odd)
    assert alone == among == beside_junk
    return alone


STORED = ("odd", 0, 1, TEN, 1_000_000, 0, None)


@pytest.mark.parametrize(
    "extra",
    [
        *('"loss": NaN', '"loss": nan', '"loss": -inf', '"loss": -INFINITY'),
        *('"loss": [1, NaN]', '"m": {"job": "x", "event": "job_ended"}', '"loss": 1e999'),
        *('"x": 1, "x": 2', '"tokens": ' + "9" * 5000, '"note": "nan, inf ,}"'),
    ],
    ids=lambda extra: extra[:20],
)
def test_whatever_a_dropped_field_holds_is_dropped_and_the_record_kept(
    tmp_path: Path, extra: str
) -> None:
    found = in_any_company(tmp_path, LINE[:-1] + ", " + extra + "}")
    assert found == {"steps": [STORED], "events": [], "reasons": [], "dropped": 1}


@pytest.mark.parametrize(
    "odd",
    [LINE[:-1] + ",}", LINE[:-1] + " , }", "\v" + LINE, "\f " + LINE + " \v", "\ufeff" + LINE],
    ids=["a comma too many", "a spaced one", "a tab", "a form feed", "a byte order mark"],
)
def test_what_is_loose_json_is_a_record_wherever_it_stands(tmp_path: Path, odd: str) -> None:
    found = in_any_company(tmp_path, odd)
    assert found == {"steps": [STORED], "events": [], "reasons": [], "dropped": 0}


@pytest.mark.parametrize("odd", [LINE[:-1] + ",,}", "{," + LINE[1:], LINE[:-1], LINE + "," + LINE])
def test_what_is_no_json_is_none_wherever_it_stands(tmp_path: Path, odd: str) -> None:
    found = in_any_company(tmp_path, odd)
    assert found == {"steps": [], "events": [], "reasons": ["not_json"], "dropped": 0}


@pytest.mark.parametrize("word", ["NaN", "nan", "-inf", "Infinity"])
@pytest.mark.parametrize("field", ["job", "straggler_node", "ts"])
def test_a_number_that_is_none_is_no_text(tmp_path: Path, field: str, word: str) -> None:
    odd = json.dumps(FIELDS | {field: "?"}).replace('"?"', word)
    found = in_any_company(tmp_path, odd)
    assert (found["steps"], found["reasons"]) == ([], [f"bad field {field}: not text"])


@pytest.mark.parametrize("word", ["NaN", "nan", "-inf", "Infinity"])
def test_text_that_looks_like_a_number_that_is_none_is_text(tmp_path: Path, word: str) -> None:
    found = in_any_company(tmp_path, json.dumps(FIELDS | {"straggler_node": word}))
    assert [step[-1] for step in found["steps"]] == [word]


EVENTS: list[dict[str, Any]] = [
    {"event": "restore_test", "result": "pass"},
    {"event": "checkpoint_completed"},
    {"event": "job_suspended"},
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["event"])
def test_an_event_among_steps_is_an_event_though_it_has_all_fields_of_a_step(
    tmp_path: Path, event: dict[str, Any]
) -> None:
    found = in_any_company(tmp_path, json.dumps(FIELDS | event))
    assert (found["steps"], found["events"]) == ([], [(event["event"], "odd")])


def test_a_step_whose_event_is_null_is_a_step_in_every_format(tmp_path: Path) -> None:
    found = in_any_company(tmp_path, json.dumps(FIELDS | {"event": None}))
    assert (found["steps"], found["events"], found["reasons"]) == ([STORED], [], [])
    both = pd.DataFrame([FIELDS, FIELDS | {"event": "job_suspended", "job": "other"}])
    both.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    both.to_csv(tmp_path / "b.csv", index=False)
    both.to_parquet(tmp_path / "c.parquet", index=False)
    for name in ("a.jsonl", "b.csv", "c.parquet"):
        found = took(tmp_path / name)
        assert (found["steps"], found["events"]) == ([STORED], [("job_suspended", "other")]), name
        assert found["reasons"] == [], name


VALUES = [
    *("1", "0", "-1", "-0", "1.5", "5.0", "1E2", "1e400", "9007199254740993", "2147483648"),
    *("NaN", "nan", "-Infinity", "null", "true", "false", "[]", "[1,]", "{}", '{"a": 1,}'),
    *('"1"', '"1e3"', '"5.0"', '"0x1"', '"1_0"', '" 7"', '"1,5"', '"-"', '""', '"x"', '"true"'),
    *('"NaN"', '"inf"', '"[a"', '"{b}"', '"a\\nb"', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud800"'),
    *('"2026-10-01T12:00:10Z"', '"2026-10-01T12:00:10.5+02:00"', '"restore_test"', "9" * 30),
]
NAMES = [*FIELDS, "data_wait_s", "straggler_node", "steps", "cluster", "loss", "event"]
ODD_FIELDS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=4)


@settings(max_examples=FUZZ, deadline=None)
@given(ODD_FIELDS, st.randoms(use_true_random=False))
def test_any_fields_are_read_alike_in_any_company(
    odd: list[tuple[str, str]], random: Random
) -> None:
    # Some of them take the place of a good one, some stand beside it.
    good = {name: json.dumps(value) for name, value in FIELDS.items()}
    kept = {name for name, _ in odd if random.random() < 0.8}
    pairs = [pair for pair in good.items() if pair[0] not in kept] + odd
    random.shuffle(pairs)
    with tempfile.TemporaryDirectory() as folder:
        record = "{" + ", ".join(f'"{n}": {v}' for n, v in pairs) + "}"
        alone, among, beside_junk = in_each_company(Path(folder), record)
    assert alone == among == beside_junk


# --- Parquet --------------------------------------------------------------------------------------

COLUMNS: dict[str, pa.Array] = {
    "job": pa.array(["odd", "odd"]),
    "attempt": pa.array([0, 0]),
    "step": pa.array([1, 2]),
    "ts": pa.array([TEN, TEN + 1_000_000], pa.timestamp("us", "UTC")),
    "duration_s": pa.array([1.0, 1.0]),
}


def in_parquet(
    folder: Path, monkeypatch: pytest.MonkeyPatch, columns: dict[str, pa.Array]
) -> dict[str, Any]:
    """What the columns leave, the same in bulk and row by row."""
    path = folder / "a.steps.parquet"
    pq.write_table(pa.table(COLUMNS | columns), path)
    in_bulk = took(path)
    with monkeypatch.context() as patched:
        patched.setattr(canonical, "bulk_parquet", lambda _: [])
        assert took(path) == in_bulk
    return in_bulk


@pytest.mark.parametrize("values", [[float("nan"), 0.5], [0.5, float("inf")], [-1.0, 0.5]], ids=str)
@pytest.mark.parametrize(
    "field",
    ["duration_s", "data_wait_s", "straggler_s", "checkpoint_s", "overhead_s", "attempt", "steps"],
)
def test_a_number_in_parquet_that_cannot_be_costs_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, values: list[float]
) -> None:
    # NaNs are left out of a column's statistics, which DuckDB believes.
    good = 1.0 if field in ("attempt", "steps") else 0.5
    kept = next(place for place, value in enumerate(values) if value == 0.5)
    column = pa.array([good if value == 0.5 else value for value in values])
    found = in_parquet(tmp_path, monkeypatch, {field: column})
    assert [step[2] for step in found["steps"]] == [kept + 1]
    assert [field in reason for reason in found["reasons"]] == [True]


@pytest.mark.parametrize(
    ("job", "named"),
    [
        (pa.array([b"odd", b"\xff"]), ["odd"]),
        (pa.array([27, 28], pa.int32()).cast(pa.decimal128(10, 0)), ["27", "28"]),
        (pa.array([27.0, 28.0]), []),
        (pa.array([True, False]), []),
        (pa.array([1, 2], pa.duration("s")), []),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array([2**64 - 1, 2], pa.uint64()), ["18446744073709551615", "2"]),
        (pa.array([{"a": 1}, None]), []),
        (pa.array([["a"], ["b"]]), []),
        (pa.nulls(2), []),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_a_job_in_parquet_is_what_it_is_however_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: pa.Array, named: list[str]
) -> None:
    found = in_parquet(tmp_path, monkeypatch, {"job": job})
    assert [step[0] for step in found["steps"]] == named
    assert len(found["reasons"]) == 2 - len(named)


def test_a_timedelta_in_parquet_is_no_number_of_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    column = pa.array([1, 2], pa.duration("s")).cast(pa.duration("ns"))
    found = in_parquet(tmp_path, monkeypatch, {"duration_s": column})
    assert (found["steps"], len(found["reasons"])) == ([], 2)


@pytest.mark.parametrize("far", [-(2**63) + 1, 2**63 - 1, 253_402_300_800_000_000, -1])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich"])
def test_a_moment_in_parquet_of_any_age_costs_its_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far: int, zone: str
) -> None:
    found = in_parquet(
        tmp_path, monkeypatch, {"ts": pa.array([TEN, far], pa.timestamp("us", zone))}
    )
    assert (found["steps"], len(found["reasons"])) == ([STORED], 1)


def test_a_moment_in_parquet_keeps_its_microseconds_in_each_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for unit, per_s in (("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        fraction = 123_456_789 * per_s // 10**9
        stamps = pa.array([TEN // 10**6 * per_s + fraction, None], pa.timestamp(unit, "UTC"))
        found = in_parquet(tmp_path, monkeypatch, {"ts": stamps})
        assert [step[3] for step in found["steps"]] == [TEN + fraction * 10**6 // per_s], unit


def test_columns_of_parquet_are_told_apart_by_their_case(tmp_path: Path) -> None:
    path = tmp_path / "a.steps.parquet"
    pq.write_table(pa.table({"Job": pa.array(["other", "other"])} | COLUMNS), path)
    assert {step[0] for step in took(path)["steps"]} == {"odd"}


def test_a_column_of_parquet_may_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = in_parquet(tmp_path, monkeypatch, {'x"y': pa.array([1, None]), "a.b": pa.array([1, 2])})
    assert (len(found["steps"]), found["dropped"]) == (2, 3)
