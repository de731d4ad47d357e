"""A simulation's events through the product, and its truth, in comparable shapes."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import harness
import pyarrow as pa
import pyarrow.parquet as pq

from answers import shares
from answers.home import Home
from answers.mart import Mart, open_mart
from metrics.policy import Policy
from pipelines.publish import publish

Answers = dict[str, Any]


def event_files(folder: Path) -> list[Path]:
    """The event files of a simulation, by hour."""
    return sorted((folder / "events").iterdir())


def hourly(folder: Path) -> list[list[Path]]:
    """The event files of a simulation, those of one hour together."""
    hours: dict[str, list[Path]] = {}
    for path in event_files(folder):
        hours.setdefault(path.name.split(".")[0], []).append(path)
    return list(hours.values())


def node_states(con: duckdb.DuckDBPyConnection) -> dict[tuple[int, str], int]:
    """The capacity ledger told back as states of nodes: {(hour_us, state): gpu_us}.

    A job on a lent or draining node leaves that its category; all else that jobs hold is allocated.
    """
    rows = con.execute(
        "select hour_us, case when category = 'stranded' then 'idle'"
        "   when component in ('node', 'no_record') or category in ('backfill', 'draining')"
        "   then category else 'allocated' end as state, sum(gpu_us) from capacity group by all"
    ).fetchall()
    return {(hour_us, state): int(gpu_us) for hour_us, state, gpu_us in rows}


def true_node_states(folder: Path) -> dict[tuple[int, str], int]:
    """The same as the simulator knows it."""
    rows = truth_rows(folder, "capacity")
    return {(row["hour_us"], row["state"]): row["gpu_us"] for row in rows if row["gpu_us"]}


def answers(con: duckdb.DuckDBPyConnection) -> Answers:
    """Ledger, restarts and waits as the product derives them."""
    return {
        "ledger": harness.ledger(con),
        "restarts": harness.restarts(con),
        "queue": harness.waits(con),
    }


def derived_at_once(folder: Path, scratch: Path) -> Answers:
    """What the product derives from all events, delivered as one file of each kind."""
    with delivered_at_once(folder, scratch) as con:
        return answers(con)


@contextmanager
def delivered_at_once(folder: Path, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse that holds all events of a simulation, and what follows from them."""
    files = event_files(folder)
    with harness.fresh_warehouse() as con:
        for kind in ("lifecycle.jsonl", "late.steps.jsonl"):
            text = "".join(f.read_text(encoding="utf-8") for f in files if f.name.endswith(kind))
            if text:
                path = scratch / f"all.{kind}"
                path.write_text(text, encoding="utf-8")
                harness.ingest_one(con, path)
        tables = [pq.read_table(f) for f in files if f.suffix == ".parquet"]
        pq.write_table(pa.concat_tables(tables), scratch / "all.steps.parquet")
        harness.ingest_one(con, scratch / "all.steps.parquet")
        harness.rederive(con)
        yield con


def truth_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """A table of the truth."""
    rows: list[dict[str, Any]] = pq.read_table(folder / "truth" / f"{name}.parquet").to_pylist()
    return rows


def truth(folder: Path) -> Answers:
    """Ledger, restarts and waits as the simulator knows them."""
    ledger: dict[str, dict[tuple[int, str, str, str], int]] = {}
    for row in truth_rows(folder, "ledger"):
        key = (row["hour_us"], row["category"], row["component"], row["cause"])
        ledger.setdefault(row["job"], {})[key] = row["us"]
    columns = ("job", "submitted_us", "started_us", "wait_us", "censored", "basis")
    return {
        "ledger": ledger,
        "restarts": [tuple(row.values()) for row in truth_rows(folder, "restarts")],
        "queue": [tuple(row[c] for c in columns) for row in truth_rows(folder, "queue")],
    }


def differences(found: Answers, expected: Answers) -> list[str]:
    """The first few differences, in words; none where everything is equal."""
    told = []
    for job in sorted(found["ledger"].keys() | expected["ledger"].keys()):
        mine, theirs = expected["ledger"].get(job, {}), found["ledger"].get(job, {})
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                told.append(f"{job} {key}: truth {mine.get(key)}, product {theirs.get(key)}")
    for name in ("restarts", "queue"):
        mine, theirs = set(expected[name]), set(found[name])
        told += [f"{name}, only in the truth: {row}" for row in sorted(mine - theirs, key=str)]
        told += [f"{name}, only derived: {row}" for row in sorted(theirs - mine, key=str)]
    return told[:20]


def guaranteed(folder: Path) -> dict[str, int]:
    """GPUs that each tenant of a simulation is guaranteed."""
    scenario = json.loads((folder / "truth" / "scenario.json").read_text(encoding="utf-8"))
    gpus: dict[str, int] = scenario["guaranteed_gpus"]
    return gpus


@contextmanager
def published(con: duckdb.DuckDBPyConnection, policy: Policy, scratch: Path) -> Iterator[Mart]:
    """The mart that follows from a warehouse."""
    home = Home.open(scratch / "home")
    publish(con, home, policy, as_of_given=False)
    with open_mart(home) as mart:
        yield mart


VERDICT = ("contract", "job", "at_us", "kept")
TURN = ("job", "start_us", "end_us", "part", "reason")
PART = ("job", "part", "reason", "us")
WAITING = (
    *("job", "since_us", "is_again", "part", "reason", "reason_since_us"),
    *("gpus", "gathered_gpus", "gathered_since_us"),
)
SHARE = (
    *("hour_us", "tenant", "guaranteed_gpu_us"),
    *("used_gpu_us", "lent_gpu_us", "borrowed_gpu_us"),
)
EVER_US = (0, 2**62)


def cluster_answers(folder: Path, scratch: Path) -> Answers:
    """The cluster's side as published: contracts, waits and shares, each as a bag of rows."""
    policy = harness.POLICY.model_copy(update={"shares": guaranteed(folder)})
    with delivered_at_once(folder, scratch) as con, published(con, policy, scratch) as mart:
        return {
            "contracts": _bag(mart.rows("from contracts"), VERDICT),
            "waits": _bag(mart.rows("from wait_story"), TURN),
            "parts": _bag(mart.rows("from wait_parts"), PART),
            "waiting": _bag(mart.rows("from waiting"), WAITING),
            "shares": _bag(shares.rows(mart, policy, EVER_US), SHARE),
        }


def cluster_truth(folder: Path) -> Answers:
    """The same as the simulator knows it."""
    turns = truth_rows(folder, "waits")
    parts: Counter[tuple[str, ...]] = Counter()
    for turn in turns:
        parts[turn["job"], turn["part"], turn["reason"]] += turn["end_us"] - turn["start_us"]
    return {
        "contracts": _bag(truth_rows(folder, "contracts"), VERDICT),
        "waits": _bag(turns, TURN),
        "parts": Counter((*key, us) for key, us in parts.items()),
        "waiting": _bag(truth_rows(folder, "waiting"), WAITING),
        "shares": _bag(truth_rows(folder, "shares"), SHARE),
    }


def _bag(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[column] for column in columns) for row in rows)


def cluster_differences(found: Answers, expected: Answers) -> list[str]:
    """The first few differences of the cluster's side, in words.

    Of a share the product may say that it is unknown (whether a job that never ran would have
    fitted those nodes); the simulator never does.
    """
    unknown = {
        row[:3] for row in found["contracts"] if row[0] == "guaranteed_share" and row[3] is None
    }
    told = []
    for name, mine in expected.items():
        sides = {"only in the truth": mine - found[name], "only derived": found[name] - mine}
        for where, rows in sides.items():
            ordered = sorted(rows.elements(), key=str)
            told += [f"{name}, {where}: {row}" for row in ordered if row[:3] not in unknown]
    return told[:20]
