"""A file may be larger than memory: its records are moved on in batches, which must not show."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import harness
import pytest

from pipelines import reading

T = "2026-10-01T12:00:0"
SUBMITTED = {"event": "job_submitted", "ts": T + "0Z", "job": "a", "tier": "batch", "odd": 1}
ALLOCATED = {
    "event": "resources_allocated",
    "ts": T + "1Z",
    "job": "a",
    "attempt": 0,
    "nodes": ["n1", "n2"],
    "gpus": 16,
}
STATE = {"event": "node_state", "ts": T + "2Z", "node": "n1", "gpus": 8, "state": "allocated"}
LOADED = {
    "event": "checkpoint_loaded",
    "ts": T + "3Z",
    "job": "b",
    "attempt": 1,
    "step": 7,
    "deliberate": True,
}
STEP = {"job": "a", "attempt": 0, "step": 1, "ts": T + "9Z", "duration_s": 1}
MIXED = (SUBMITTED, STEP, ALLOCATED, "torn\n", STATE, {"event": "unheard_of"}, LOADED, SUBMITTED)


def stored(folder: Path, records_a_batch: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All that the file leaves in an empty warehouse, and what is said of it."""
    monkeypatch.setattr(reading, "BATCH_RECORDS", records_a_batch)
    path = harness.write_lines(folder / "mixed.jsonl", *MIXED)
    with harness.fresh_warehouse() as con:
        said = asdict(harness.ingest_one(con, path))
        tables = ("jobs", "steps", "step_groups", "quarantine")
        found = {name: con.execute(f"from {name} order by all").fetchall() for name in tables}
        events = con.execute("from events order by event_id").fetchall()
        left = con.execute("select table_name from duckdb_tables() where temporary").fetchall()
    return found | {"events": events, "said": said, "left": left}


def test_a_file_of_many_batches_leaves_what_it_leaves_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = stored(tmp_path, 20_000, monkeypatch)
    # Eight lines: four events of which one is there twice, a step, one torn, one unheard of; of the
    # submission a field is dropped each time.
    said = whole["said"]
    assert (said["read"], said["new"], said["duplicate"], said["quarantined"]) == (8, 5, 1, 2)
    assert said["dropped_fields"] == 2
    assert len(whole["events"]) == 4
    assert whole["left"] == []
    for records_a_batch in (1, 2, 3):
        assert stored(tmp_path, records_a_batch, monkeypatch) == whole


def test_columns_that_no_record_of_a_batch_has_are_null_and_the_others_keep_their_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH_RECORDS", 1)
    path = harness.write_lines(tmp_path / "mixed.jsonl", *MIXED)
    with harness.fresh_warehouse() as con:
        harness.ingest_one(con, path)
        rows = con.execute(
            "select event, job, attempt, step, nodes, node, gpus, deliberate, tier"
            " from events left join jobs using (job_id) order by ts_us"
        ).fetchall()
    assert rows == [
        ("job_submitted", "a", None, None, None, None, None, None, "batch"),
        ("resources_allocated", "a", 0, None, ["n1", "n2"], None, 16, None, None),
        ("node_state", None, None, None, None, "n1", 8, None, None),
        ("checkpoint_loaded", "b", 1, 7, None, None, None, True, None),
    ]
