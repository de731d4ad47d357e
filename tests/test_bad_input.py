"""Input that is wrong: nothing in it stops what is right beside it, and each fault is told."""

import gzip
import json
import os
import string
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import harness
import pytest
from harness import take
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.errors import UsageError
from pipelines.derive import refresh

ROOT = Path(__file__).parents[1]
GIGABYTE = 1 << 30
FUZZ = int(os.environ.get("HEADWAY_FUZZ", "15"))
"""Examples a fuzz test; more for a long run."""

SUBMITTED = {
    "event": "job_submitted",
    "ts": "2026-10-01T11:59:00Z",
    "job": "good",
    "tier": "batch",
    "gpus": 8,
}
ALLOCATED = {
    "event": "resources_allocated",
    "ts": "2026-10-01T12:00:00Z",
    "job": "good",
    "attempt": 0,
    "nodes": ["n1"],
}
STEP = {
    "job": "good",
    "attempt": 0,
    "step": 1,
    "ts": "2026-10-01T12:00:10Z",
    "duration_s": 10,
    "data_wait_s": 1,
    "straggler_s": 1,
    "checkpoint_s": 1,
    "overhead_s": 1,
}
GOOD = (SUBMITTED, ALLOCATED, STEP)


def jsonl(*records: Any) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def headway(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does, below the folder that its home is in."""
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *args],
        cwd=home.parent,
        env=os.environ | {"HEADWAY_HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty warehouse in memory."""
    con = harness.fresh_warehouse()
    yield con
    con.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to put files into."""
    made = tmp_path / "delivery"
    made.mkdir()
    return made


def reasons(con: duckdb.DuckDBPyConnection) -> Counter[str]:
    """How many records were quarantined for which reason."""
    return Counter(row[0] for row in con.execute("select reason from quarantine").fetchall())


def stored(con: duckdb.DuckDBPyConnection) -> int:
    """How many records are stored."""
    (count,) = con.execute(
        "select (select count(*) from events) + (select count(*) from steps)"
    ).fetchall()[0]
    return int(count)


def balances(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether what is stored can be derived, and every job's ledger sums to its wall."""
    refresh(con, harness.POLICY)
    return not con.execute(
        "select job_id, wall_us, coalesce(sum(us), 0) as us from goodput left join ledger"
        " using (job_id) group by all having wall_us <> us"
    ).fetchall()


# Whole files --------------------------------------------------------------------------------------


def test_a_path_that_is_not_there_is_refused_before_anything_is_read(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    (folder / "a.lifecycle.jsonl").write_bytes(jsonl(SUBMITTED))
    with pytest.raises(UsageError, match="absent: no such file"):
        take(warehouse, folder, folder / "absent")
    assert stored(warehouse) == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.steps.parquet", b"PAR1"),
        ("torn.steps.parquet", b"PAR1" + bytes(1000)),
        ("no-footer.steps.parquet", b"PAR1" + bytes(1000) + b"PAR1"),
        ("sacct.psv", b"JobID|State\n1|COMPLETED\n"),
    ],
    ids=["a Parquet's first bytes", "a torn Parquet", "a Parquet of zeros", "half a header"],
)
def test_a_file_that_makes_no_sense_stops_none_of_the_others(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    (folder / "z.lifecycle.jsonl").write_bytes(jsonl(SUBMITTED, ALLOCATED))
    (folder / "z.steps.jsonl").write_bytes(jsonl(STEP))
    done = take(warehouse, folder)
    assert [name in str(failure) for failure in done.failures] == [True]
    assert stored(warehouse) == 3


def test_a_message_about_a_broken_file_is_one_line(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    (folder / "broken.steps.parquet").write_bytes(b"PAR1" + bytes(1000))
    (failure,) = take(warehouse, folder).failures
    assert "\n" not in str(failure)


@pytest.mark.parametrize("stream", ["lifecycle", "steps"])
def test_a_truncated_gzip_keeps_what_came_before_the_cut(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, stream: str
) -> None:
    # Random names, so that the cut loses about half of the records.
    records = [
        (SUBMITTED if stream == "lifecycle" else STEP) | {"job": os.urandom(20).hex()}
        for _ in range(1000)
    ]
    whole = gzip.compress(jsonl(*records))
    (folder / f"cut.{stream}.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (summary,) = take(warehouse, folder).summaries
    assert 300 < summary.new < 700
    assert summary.quarantined == 1
    assert summary.read == summary.new + 1
    assert reasons(warehouse) == {"truncated_file": 1}


def test_a_gzip_cut_within_its_header_is_told_and_stops_nothing(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    cut = folder / "cut.steps.jsonl.gz"
    cut.write_bytes(gzip.compress(jsonl(STEP))[:15])
    (folder / "z.lifecycle.jsonl").write_bytes(jsonl(SUBMITTED))
    take(warehouse, folder, source="canonical")
    assert stored(warehouse) == 1
    assert reasons(warehouse) == {"truncated_file": 1}


MEASURED = """
from pathlib import Path
from pipelines.cli import main
try:
    main()
finally:
    peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    Path("peak_kib").write_text(peak)
"""
"""A command that leaves the most memory that it held. (What wait4 tells of a child may be that of
the process which began it.)"""


def test_a_file_with_a_hole_of_2_gb_takes_less_than_1_gb_of_memory(tmp_path: Path) -> None:
    # What a file system leaves of a log that was being written when its machine lost power.
    holed = tmp_path / "holed.steps.jsonl"
    with holed.open("wb") as file:
        file.write(jsonl(STEP))
        file.truncate(2 * GIGABYTE)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + jsonl(STEP | {"step": 2, "ts": "2026-10-01T12:00:20Z"}))
    answer = tmp_path / "answer.json"
    with answer.open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, "ingest", "--format", "json", str(holed)],
            cwd=tmp_path,
            env=os.environ | {"HEADWAY_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    holed.unlink()
    assert done.returncode == 0
    (summary,) = json.loads(answer.read_text(encoding="utf-8"))
    assert (summary["read"], summary["new"], summary["quarantined"]) == (3, 2, 1)
    assert int((tmp_path / "peak_kib").read_text()) * 1024 < GIGABYTE


def test_a_folder_is_read_past_what_is_no_record_in_it(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    (folder / "README.md").write_text("# What this is\n", encoding="utf-8")
    for unfinished in ("a.jsonl.tmp", "a.jsonl.part", ".a.jsonl.swp", "a.jsonl~", ".hidden.jsonl"):
        (folder / unfinished).write_bytes(jsonl(SUBMITTED | {"job": unfinished}))
    (folder / ".git").mkdir()
    (folder / ".git" / "a.jsonl").write_bytes(jsonl(SUBMITTED | {"job": "git"}))
    (folder / "empty.jsonl").touch()
    (folder / "below").mkdir()
    (folder / "below" / "a.lifecycle.jsonl").write_bytes(jsonl(SUBMITTED))
    done = take(warehouse, folder)
    assert [summary.path.name for summary in done.summaries] == ["a.lifecycle.jsonl"]
    assert "README.md" in {path.name for path in done.skipped}
    assert done.failures == []
    assert stored(warehouse) == 1


@pytest.mark.parametrize(
    "name",
    ["two words", "it's", 'say "so"', "größe-数据", "a;drop table steps", "50%", "*?[x]", "{a,b}"],
)
@pytest.mark.parametrize("ending", ["steps.jsonl", "steps.csv"])
def test_a_file_may_have_any_name(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, name: str, ending: str
) -> None:
    path = folder / f"{name}.{ending}"
    if ending.endswith("csv"):
        path.write_text(
            ",".join(STEP) + "\n" + ",".join(map(str, STEP.values())) + "\n", encoding="utf-8"
        )
    else:
        path.write_bytes(jsonl(STEP))
    (summary,) = take(warehouse, path).summaries
    assert summary.new == 1
    assert warehouse.execute("select path from files").fetchall() == [(str(path),)]


@pytest.mark.parametrize("name", ["*?[x]", "it's", "{a,b}"])
def test_a_parquet_may_have_any_name(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, name: str
) -> None:
    path = folder / f"{name}.steps.parquet"
    source = folder / "source.jsonl"
    source.write_bytes(jsonl(STEP))
    made = folder / "made.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"copy (from read_json('{source}', columns = {{job: 'varchar', attempt: 'int',"
            f" step: 'bigint', ts: 'varchar', duration_s: 'double'}})) to '{made}'"
        )
    made.rename(path)
    (summary,) = take(warehouse, path).summaries
    assert summary.new == 1


def test_a_file_may_have_a_name_that_is_no_text(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    path = folder / os.fsdecode(b"caf\xe9.lifecycle.jsonl")
    path.write_bytes(jsonl(SUBMITTED))
    (summary,) = take(warehouse, path).summaries
    assert summary.new == 1


def test_an_empty_file_holds_nothing_and_is_no_fault(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    # A step file that its job has opened and not written to yet.
    (folder / "a.steps.jsonl").touch()
    done = take(warehouse, folder / "a.steps.jsonl", source="canonical")
    assert done.failures == []
    assert [summary.read for summary in done.summaries] == [0]


# Records ------------------------------------------------------------------------------------------

BAD_LINES = {
    "text": b"hello",
    "half a record": b'{"job": "good", "attempt": 0, "st',
    "a list": b"[1, 2]",
    "a number": b"1",
    "no UTF-8": b'{"job": "\xff\xfe", "attempt": 0, "step": 7}',
    "a NUL": b'{"job": "a\\u0000b", "attempt": 0, "step": 7, "ts": "2026-10-01T12:00:10Z",'
    b' "duration_s": 1}',
    "half a surrogate pair": b'{"job": "\\ud800", "attempt": 0, "step": 7,'
    b' "ts": "2026-10-01T12:00:10Z", "duration_s": 1}',
    "deep nesting": b'{"job":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "an integer of 5,000 digits": b'{"job": "good", "attempt": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("line", BAD_LINES.values(), ids=BAD_LINES.keys())
@pytest.mark.parametrize("stream", ["lifecycle", "steps"])
def test_a_line_that_is_no_record_is_quarantined_alone(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, stream: str, line: bytes
) -> None:
    good = SUBMITTED if stream == "lifecycle" else STEP
    path = folder / f"a.{stream}.jsonl"
    path.write_bytes(jsonl(good) + line + b"\n" + jsonl(good | {"job": "other"}))
    (summary,) = take(warehouse, path).summaries
    assert (summary.read, summary.new, summary.quarantined) == (3, 2, 1)


BAD_STEP_VALUES: list[tuple[str, Any]] = [
    ("duration_s", float("nan")),
    ("duration_s", float("inf")),
    ("duration_s", -1),
    ("duration_s", 1e30),
    ("duration_s", "NaN"),
    ("duration_s", "Infinity"),
    ("duration_s", []),
    ("duration_s", "ten"),
    ("data_wait_s", -0.5),
    ("data_wait_s", float("nan")),
    ("straggler_s", 1e30),
    ("checkpoint_s", "x"),
    ("overhead_s", float("-inf")),
    ("attempt", -1),
    ("attempt", 1.5),
    ("attempt", 2**31),
    ("attempt", None),
    ("step", -1),
    ("step", 2**53),
    ("step", 0.5),
    ("steps", 0),
    ("steps", -3),
    ("steps", 3),  # up to step 1 there are only two: 0 and 1
    ("ts", "1970-01-01T00:00:00Z"),
    ("ts", "9999-12-31T23:59:59Z"),
    ("ts", "2026-10-01T12:00:10"),
    ("ts", "2026-13-01T12:00:10Z"),
    ("ts", "2026-02-30T12:00:10Z"),
    ("ts", 1790000000),
    ("ts", ""),
    ("job", ""),
    ("job", None),
    ("job", {"a": 1}),
    ("job", "x" * 5000),
]


@pytest.mark.parametrize(
    ("field", "value"), BAD_STEP_VALUES, ids=[f"{f} {str(v)[:20]}" for f, v in BAD_STEP_VALUES]
)
def test_an_impossible_value_of_a_step_is_quarantined_alone(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, field: str, value: Any
) -> None:
    bad = STEP | {"job": "bad", "step": 1, field: value}
    path = folder / "a.steps.jsonl"
    path.write_bytes(jsonl(STEP, bad, STEP | {"job": "other"}))
    (summary,) = take(warehouse, path).summaries
    assert (summary.read, summary.new, summary.quarantined) == (3, 2, 1)
    (reason,) = reasons(warehouse)
    assert field in reason or reason == "not_json"


BAD_EVENT_VALUES: list[tuple[str, Any]] = [
    ("attempt", -1),
    ("attempt", 1e30),
    ("attempt", float("nan")),
    ("ts", "1970-01-01T00:00:00Z"),
    ("ts", "9999-12-31T23:59:59Z"),
    ("ts", "2026-10-01T12:00:00"),
    ("ts", 5),
    ("job", ""),
    ("job", ["a"]),
    ("nodes", [1.5]),
    ("nodes", {"n": 1}),
    ("nodes", "[1"),
    ("gpus", -1),
    ("gpus", float("inf")),
    ("cluster", {}),
    ("event", "resources_alocated"),
    ("event", None),
    ("event", ["x"]),
]


@pytest.mark.parametrize(
    ("field", "value"), BAD_EVENT_VALUES, ids=[f"{f} {v}" for f, v in BAD_EVENT_VALUES]
)
def test_an_impossible_value_of_an_event_is_quarantined_alone(
    warehouse: duckdb.DuckDBPyConnection, folder: Path, field: str, value: Any
) -> None:
    path = folder / "a.lifecycle.jsonl"
    path.write_bytes(jsonl(ALLOCATED, ALLOCATED | {field: value}, SUBMITTED))
    (summary,) = take(warehouse, path).summaries
    assert (summary.read, summary.new, summary.quarantined) == (3, 2, 1)


def test_quarantine_keeps_no_field_outside_the_allow_list(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    path = folder / "a.steps.jsonl"
    path.write_bytes(jsonl(STEP, STEP | {"attempt": -1, "prompt": "secret"}))
    take(warehouse, path)
    ((raw,),) = warehouse.execute("select raw from quarantine").fetchall()
    assert "secret" not in raw
    assert json.loads(raw)["attempt"] == -1


def test_quarantine_keeps_at_most_200_characters_of_text_that_is_no_record(
    warehouse: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    path = folder / "a.lifecycle.jsonl"
    path.write_bytes(jsonl(SUBMITTED) + b"x" * 5000 + b"\n")
    take(warehouse, path)
    assert warehouse.execute("select line, raw from quarantine").fetchall() == [(2, "x" * 200)]


# Anything -----------------------------------------------------------------------------------------

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
"""Any code points, halves of surrogate pairs and NULs among them."""

ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | ANY_TEXT
    | st.sampled_from(["2026-10-01T12:00:00Z", "", "0", "-1", "1e400", "nan", "1_0", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3),
    max_leaves=5,
)

SOME_EVENTS: list[dict[str, Any]] = [
    SUBMITTED | {"expected_duration_s": 60, "expected_step_s": 1, "checkpoint_interval_s": 5},
    ALLOCATED,
    {"event": "job_pending", "reason": "quota", "detail": "x"},
    {"event": "process_started", "attempt": 0},
    {"event": "checkpoint_loaded", "attempt": 0, "step": 0, "deliberate": True},
    {"event": "interruption", "attempt": 0, "cause": "hardware", "node": "n1"},
    {"event": "checkpoint_started", "attempt": 0, "step": 1, "blocking": True},
    {"event": "checkpoint_completed", "attempt": 0, "step": 1, "bytes": 5},
    {"event": "phase_started", "attempt": 0, "name": "evaluation"},
    {"event": "job_suspended"},
    {"event": "job_resumed"},
    {"event": "job_ended", "outcome": "failed"},
    {"event": "maintenance_started", "id": "m", "nodes": ["n1"], "jobs": ["odd"]},
    {"event": "maintenance_planned", "id": "m", "starts": STEP["ts"], "ends": STEP["ts"]},
]
ODD_RECORDS = [{"ts": STEP["ts"], "job": "odd"} | event | {"job": "odd"} for event in SOME_EVENTS]
ODD_RECORDS += [STEP | {"job": "odd", "straggler_node": "n1"}] * 6


@st.composite
def odd_record(draw: st.DrawFn) -> dict[str, Any]:
    """A good record some of whose fields hold any value, or none."""
    record = dict(draw(st.sampled_from(ODD_RECORDS)))
    for name in draw(st.lists(st.sampled_from(sorted(record)), max_size=3)):
        record[name] = draw(ANY_JSON)
    return record


@settings(max_examples=FUZZ, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(odd_record(), min_size=3, max_size=20), st.sampled_from(["lifecycle", "steps", "x"])
)
def test_any_value_in_any_field_is_stored_or_quarantined_and_the_rest_kept(
    odd: list[dict[str, Any]], stream: str
) -> None:
    with tempfile.TemporaryDirectory() as made, harness.fresh_warehouse() as con:
        path = Path(made) / f"a.{stream}.jsonl"
        path.write_bytes(jsonl(*GOOD, *odd))
        (summary,) = take(con, path, source="canonical").summaries
        assert summary.read == len(GOOD) + len(odd)
        assert summary.read == summary.new + summary.duplicate + summary.quarantined
        assert stored(con) == summary.new
        assert balances(con)
        kept = con.execute(
            "select count(*) from jobs join step_groups using (job_id) where job = 'good'"
        ).fetchall()
        assert kept == [(1,)]


HEADS = [
    b"",
    b"{",
    b"PAR1",
    gzip.compress(b"")[:10],
    jsonl(STEP),
    jsonl(SUBMITTED),
    b"job,attempt,step,ts,duration_s\n",
    b"event,ts,job,tier\n",
    b"JobID|JobIDRaw|State|Submit|Start|End|NodeList|AllocTRES|Partition\n",
    b':::MLLOG {"namespace": "", "time_ms": 1745261863032, "key": "init_start", "value": null,'
    b' "metadata": {}}\n',
    b':::MLLOG {"key": "',
]
DELIMITED = st.text(string.digits + "|,.:;-T \n\"{}[]\\'/x", max_size=200).map(str.encode)


@st.composite
def any_file(draw: st.DrawFn) -> bytes:
    """The beginning of a file that some source may recognise, and any bytes after it."""
    content = draw(st.sampled_from(HEADS)) + draw(st.binary(max_size=300) | DELIMITED)
    return draw(st.sampled_from([content, gzip.compress(content)]))


NAMES = ("a.jsonl", "b.steps.jsonl", "c.lifecycle.jsonl", "d.csv", "e.parquet", "f")


@settings(max_examples=FUZZ, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(NAMES), any_file(), min_size=2),
    st.sampled_from(["auto", "canonical", "slurm", "mlperf"]),
)
def test_any_bytes_are_read_refused_or_quarantined_and_other_files_kept(
    files: dict[str, bytes], source: str
) -> None:
    with tempfile.TemporaryDirectory() as made, harness.fresh_warehouse() as con:
        paths = [Path(made) / name for name in files]
        for path in paths:
            path.write_bytes(files[path.name])
        read = take(con, *paths, source=source)
        assert all(s.read <= s.new + s.duplicate + s.quarantined for s in read.summaries)
        assert len(read.summaries) + len(read.failures) == len(paths)
        good = Path(made) / "good.lifecycle.jsonl"
        good.write_bytes(jsonl(SUBMITTED | {"job": "kept"}))
        take(con, good)
        assert con.execute("select count(*) from jobs where job = 'kept'").fetchall() == [(1,)]
        assert balances(con)


# Messages and exit codes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which nothing was ever published."""
    return tmp_path_factory.mktemp("bad") / "home"


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_good_files_are_published_though_a_bad_one_is_among_them(home: Path) -> None:
    folder = home.parent / "mixed"
    folder.mkdir()
    (folder / "a.lifecycle.jsonl").write_bytes(jsonl(SUBMITTED, ALLOCATED))
    (folder / "a.steps.jsonl").write_bytes(jsonl(STEP) + b"\xff\xfe\n{torn\n")
    (folder / "b.parquet").write_bytes(b"PAR1" + bytes(100))
    records = [STEP | {"step": n, "job": os.urandom(20).hex()} for n in range(200)]
    whole = gzip.compress(jsonl(*records))
    (folder / "c.steps.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    done = headway(home, "ingest", "mixed", "--format", "json")
    assert_refused(done, 2, "b.parquet", "cannot be read as Parquet", "headway quality")
    new = [row["new"] for row in json.loads(done.stdout)]
    assert new[:2] == [2, 1]
    assert 50 < new[2] < 150
    shown = headway(home, "quality", "--format", "json")
    told = {row["reason"]: row["example_line"] for row in json.loads(shown.stdout)["quarantine"]}
    assert told == {"not_utf8": 2, "not_json": 3, "truncated_file": new[2] + 1}
