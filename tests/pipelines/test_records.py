"""Section 1, the lifecycle stream: what a record may hold, and what becomes of a bad one."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import harness
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from harness import ingest_one as take
from harness import quarantine
from harness import write_lines as write

from pipelines.records import BadRecord, Checked, check_lifecycle

TS = "2026-03-02T00:00:10Z"
TS_US = 1_772_409_610_000_000

REFERENCE: dict[str, tuple[str, str]] = {
    "job_submitted": (
        "job tier",
        "tenant user name gpus expected_duration_s checkpoint_interval_s expected_step_s"
        " code_version data_version",
    ),
    "job_pending": ("job reason", "detail"),
    "resources_allocated": ("job attempt", "nodes gpus"),
    "data_staged": ("job attempt", ""),
    "process_started": ("job attempt", ""),
    "checkpoint_loaded": ("job attempt step", "location deliberate"),
    "interruption": ("job attempt cause", "node detail"),
    "checkpoint_started": ("job attempt step", "blocking"),
    "checkpoint_completed": ("job attempt step", "bytes location"),
    "checkpoint_failed": ("job attempt step", "detail"),
    "phase_started": ("job attempt name", ""),
    "phase_ended": ("job attempt name", ""),
    "preemption_signal": ("job attempt grace_s", "by_job"),
    "job_suspended": ("job", ""),
    "job_resumed": ("job", ""),
    "job_ended": ("job outcome", ""),
    "maintenance_planned": ("id starts ends", "jobs nodes detail"),
    "maintenance_started": ("id", "jobs nodes detail"),
    "maintenance_ended": ("id", "jobs nodes detail"),
    "change_started": ("id change", "scope nodes detail"),
    "change_ended": ("id change", "scope nodes detail"),
    "node_state": ("node gpus state", ""),
    "reservation_started": ("job gpus_gathered", ""),
    "reservation_updated": ("job gpus_gathered", ""),
    "reservation_ended": ("job gpus_gathered", ""),
    "backfill_started": ("job for_job gpus preemptible", ""),
    "backfill_ended": ("job for_job gpus preemptible", ""),
    "restore_test": ("job step result", "checks duration_s location detail"),
}
"""The table of section 1: fields that must be there, fields that may."""

SAMPLE: dict[str, Any] = {
    "job": "j",
    "attempt": 0,
    "step": 60,
    "tier": "standard",
    "tenant": "nlp",
    "user": "ada",
    "name": "evaluation",
    "gpus": 64,
    "expected_duration_s": 3600,
    "checkpoint_interval_s": 600.5,
    "expected_step_s": 2,
    "code_version": "c1",
    "data_version": "d1",
    "reason": "quota",
    "detail": "link 3",
    "nodes": ["n1", "n2"],
    "location": "bucket",
    "deliberate": True,
    "cause": "hardware",
    "node": "n1",
    "blocking": False,
    "bytes": 2**40,
    "grace_s": 30,
    "by_job": "k",
    "outcome": "failed",
    "id": "m1",
    "starts": "2026-03-03T00:00:00Z",
    "ends": "2026-03-03T04:00:00+01:00",
    "jobs": ["j", "k"],
    "change": "firmware",
    "scope": "rack 1",
    "state": "idle",
    "gpus_gathered": 8,
    "for_job": "k",
    "preemptible": True,
    "result": "pass",
    "checks": "hash",
    "duration_s": 12.25,
}


def record(event: str, **fields: Any) -> dict[str, Any]:
    """A record of the event with its required fields, changed by `fields`."""
    required, _ = REFERENCE[event]
    return {"event": event, "ts": TS} | {f: SAMPLE[f] for f in required.split()} | fields


def refused(fields: dict[str, Any]) -> str:
    """Why the record is refused."""
    with pytest.raises(BadRecord) as caught:
        check_lifecycle(fields)
    return str(caught.value)


def columns(fields: dict[str, Any]) -> dict[str, Any]:
    """What is stored of a good record."""
    return check_lifecycle(fields).columns


# --- the reference ---


@pytest.mark.parametrize("event", REFERENCE)
def test_a_record_with_its_required_fields_is_good(event: str) -> None:
    checked = check_lifecycle(record(event))
    assert checked.dropped == 0
    assert (checked.columns["event"], checked.columns["ts_us"]) == (event, TS_US)


@pytest.mark.parametrize(
    ("event", "field"), [(e, f) for e, (required, _) in REFERENCE.items() for f in required.split()]
)
def test_a_record_without_a_required_field_is_refused(event: str, field: str) -> None:
    whole = record(event)
    absent = {name: value for name, value in whole.items() if name != field}
    assert refused(absent) == refused(whole | {field: None}) == f"missing field {field}"


@pytest.mark.parametrize("event", REFERENCE)
def test_a_record_may_have_its_optional_fields_and_a_cluster(event: str) -> None:
    optional = REFERENCE[event][1].split()
    checked = check_lifecycle(record(event, cluster="east", **{f: SAMPLE[f] for f in optional}))
    assert checked.dropped == 0
    assert checked.columns["cluster"] == "east"
    assert len(checked.columns) == 3 + len(REFERENCE[event][0].split()) + len(optional)


@pytest.mark.parametrize("event", REFERENCE)
def test_fields_of_other_events_are_dropped_and_counted(event: str) -> None:
    allowed = set(" ".join(REFERENCE[event]).split())
    others = {name: value for name, value in SAMPLE.items() if name not in allowed}
    checked = check_lifecycle(record(event, **others))
    assert checked.dropped == len(others)
    assert checked.columns == columns(record(event))


def test_unknown_fields_are_dropped_and_counted_whatever_is_in_them() -> None:
    checked = check_lifecycle(record("job_suspended", prompt="secret", env={"KEY": ["secret"]}))
    assert checked.dropped == 2
    assert "secret" not in json.dumps(checked.columns)


def test_a_field_that_is_null_is_absent() -> None:
    assert columns(record("resources_allocated", gpus=None)) == columns(
        record("resources_allocated")
    )


@pytest.mark.parametrize("event", [None, "", "job_paused", "JOB_ENDED", 5, ["job_ended"], {}])
def test_an_unknown_event_is_refused(event: object) -> None:
    assert refused(record("job_ended") | {"event": event}) == "unknown event"


# --- values ---


@pytest.mark.parametrize(
    ("event", "field", "values"),
    [
        (
            "job_pending",
            "reason",
            "quota gang_size topology power priority dependency maintenance user_hold other",
        ),
        (
            "interruption",
            "cause",
            "hardware network storage software preemption maintenance job_error unknown",
        ),
        ("job_ended", "outcome", "completed failed cancelled"),
        (
            "node_state",
            "state",
            "allocated spare_for_restart warm_pool draining gang_reserved backfill maintenance down"
            " power_capped idle",
        ),
        ("restore_test", "result", "pass fail"),
    ],
)
def test_a_field_with_named_values_holds_one_of_them(event: str, field: str, values: str) -> None:
    for value in values.split():
        assert columns(record(event, **{field: value}))[field] == value
    for value in ("gremlins", "", 1, [values.split()[0]]):
        assert refused(record(event, **{field: value})).startswith(f"bad field {field}: not one of")


@pytest.mark.parametrize(
    ("ts", "us"),
    [
        (TS, TS_US),
        ("2026-03-02T01:00:10+01:00", TS_US),
        ("2026-03-01T15:30:10-08:30", TS_US),
        ("2026-03-02t00:00:10z", TS_US),
        ("2026-03-02 00:00:10Z", TS_US),
        ("2026-03-02T00:00:10.5Z", TS_US + 500_000),
        ("2026-03-02T00:00:10.123456Z", TS_US + 123_456),
        ("2026-03-02T00:00:10.123456789Z", TS_US + 123_456),
        ("2028-02-29T00:00:00Z", 1_835_395_200_000_000),
        ("2000-01-01T00:00:00Z", 946_684_800_000_000),
        ("2099-12-31T23:59:59.999999Z", 4_102_444_799_999_999),
    ],
)
def test_a_timestamp_is_taken_to_the_microsecond(ts: str, us: int) -> None:
    assert columns(record("job_suspended", ts=ts))["ts_us"] == us


@pytest.mark.parametrize(
    "ts",
    [
        pytest.param("2026-03-02T00:00:10", id="no offset"),
        pytest.param("2026-03-02", id="a date"),
        pytest.param("2026-03-02T00:00Z", id="no seconds"),
        pytest.param("2026-02-29T00:00:00Z", id="a day that was none"),
        pytest.param("2026-03-02T24:00:00Z", id="an hour that is none"),
        pytest.param("2026-03-02T00:00:60Z", id="a second that cannot be placed"),
        pytest.param("2026-03-02T00:00:10+99:99", id="an offset that is none"),
        pytest.param("1970-01-01T00:00:00Z", id="1970"),
        pytest.param("1999-12-31T23:59:59Z", id="1999"),
        pytest.param("2100-01-01T00:00:00Z", id="2100"),
        pytest.param("9999-12-31T23:59:59Z", id="9999"),
        pytest.param("٢٠٢٦-03-02T00:00:10Z", id="digits of another script"),
        pytest.param("yesterday", id="text"),
        pytest.param("", id="empty"),
        pytest.param(1_772_409_610, id="a number"),
        pytest.param(["2026-03-02T00:00:10Z"], id="a list"),
    ],
)
def test_what_is_no_moment_is_refused(ts: object) -> None:
    assert refused(record("job_suspended", ts=ts)).startswith("bad field ts: ")
    assert refused(record("maintenance_planned", ends=ts)).startswith("bad field ends: ")


def test_a_record_without_ts_is_refused() -> None:
    assert refused({"event": "job_suspended", "job": "j"}) == "missing field ts"


@pytest.mark.parametrize("value", [-1, 1.5, 2**31, 1e300, "x", "", True, [0], {}, float("nan")])
def test_what_is_no_attempt_is_refused(value: object) -> None:
    assert refused(record("data_staged", attempt=value)).startswith("bad field attempt: ")


@pytest.mark.parametrize("value", [7, 7.0, "7"])
def test_a_whole_number_may_be_written_in_any_way(value: object) -> None:
    assert columns(record("data_staged", attempt=value))["attempt"] == 7


@pytest.mark.parametrize("value", [-1, 0.5, 2**53, float("inf"), "many", False])
@pytest.mark.parametrize("field", ["step", "bytes"])
def test_what_is_no_count_is_refused(field: str, value: object) -> None:
    refusal = refused(record("checkpoint_completed", **{field: value}))
    assert refusal.startswith(f"bad field {field}: ")


@pytest.mark.parametrize(
    ("seconds", "us"),
    [(2, 2_000_000), ("2.5", 2_500_000), (0, 0), (1.0000004, 1_000_000), (1.0000006, 1_000_001)],
)
def test_a_duration_is_taken_to_the_nearest_microsecond(seconds: object, us: int) -> None:
    assert columns(record("job_submitted", expected_step_s=seconds))["expected_step_us"] == us


@pytest.mark.parametrize("value", [-1, -1e-9, 1e30, float("nan"), float("inf"), "long", True, [1]])
def test_what_is_no_duration_is_refused(value: object) -> None:
    refusal = refused(record("preemption_signal", grace_s=value))
    assert refusal.startswith("bad field grace_s: ")


@pytest.mark.parametrize("value", ["", "a\0b", "x" * 5000, {"a": 1}, ["j"], 1.5, True, "\ud800"])
def test_what_is_no_text_is_refused(value: object) -> None:
    # The last is half of a character: it can be neither written nor compared.
    assert refused(record("job_suspended", job=value)).startswith("bad field job: ")


def test_a_name_may_be_a_number_and_of_any_script() -> None:
    assert columns(record("job_suspended", job=4711))["job"] == "4711"
    assert columns(record("job_suspended", job="обучение-7 ü"))["job"] == "обучение-7 ü"


@pytest.mark.parametrize(
    ("nodes", "names"),
    [
        (["n2", "n1", "n2"], ["n1", "n2"]),
        ("n2 n1", ["n1", "n2"]),
        ("n2,n1", ["n1", "n2"]),
        ('["n2", "n1"]', ["n1", "n2"]),
        ([7], ["7"]),
        ("['n2', 'n1']", ["n1", "n2"]),
        ("['n2' 'n1'\n 'n3']", ["n1", "n2", "n3"]),
        ("[]", []),
    ],
)
def test_a_list_of_names_may_be_written_in_any_way(nodes: object, names: list[str]) -> None:
    assert columns(record("resources_allocated", nodes=nodes))["nodes"] == names


@pytest.mark.parametrize(
    "nodes", [{"n1": 1}, [["n1"]], [None], [""], "[n1", "['n1', 5]", "['']", 5, [{"a": "b"}]]
)
def test_what_is_no_list_of_names_is_refused(nodes: object) -> None:
    assert refused(record("resources_allocated", nodes=nodes)).startswith("bad field nodes: ")


@pytest.mark.parametrize(
    ("value", "flag"), [(True, True), (False, False), ("true", True), ("False", False)]
)
def test_a_flag_may_be_written_as_text(value: object, flag: bool) -> None:
    assert columns(record("checkpoint_started", blocking=value))["blocking"] is flag


@pytest.mark.parametrize("value", [0, 1, "yes", "", []])
def test_what_is_no_flag_is_refused(value: object) -> None:
    assert refused(record("checkpoint_started", blocking=value)).startswith("bad field blocking: ")


# --- identity ---


def key(**fields: Any) -> str:
    """The identity of an allocation."""
    checked: Checked = check_lifecycle(record("resources_allocated", **fields))
    return checked.key


@pytest.mark.parametrize(
    "fields",
    [
        {"ts": "2026-03-02T01:00:10+01:00"},
        {"attempt": "0"},
        {"gpus": None},
        {"prompt": "dropped"},
        {"nodes": None, "cluster": None},
    ],
)
def test_records_that_say_the_same_are_one(fields: dict[str, Any]) -> None:
    assert key(**fields) == key()


@pytest.mark.parametrize(
    "fields",
    [
        {"ts": "2026-03-02T00:00:10.000001Z"},
        {"attempt": 1},
        {"gpus": 0},
        {"cluster": "east"},
        {"nodes": ["n1"]},
        {"job": "k"},
    ],
)
def test_records_that_differ_in_any_field_are_two(fields: dict[str, Any]) -> None:
    assert key(**fields) != key()


# --- files ---


def events(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """What was stored."""
    return con.execute(
        "select event, ts_us, job, attempt, cause, nodes, cluster, blocking from events"
        " left join jobs using (job_id) order by ts_us, event"
    ).fetchall()


MIXED = [
    record("resources_allocated", nodes=["n1", "n2"], cluster="east"),
    record("checkpoint_started", ts="2026-03-02T01:00:20+01:00", blocking=False),
    record("interruption", ts="2026-03-02T00:00:30.25Z", node="n1", detail='a "dead", link'),
    record("node_state", ts="2026-03-02T00:00:40Z"),
]


def as_csv(records: list[dict[str, Any]]) -> str:
    """The records as CSV; lists and flags in JSON's words."""
    names = sorted({name for r in records for name in r})
    lines: list[str] = []

    class Lines:
        write = staticmethod(lines.append)

    writer = csv.DictWriter(Lines, names, lineterminator="\n")
    writer.writeheader()
    for r in records:
        writer.writerow(
            {
                n: v if isinstance(v, (str, int)) and not isinstance(v, bool) else json.dumps(v)
                for n, v in r.items()
            }
        )
    return "".join(lines)


def test_every_format_gives_the_same_events(tmp_path: Path) -> None:
    text = "".join(json.dumps(r) + "\n" for r in MIXED)
    (tmp_path / "a.lifecycle.jsonl").write_text(text)
    (tmp_path / "b.lifecycle.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "c.lifecycle.csv").write_text(as_csv(MIXED))
    pq.write_table(
        pa.Table.from_pylist([{n: None for r in MIXED for n in r} | r for r in MIXED]),
        tmp_path / "d.lifecycle.parquet",
    )
    found = []
    for path in sorted(tmp_path.iterdir()):
        con = harness.fresh_warehouse()
        summary = take(con, path)
        assert (summary.new, summary.quarantined, summary.dropped_fields) == (4, 0, 0), path
        found.append(events(con))
    assert found[0][0] == ("resources_allocated", TS_US, "j", 0, None, ["n1", "n2"], "east", None)
    assert found == [found[0]] * 4


def test_a_file_of_both_streams_is_told_apart_line_by_line(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    a_step = {"job": "j", "attempt": 0, "step": 1, "ts": TS, "duration_s": 10}
    summary = take(con, write(tmp_path / "all.jsonl", record("data_staged"), a_step))
    assert (summary.read, summary.new) == (2, 2)
    assert len(events(con)) == 1
    assert con.execute("select count(*) from steps").fetchone() == (1,)


def test_bad_records_are_set_aside_with_line_reason_and_allow_listed_fields(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = write(
        tmp_path / "a.lifecycle.jsonl",
        record("job_suspended"),
        record("interruption", cause="gremlins", prompt="secret"),
        {"event": "weights_saved", "job": "j", "weights": "secret", "detail": {"x": "secret"}},
        record("job_resumed"),
        record("data_staged", attempt={"secret": ["secret"]}),
    )
    summary = take(con, path)
    assert (summary.read, summary.new, summary.quarantined) == (5, 2, 3)
    found = quarantine(con)
    assert [(line, reason.split(":")[0]) for line, reason, _ in found] == [
        (2, "bad field cause"),
        (3, "unknown event"),
        (5, "bad field attempt"),
    ]
    kept = [set(json.loads(raw)) for _, _, raw in found]
    assert kept == [
        {"event", "ts", "job", "attempt", "cause"},
        {"event", "job"},
        {"event", "ts", "job", "attempt"},
    ]
    assert "secret" not in str(found)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not a record\n", "not_json"),
        (b'{"event": "job_susp\n', "not_json"),
        (b"[1, 2]\n", "not_a_json_object"),
        (b'"text"\n', "not_a_json_object"),
        (b"null\n", "not_a_json_object"),
        (b'{"event": "job_suspended", "job": "\xff\xfe"}\n', "not_utf8"),
        (b"[" * 100_000 + b"\n", "not_json"),
        (b"x" * 2_000_000 + b"\n", "line_too_long"),
    ],
    ids=["text", "half", "list", "string", "null", "no utf-8", "deep", "endless"],
)
def test_a_line_that_is_no_record_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, line: bytes, reason: str
) -> None:
    summary = take(
        con,
        write(tmp_path / "a.lifecycle.jsonl", record("job_suspended"), line, record("job_resumed")),
    )
    assert (summary.read, summary.new, summary.quarantined) == (3, 2, 1)
    ((number, why, raw),) = quarantine(con)
    assert (number, why) == (2, reason)
    assert len(raw) <= 200


def test_a_half_written_first_line_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    torn = '"attempt": 0, "ts": "2026-03-02T00:00:05Z"}\n'
    summary = take(con, write(tmp_path / "a.lifecycle.jsonl", torn, record("job_suspended")))
    assert (summary.read, summary.new) == (2, 1)
    assert [row[:2] for row in quarantine(con)] == [(1, "not_json")]


def test_a_byte_order_mark_loses_no_record(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.lifecycle.jsonl", "\ufeff", record("job_suspended"), record("job_resumed")
    )
    summary = take(con, path)
    assert (summary.read, summary.new + summary.quarantined) == (2, 2)
    assert summary.new >= 1


def test_text_that_no_encoding_holds_is_set_aside_and_the_rest_kept(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    half = '{"event": "job_suspended", "ts": "2026-03-02T00:00:10Z", "job": "\\ud800"}\n'
    summary = take(con, write(tmp_path / "a.lifecycle.jsonl", half, record("job_resumed")))
    assert (summary.read, summary.new, summary.quarantined) == (2, 1, 1)


def test_a_truncated_archive_keeps_what_came_before(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    lines = [json.dumps(record("data_staged", attempt=n)) + "\n" for n in range(5_000)]
    whole = gzip.compress("".join(lines).encode())
    summary = take(con, write(tmp_path / "a.lifecycle.jsonl.gz", whole[: len(whole) // 2]))
    assert 0 < summary.new < 5_000
    assert (summary.quarantined, summary.read) == (1, summary.new + 1)
    assert [reason for _, reason, _ in quarantine(con)] == ["truncated_file"]


def test_a_record_is_stored_once_within_and_across_files(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    one, other = record("data_staged"), record("data_staged", attempt=1)
    first = take(con, write(tmp_path / "a.lifecycle.jsonl", one, one, one | {"prompt": 1}))
    second = take(con, write(tmp_path / "b.lifecycle.jsonl", other, one))
    assert (first.new, first.duplicate, first.dropped_fields) == (1, 2, 1)
    assert (second.new, second.duplicate) == (1, 1)
    assert len(events(con)) == 2


def test_a_file_delivered_again_is_known_and_changes_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.lifecycle.jsonl", record("data_staged"), "junk\n")
    take(con, path)
    before = [con.execute(f"from {t} order by all").fetchall() for t in ("events", "quarantine")]
    assert take(con, path).known
    assert take(con, path.rename(tmp_path / "b.lifecycle.jsonl")).known
    after = [con.execute(f"from {t} order by all").fetchall() for t in ("events", "quarantine")]
    assert after == before


@pytest.mark.parametrize("name", ["a.lifecycle.jsonl", "a.lifecycle.csv", "a.lifecycle.jsonl.gz"])
@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_an_empty_file_holds_nothing(
    con: duckdb.DuckDBPyConnection, tmp_path: Path, name: str, content: bytes
) -> None:
    data = gzip.compress(content) if name.endswith("gz") else content
    summary = take(con, write(tmp_path / name, data))
    assert (summary.read, summary.new, summary.quarantined) == (0, 0, 0)
