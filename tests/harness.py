"""What the whole-product tests share: records into a warehouse, and its answers out of it.

Records are dictionaries in µs, as `reference.derive` takes them; they go through the real ingestion
as canonical JSON files.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

import sql
from metrics.policy import Policy, load_policy
from pipelines.derive import Refreshed, refresh
from pipelines.ingest import Ingested, Summary, choose_source, ingest, ingest_file
from pipelines.publish import put_policy, write_tables
from pipelines.sources import Settings
from pipelines.warehouse import prepare

POLICY = load_policy(None)
RECENT_US = 1_793_000_000 * 10**6
"""A moment in October 2026, in µs."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stamp(us: int) -> str:
    """RFC 3339 text of microseconds since 1970 UTC."""
    return (_EPOCH + timedelta(microseconds=us)).isoformat()


def canonical(record: dict[str, Any]) -> dict[str, Any]:
    """The record as canonical JSON has it: stamps as text, durations in seconds."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if value is None:
            continue
        if name in ("ts_us", "starts_us", "ends_us"):
            fields[name.removesuffix("_us")] = stamp(value)
        elif name.endswith("_us"):
            fields[name.removesuffix("_us") + "_s"] = value / 1e6
        else:
            fields[name] = value
    return fields


def fresh_warehouse() -> duckdb.DuckDBPyConnection:
    """An empty warehouse in memory."""
    con = duckdb.connect()
    prepare(con)
    return con


def write_jsonl(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    """Write records in µs as a canonical JSONL file."""
    path.write_text("".join(json.dumps(canonical(r)) + "\n" for r in records), encoding="utf-8")
    return path


def write_lines(path: Path, *records: dict[str, Any] | str | bytes) -> Path:
    """A file of lines: records as JSON, anything else as it is."""
    parts = [r if isinstance(r, (str, bytes)) else json.dumps(r) + "\n" for r in records]
    path.write_bytes(b"".join(p if isinstance(p, bytes) else p.encode() for p in parts))
    return path


def deliver(
    con: duckdb.DuckDBPyConnection,
    folder: Path,
    lifecycle: list[dict[str, Any]],
    steps: list[dict[str, Any]],
) -> list[Summary]:
    """Ingest the records as one file of each stream."""
    number = len(list(folder.iterdir()))
    summaries = []
    for stream, records in (("lifecycle", lifecycle), ("steps", steps)):
        if records:
            path = write_jsonl(folder / f"{number}.{stream}.jsonl", records)
            summaries.append(ingest_one(con, path))
    return summaries


def ingest_one(con: duckdb.DuckDBPyConnection, path: Path, source: str = "canonical") -> Summary:
    """Ingest one file under the default policy."""
    return ingest_file(con, path, choose_source(source, path), Settings(POLICY))


def take(con: duckdb.DuckDBPyConnection, *paths: Path, source: str = "auto") -> Ingested:
    """Ingest files and folders under the default policy, as a run does."""
    return ingest(con, list(paths), source, Settings(POLICY))


def quarantine(con: duckdb.DuckDBPyConnection) -> list[tuple[int | None, str, str]]:
    """What was set aside: line, reason, text."""
    return con.execute("select line, reason, raw from quarantine order by line").fetchall()


def rederive(
    con: duckdb.DuckDBPyConnection, as_of_us: int | None = None, rebuild: bool = False
) -> Refreshed:
    """Refresh under the default policy."""
    return refresh(con, POLICY, as_of_us, rebuild)


def ledger(con: duckdb.DuckDBPyConnection) -> dict[str, dict[tuple[int, str, str, str], int]]:
    """The ledger by job: {(hour_us, category, component, cause): us}."""
    rows = con.execute(
        "select job, hour_us, category, component, cause, us from ledger join jobs using (job_id)"
    ).fetchall()
    found: dict[str, dict[tuple[int, str, str, str], int]] = {}
    for job, *key, us in rows:
        hour_us, category, component, cause = key
        found.setdefault(job, {})[hour_us, category, component, cause] = us
    return found


def totals(con: duckdb.DuckDBPyConnection, job: str) -> dict[tuple[str, str, str], int]:
    """A job's ledger summed over its hours: {(category, component, cause): us}."""
    found: dict[tuple[str, str, str], int] = {}
    for (_, category, component, cause), us in ledger(con).get(job, {}).items():
        key = (category, component, cause)
        found[key] = found.get(key, 0) + us
    return found


def capacity(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """The capacity ledger, as comparable rows, in order."""
    return con.execute("from capacity order by all").fetchall()


def restarts(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """All restarts, as comparable rows, in the order of job and detection."""
    return con.execute(
        "select job, detected_us, recovered_us, cause, outcome, basis, attempts_used,"
        " interruptions, lost_steps, time_to_restart_us, detect_us, requeue_us, launch_us, load_us,"
        " first_step_us from restarts join jobs using (job_id) order by job, detected_us"
    ).fetchall()


def waits(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """All queue waits, as comparable rows, in the order of jobs."""
    return con.execute(
        "select job, submitted_us, started_us, wait_us, censored, basis"
        " from queue_waits join jobs using (job_id) order by job"
    ).fetchall()


def walls(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Each job's wall, silence and instrumentation, as comparable rows."""
    return con.execute(
        "select job, wall_start_us, wall_end_us, instrumented, silent"
        " from job_facts join jobs using (job_id) order by job"
    ).fetchall()


def answers(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Everything that a refresh yields, to compare two warehouses."""
    put_policy(con, POLICY)
    return {
        "ledger": ledger(con),
        "capacity": capacity(con),
        "restarts": restarts(con),
        "waits": waits(con),
        "walls": walls(con),
        "findings": con.execute(sql.read("published/findings")).fetchall(),
        "stragglers": con.execute(
            f"from ({sql.read('published/straggler_losses')}) order by all"
        ).fetchall(),
        "parts": con.execute(
            "select job, part, reason, us from wait_parts join jobs using (job_id) order by all"
        ).fetchall(),
        "labels": con.execute(
            "select job, labels.* exclude (job_id) from labels join jobs using (job_id)"
            " order by all"
        ).fetchall(),
    }


Rows = list[dict[str, Any]]


def published(
    con: duckdb.DuckDBPyConnection, *tables: str, policy: Policy = POLICY
) -> dict[str, Rows]:
    """Some tables of the mart that would be published, as rows by name."""
    con.execute("attach ':memory:' as mart")
    try:
        write_tables(con, policy, 0, as_of_given=True)
        return {table: _rows(con, f"from mart.{table}") for table in tables}
    finally:
        con.execute("detach mart")


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> Rows:
    result = con.execute(query)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
