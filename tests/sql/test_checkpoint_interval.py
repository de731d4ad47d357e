"""Section 1: the checkpoint interval in force of a job."""

from pathlib import Path

import duckdb
import harness
import pytest

S = 10**6


@pytest.fixture
def con() -> duckdb.DuckDBPyConnection:
    return harness.fresh_warehouse()


def completed(at_s: int, attempt: int = 0) -> dict[str, object]:
    return {
        "event": "checkpoint_completed",
        "ts_us": harness.RECENT_US + at_s * S,
        "job": "j",
        "attempt": attempt,
        "step": at_s,
    }


def submitted(**fields: object) -> dict[str, object]:
    return {"event": "job_submitted", "ts_us": harness.RECENT_US, "job": "j", "tier": "x"} | fields


def interval_us(con: duckdb.DuckDBPyConnection, folder: Path, *events: dict[str, object]) -> object:
    harness.deliver(con, folder, list(events), [])
    harness.rederive(con)
    (row,) = con.execute("select checkpoint_interval_us from job_facts").fetchall()
    return row[0]


def test_the_interval_that_was_submitted_is_in_force(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    given = submitted(checkpoint_interval_us=1800 * S)
    assert interval_us(con, tmp_path, given, completed(10), completed(20)) == 1800 * S


def test_else_it_is_the_lower_median_between_checkpoints_within_attempts(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    # Attempt 0: 100, 400 apart (100 → 200 → 600); attempt 1: 300, 200. The 50 s between the
    # attempts are none. Sorted 100, 200, 300, 400: the lower median is 200.
    events = [completed(at) for at in (100, 200, 600)]
    events += [completed(at, attempt=1) for at in (650, 950, 1150)]
    assert interval_us(con, tmp_path, submitted(), *events) == 200 * S


def test_with_one_checkpoint_it_is_not_known(
    con: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    assert interval_us(con, tmp_path, submitted(), completed(100)) is None
