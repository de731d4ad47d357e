"""What was read of a file into the warehouse: each record once, of conflicting ones the smallest.

What is stored of a job's hour is never changed in place: an hour that gains or loses a step gets
new step groups (see the schema), which is how a refresh knows what to derive anew. Called inside
one transaction a file.
"""

from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

import sql
from pipelines.sources import Reject
from pipelines.sources.text import lines
from pipelines.warehouse import one_row


@dataclass(frozen=True)
class Stored:
    """What became of a file's records of one stream."""

    new: int = 0
    duplicate: int = 0
    conflicting: int = 0
    refused: int = 0


def store_events(con: duckdb.DuckDBPyConnection, file_id: int, incoming: int) -> Stored:
    """Store the lifecycle records that wait (`incoming`), but for known ones and folded hours."""
    if not incoming:
        return Stored()
    refused = _refuse_events(con, file_id)
    _name_jobs(con, "incoming_events")
    (new,) = one_row(
        con,
        "select count(distinct record_key) from incoming_events "
        "where record_key not in (select record_key from events)",
    )
    con.execute(
        "insert into events by name "
        "select next_event_id + row_number() over (order by ts_us, record_key) - 1 as event_id, "
        "$file_id as file_id, job_id, fresh.* exclude (job, line) "
        "from (select distinct on (record_key) * from incoming_events) fresh "
        "left join jobs using (job), counters "
        "where record_key not in (select record_key from events)",
        {"file_id": file_id},
    )
    con.execute(
        "update counters set next_event_id = (select coalesce(max(event_id), 0) + 1 from events)"
    )
    return Stored(int(new), incoming - int(new) - refused, refused=refused)


def _name_jobs(con: duckdb.DuckDBPyConnection, relation: str) -> None:
    con.execute(
        f"insert into jobs select (select coalesce(max(job_id), 0) from jobs) "
        f"+ row_number() over (order by job), job from (select distinct job from {relation} "
        "where job is not null and job not in (select job from jobs))"
    )


def _has_folded(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("from folds limit 1").fetchall())


def _refuse_events(con: duckdb.DuckDBPyConnection, file_id: int) -> int:
    """Set records that would change a folded hour aside; how many of the file they are."""
    if not _has_folded(con):
        return 0
    con.execute(f"create or replace temp table refused as {sql.read('ingest/refused_events')}")
    con.execute(
        "insert into quarantine by name select ? as file_id, min(line) as line, reason, raw"
        " from (select line, refused.reason, json_merge_patch('{}', to_json("
        "struct_pack(*columns(incoming_events.* exclude (line)))))::varchar as raw"
        " from incoming_events join refused using (record_key)) group by reason, raw",
        [file_id],
    )
    (refused,) = one_row(
        con, "select count(*) from incoming_events semi join refused using (record_key)"
    )
    con.execute("delete from incoming_events where record_key in (select record_key from refused)")
    con.execute("drop table refused")
    return int(refused)


def store_steps(con: duckdb.DuckDBPyConnection, file_id: int) -> Stored:
    """Merge the incoming steps with what is stored of the same hours and the same steps.

    Records are placed in the order of time. Where each attempt's numbers ascend in it, none has a
    rival; only where they do not, the records of each key are ranked, and placed anew.
    """
    refused = _refuse_steps(con, file_id)
    (incoming,) = one_row(con, "select count(*) from incoming")
    if not incoming:
        return Stored(refused=refused)
    con.execute(f"create or replace temp table arriving as {sql.read('ingest/arriving_hours')}")
    _name_jobs(con, "arriving")
    con.execute(
        "create or replace temp table rewritten as"
        " select distinct job_id, hour_us from arriving join jobs using (job)"
    )
    con.execute(f"create or replace temp table reopened as {sql.read('ingest/reopened_hours')}")
    con.execute(f"create or replace temp view step_records as {sql.read('ingest/step_records')}")
    stored = Stored(new=incoming, refused=refused)
    _place(con, "step_records", file_id)
    if con.execute(sql.read("ingest/out_of_order")).fetchall():
        stored = replace(_settle_rivals(con, file_id), refused=refused)
        _place(con, "standing", file_id)
    _write_placed(con)
    for name in ("settled_steps", "step_records"):
        con.execute(f"drop view {name}")
    for name in ("arriving", "reopened", "rewritten", "standing", "placed", "fresh"):
        con.execute(f"drop table if exists {name}")
    return stored


def _refuse_steps(con: duckdb.DuckDBPyConnection, file_id: int) -> int:
    """Set steps of folded hours aside, each once; how many of the file they are."""
    if not _has_folded(con):
        return 0
    con.execute(f"create or replace temp table refused as {sql.read('ingest/refused_steps')}")
    con.execute(
        "insert into quarantine by name select ? as file_id, min(line) as line, reason, raw"
        " from (select line, reason, step_record(job, attempt, step, ts_us, duration_us,"
        " data_wait_us, straggler_us, checkpoint_us, overhead_us, straggler_node) as raw"
        " from refused)"
        " where raw not in (select raw from quarantine) group by reason, raw",
        [file_id],
    )
    con.execute("delete from incoming where rowid in (select incoming_id from refused)")
    (refused,) = one_row(con, "select count(*) from refused")
    con.execute("drop table refused")
    return int(refused)


def _settle_rivals(con: duckdb.DuckDBPyConnection, file_id: int) -> Stored:
    """Of step records with one key let the smallest stand; quarantine those that differ from it."""
    params = {"file_id": file_id}
    con.execute(f"create or replace temp table ranked as {sql.read('ingest/ranked_steps')}", params)
    con.execute(f"insert into quarantine by name {sql.read('ingest/conflicting_steps')}", params)
    new, duplicate, conflicting = one_row(
        con,
        "select count(*) filter (verdict = 'stands' and not stored),"
        " count(*) filter (verdict = 'duplicate'), count(*) filter (verdict = 'conflict')"
        " from ranked",
    )
    # An hour in which nothing new stands and nothing stored fell is left as it is.
    con.execute(
        "create or replace temp table rewritten as select distinct job_id, hour_us from ranked"
        " where (verdict = 'stands' and not stored) or (verdict = 'conflict' and stored)"
    )
    con.execute(
        "create or replace temp table standing as"
        " select * exclude (hour_us, stored, verdict) from ranked"
        " semi join rewritten using (job_id, hour_us) where verdict = 'stands'"
    )
    con.execute("drop table ranked")
    return Stored(new, duplicate, conflicting)


def _place(con: duckdb.DuckDBPyConnection, standing: str, file_id: int) -> None:
    """Place the steps that stand in the rewritten hours, and make the groups that they form."""
    params = {"file_id": file_id}
    placed = sql.read("ingest/placed_steps")
    con.execute(f"create or replace temp table placed as {placed}", params | {"standing": standing})
    con.execute(f"create or replace temp view settled_steps as {sql.read('ingest/settled_steps')}")
    con.execute(f"create or replace temp table fresh as {sql.read('ingest/fresh_groups')}", params)


def _write_placed(con: duckdb.DuckDBPyConnection) -> None:
    """Replace the step groups of the rewritten hours by the fresh ones."""
    con.execute(
        "create or replace temp table stale as select group_id from step_groups"
        " semi join rewritten using (job_id, hour_us)"
    )
    con.execute("delete from steps where group_id in (from stale)")
    con.execute("delete from step_groups where group_id in (from stale)")
    con.execute("insert into step_groups by name from fresh")
    con.execute(
        "insert into steps by name select group_id, step, ts_us, before_us, duration_us,"
        " data_wait_us, straggler_us, checkpoint_us, overhead_us, compute_us, gap_us,"
        " straggler_node, settled_steps.file_id"
        " from settled_steps join fresh using (job_id, hour_us, attempt)"
    )
    con.execute(
        "update counters set next_group_id ="
        " greatest(next_group_id, (select max(group_id) + 1 from fresh))"
    )
    con.execute("drop table stale")


def count_lines(con: duckdb.DuckDBPyConnection, file_id: int, path: Path) -> None:
    """Of a text whose records were counted: make the counts in its quarantine rows lines."""
    told = con.execute(
        "select distinct line from quarantine where file_id = ? and line is not null", [file_id]
    )
    counts = {count for (count,) in told.fetchall()}
    if not counts:
        return
    found = enumerate(islice(lines(path), max(counts)), start=1)
    numbered = [(count, line) for count, line in found if count in counts]
    numbers = [line.line if isinstance(line, Reject) else line[0] for _, line in numbered]
    table = pa.table({"count": [count for count, _ in numbered], "number": numbers})
    con.register("numbered", table)
    con.execute(
        "update quarantine set line = number from numbered where file_id = ? and line = count",
        [file_id],
    )
    con.unregister("numbered")


def store_rejects(
    con: duckdb.DuckDBPyConnection, file_id: int, rejects: list[tuple[int | None, str, str]]
) -> None:
    """Store what goes to quarantine: (line, reason, raw text)."""
    if rejects:
        table = pa.table(
            {
                "line": pa.array([r[0] for r in rejects], pa.int64()),
                "reason": pa.array([r[1] for r in rejects], pa.string()),
                "raw": pa.array([_storable(r[2]) for r in rejects], pa.string()),
            }
        )
        con.register("reject_batch", table)
        con.execute(
            "insert into quarantine select ?, line, reason, raw from reject_batch", [file_id]
        )
        con.unregister("reject_batch")


def _storable(text: str) -> str:
    return text.replace("\0", "�").encode("utf-8", "replace").decode("utf-8")
