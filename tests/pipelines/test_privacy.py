"""Nothing beyond the allow-list is stored anywhere, whatever source it comes from.

A marker is planted where a careless trainer would put weights, prompts, environment variables and
tokens; afterwards every file of the home, every text in its databases, and all that was printed is
searched for it. A name that must be there proves each time that the search finds what is stored.
"""

import csv
import gzip
import hashlib
import hmac
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from searching import places_of
from typer.testing import CliRunner

from answers.home import Home
from metrics.policy import DEFAULT_POLICY_FILE
from pipelines.cli import app
from pipelines.sources.registry import SOURCES

MARKER = "PLANTED-b5c1"
SECRETS = {
    "weights": [MARKER, 0.5],
    "prompt": f"say {MARKER}",
    "env": {"API_TOKEN": MARKER},
    MARKER: 1,
}
FLAT_SECRETS = {"prompt": f"say {MARKER}", "api_token": MARKER, "env": f"TOKEN={MARKER}"}
USER = "alice.liddell"
SALT = "a salt that nobody guesses"
TS = "2026-11-01T00:00:00Z"
PADDING = "x" * 200


@dataclass(frozen=True)
class Delivery:
    """A file to ingest: how many fields of its good records must be counted as dropped."""

    source: str
    path: Path
    dropped: int
    known: str


def submission(**more: Any) -> dict[str, Any]:
    fields = {"event": "job_submitted", "ts": TS, "job": "known-job", "tier": "batch", "user": USER}
    return fields | more


def step(number: int, **more: Any) -> dict[str, Any]:
    fields = {"job": "known-job", "attempt": 0, "step": number, "ts": TS, "duration_s": 1.5}
    return fields | more


def lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def lifecycle_jsonl(folder: Path) -> Delivery:
    """A good record, ones that are refused for three reasons, and text that is none."""
    path = folder / "x.lifecycle.jsonl"
    records = [
        submission(**SECRETS),
        submission(gpus="many", **SECRETS),
        {"event": "prompt_logged", "ts": TS, "job": "known-job", **SECRETS},
        {"event": "checkpoint_loaded", "ts": TS, "job": "known-job", "weights": MARKER},
        submission(nodes=[{"token": MARKER}]),
    ]
    path.write_text(lines(records) + f'{{"torn": "{PADDING}{MARKER}\n', encoding="utf-8")
    return Delivery("canonical", path, len(SECRETS) + 1, "known-job")


def lifecycle_gzip(folder: Path) -> Delivery:
    path = folder / "x.lifecycle.jsonl.gz"
    path.write_bytes(gzip.compress(lines([submission(**SECRETS)]).encode()))
    return Delivery("canonical", path, len(SECRETS), "known-job")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def lifecycle_csv(folder: Path) -> Delivery:
    path = folder / "x.lifecycle.csv"
    write_csv(path, [submission(**FLAT_SECRETS), submission(**FLAT_SECRETS) | {"ts": "never"}])
    return Delivery("canonical", path, len(FLAT_SECRETS), "known-job")


def lifecycle_parquet(folder: Path) -> Delivery:
    path = folder / "x.lifecycle.parquet"
    rows = [submission(**FLAT_SECRETS), submission(**FLAT_SECRETS) | {"ts": "never"}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return Delivery("canonical", path, len(FLAT_SECRETS), "known-job")


def steps_in_bulk(folder: Path) -> Delivery:
    path = folder / "x.steps.jsonl"
    path.write_text(lines([step(1, **SECRETS), step(2)]), encoding="utf-8")
    return Delivery("canonical", path, len(SECRETS), "known-job")


def steps_by_line(folder: Path) -> Delivery:
    path = folder / "x.steps.jsonl"
    bad = step(3, **SECRETS) | {"duration_s": -1}
    rival = step(1, **SECRETS) | {"duration_s": 2}
    torn = f'{{"job": "{PADDING}{MARKER}'
    path.write_text(lines([step(1, **SECRETS), bad, rival]) + torn, encoding="utf-8")
    return Delivery("canonical", path, 3 * len(SECRETS), "known-job")


def steps_csv(folder: Path) -> Delivery:
    path = folder / "x.steps.csv"
    write_csv(path, [step(1, **FLAT_SECRETS), step(2, **FLAT_SECRETS) | {"duration_s": "long"}])
    return Delivery("canonical", path, len(FLAT_SECRETS), "known-job")


def steps_parquet(folder: Path) -> Delivery:
    path = folder / "x.steps.parquet"
    pq.write_table(pa.Table.from_pylist([step(1, **FLAT_SECRETS)]), path)
    return Delivery("canonical", path, len(FLAT_SECRETS), "known-job")


def slurm(folder: Path) -> Delivery:
    """sacct with columns that are not read; a row that is refused, and one that is torn."""
    header = "JobID|State|Submit|Start|End|User|NodeList|WorkDir|Comment|SubmitLine|AdminComment"
    free = f"/home/{MARKER}|{MARKER}|sbatch --export=TOKEN={MARKER}|{MARKER}"
    good = f"7|COMPLETED|{TS}|{TS}|2026-11-01T01:00:00Z|{USER}|known-node|{free}"
    bad = f"8|MELTED|{TS}|{TS}||{USER}|known-node|{free}"
    torn = f"9|COMPLETED|{PADDING}|{MARKER}"
    path = folder / "sacct.psv"
    path.write_text("\n".join([header, good, bad, torn]) + "\n", encoding="utf-8")
    return Delivery("slurm", path, 0, "known-node")


def mlperf(folder: Path) -> Delivery:
    """A training log whose ordinary output and log lines hold what is nobody's business."""

    def line(time_ms: int | str, key: str, value: Any = None, **metadata: Any) -> str:
        fields = {"time_ms": time_ms, "key": key, "value": value, "metadata": metadata}
        return f":::MLLOG {json.dumps(fields)}"

    begin_ms = 1_793_000_000_000
    text = [
        f"export API_TOKEN={MARKER}",
        line(begin_ms, "run_start", None, prompt=MARKER),
        line(begin_ms + 500, "prompt", MARKER),
        line("soon", "weights", MARKER, env={"TOKEN": MARKER}),
        f":::MLLOG {{ {PADDING}{MARKER}",
        line(begin_ms + 60_000, "run_stop", None, status="success", prompt=MARKER),
    ]
    path = folder / "known-run.txt"
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return Delivery("mlperf", path, 0, "known-run")


DELIVERIES: dict[str, Callable[[Path], Delivery]] = {
    made.__name__: made
    for made in (
        lifecycle_jsonl,
        lifecycle_gzip,
        lifecycle_csv,
        lifecycle_parquet,
        steps_in_bulk,
        steps_by_line,
        steps_csv,
        steps_parquet,
        slurm,
        mlperf,
    )
}
WITH_USERS = ("lifecycle_jsonl", "lifecycle_csv", "slurm")


def said_by(home: Home, *arguments: str, fails: bool = False) -> str:
    """All that a command prints: its answer, a form feed, then what goes to stderr."""
    done = CliRunner().invoke(app, [*arguments, "--home", str(home.root)])
    told = f"{done.stdout}\f{done.stderr}{done.exception or ''}"
    assert (done.exit_code != 0) is fails, told
    return told


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home")


def hashing(home: Home, section: str) -> Home:
    text = DEFAULT_POLICY_FILE.read_text(encoding="utf-8")
    given = re.sub("^privacy: .*$", f"privacy: {section}", text, flags=re.MULTILINE)
    assert given != text
    home.policy_file.write_text(given, encoding="utf-8")
    return home


def with_salt(home: Home) -> Home:
    (home.root.parent / "salt").write_text(SALT + "\n", encoding="utf-8")
    return hashing(home, "{hash_users: true, salt_file: ../salt}")


def pseudonym() -> str:
    """RFC 2104 with SHA-256, as the policy documents it."""
    return hmac.new(SALT.encode(), USER.encode(), hashlib.sha256).hexdigest()[:16]


def test_every_source_is_tried(tmp_path: Path) -> None:
    assert {made(tmp_path).source for made in DELIVERIES.values()} == set(SOURCES)


@pytest.mark.parametrize("name", DELIVERIES)
def test_nothing_beyond_the_allow_list_is_stored_or_told_and_what_is_dropped_is_counted(
    name: str, home: Home, tmp_path: Path
) -> None:
    delivery = DELIVERIES[name](tmp_path)
    assert MARKER.encode() in delivery.path.read_bytes() or delivery.path.suffix == ".gz"
    told = said_by(home, "ingest", str(delivery.path), "--format", "json")
    (row,) = json.loads(told.partition("\f")[0])
    assert (row["source"], row["dropped_fields"]) == (delivery.source, delivery.dropped)
    assert places_of(home, MARKER) == []
    assert MARKER not in told
    assert "a table of warehouse.duckdb" in places_of(home, delivery.known)


def test_of_text_that_is_no_record_200_characters_are_kept(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "x.lifecycle.jsonl"
    path.write_text(lines([submission()]) + "n" * 1000 + "\n", encoding="utf-8")
    said_by(home, "ingest", str(path), "--no-refresh")
    with duckdb.connect(home.warehouse, read_only=True) as con:
        assert con.execute("select raw from quarantine").fetchall() == [("n" * 200,)]


@pytest.mark.parametrize("name", WITH_USERS)
def test_a_hashed_name_stands_nowhere_not_even_in_quarantine(
    name: str, home: Home, tmp_path: Path
) -> None:
    with_salt(home)
    told = said_by(home, "ingest", str(DELIVERIES[name](tmp_path).path))
    assert places_of(home, USER) == []
    assert USER not in told
    assert SALT not in told
    assert places_of(home, SALT) == []
    assert "a table of warehouse.duckdb" in places_of(home, pseudonym())


def test_without_the_policy_names_are_kept(home: Home, tmp_path: Path) -> None:
    said_by(home, "ingest", str(lifecycle_jsonl(tmp_path).path))
    assert "a table of warehouse.duckdb" in places_of(home, USER)


def test_a_refused_record_is_quarantined_with_the_hashed_name(home: Home, tmp_path: Path) -> None:
    with_salt(home)
    path = tmp_path / "x.lifecycle.jsonl"
    odd = submission(user=[USER])
    path.write_text(lines([submission(gpus="many"), odd]) + f'{{"user": "{USER}\n')
    said_by(home, "ingest", str(path), "--no-refresh")
    with duckdb.connect(home.warehouse, read_only=True) as con:
        rows = con.execute("select reason, raw from quarantine order by line").fetchall()
    many, listed, torn = rows
    assert json.loads(many[1])["user"] == pseudonym()
    assert listed[0] == "bad field user: not text"
    assert json.loads(listed[1])["user"] == []
    assert torn == ("not_json", "(23 characters withheld: user names are hashed)")


def test_a_reason_quotes_nothing_where_names_are_hashed(home: Home, tmp_path: Path) -> None:
    with_salt(home)
    path = tmp_path / "sacct.psv"
    header = "JobID|State|Submit|Start|End|User"
    path.write_text(f"{header}\n{USER}|COMPLETED|{TS}|{TS}|{TS}|9\n", encoding="utf-8")
    said_by(home, "ingest", str(path), "--no-refresh")
    assert places_of(home, USER) == []


def test_hashed_records_delivered_again_or_in_another_form_count_once(
    home: Home, tmp_path: Path
) -> None:
    with_salt(home)
    first, second = tmp_path / "a.lifecycle.jsonl", tmp_path / "b.lifecycle.jsonl"
    first.write_text(lines([submission()]), encoding="utf-8")
    second.write_text(lines([submission(), submission()]), encoding="utf-8")
    for path in (first, second, first):
        said_by(home, "ingest", str(path), "--no-refresh")
    with duckdb.connect(home.warehouse, read_only=True) as con:
        assert con.execute('select "user" from events').fetchall() == [(pseudonym(),)]


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ("{hash_users: true}", "HEADWAY_USER_SALT"),
        ("{hash_users: true, salt_file: nowhere}", "nowhere: the salt"),
        ("{hash_users: true, salt_file: short}", "fewer than 16"),
    ],
)
def test_without_a_readable_salt_nothing_is_ingested(
    section: str, says: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWAY_USER_SALT", raising=False)
    hashing(home, section)
    (home.root / "short").write_text("x", encoding="utf-8")
    said = said_by(home, "ingest", str(lifecycle_jsonl(tmp_path).path), fails=True)
    assert says in said
    assert places_of(home, "known-job") == []


def test_the_salt_may_stand_in_the_environment(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_USER_SALT", SALT)
    hashing(home, "{hash_users: true}")
    said_by(home, "ingest", str(lifecycle_jsonl(tmp_path).path), "--no-refresh")
    assert "a table of warehouse.duckdb" in places_of(home, pseudonym())
