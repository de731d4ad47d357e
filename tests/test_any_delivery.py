"""Order, batches, repetition and interruption of delivery change no number."""

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import harness
import streams
from hypothesis import given
from hypothesis import strategies as st

Records = list[tuple[str, dict[str, Any]]]


def tagged(stream: streams.Stream) -> Records:
    lifecycle, steps = stream
    return [("lifecycle", r) for r in lifecycle] + [("steps", r) for r in steps]


def deliver(con: duckdb.DuckDBPyConnection, folder: Path, records: Records) -> None:
    lifecycle = [record for stream, record in records if stream == "lifecycle"]
    steps = [record for stream, record in records if stream == "steps"]
    harness.deliver(con, folder, lifecycle, steps)


def quiet_answers(records: Records, as_of_us: int | None = None) -> dict[str, Any]:
    """What a warehouse answers that was given everything at once."""
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        deliver(con, Path(folder), records)
        harness.rederive(con, as_of_us)
        return harness.answers(con)


@streams.tried
@given(st.integers(0, 10**9))
def test_any_stream_balances_to_the_microsecond(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        deliver(con, Path(folder), tagged(streams.random_stream(seed)))
        harness.rederive(con)
        ledger = harness.ledger(con)
        walls = con.execute("select job, wall_us from goodput join jobs using (job_id)").fetchall()
    assert {job: sum(ledger.get(job, {}).values()) for job, _ in walls} == dict(walls)


@streams.tried
@given(st.integers(0, 10**9), st.randoms(use_true_random=False), st.integers(1, 6))
def test_shuffled_records_in_any_batches_with_refreshes_between_give_the_same(
    seed: int, random: Any, batches: int
) -> None:
    records = tagged(streams.random_stream(seed))
    expected = quiet_answers(records)
    random.shuffle(records)
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        for batch in range(batches):
            again = random.sample(records, min(4, len(records)))
            deliver(con, Path(folder), records[batch::batches] + again)
            if random.random() < 0.8:
                harness.rederive(con)
        harness.rederive(con)
        assert harness.answers(con) == expected


@streams.tried
@given(st.integers(0, 10**9), st.randoms(use_true_random=False))
def test_late_records_and_a_wandering_as_of_leave_no_trace(seed: int, random: Any) -> None:
    lifecycle, steps = streams.random_stream(seed)
    records = sorted(tagged((lifecycle, steps)), key=lambda record: record[1]["ts_us"])
    expected = quiet_answers(records)
    late = [record for record in records if random.random() < 0.15]
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        deliver(con, Path(folder), [record for record in records if record not in late])
        harness.rederive(con)
        harness.rederive(con, streams.random_as_of(seed, lifecycle, steps))
        deliver(con, Path(folder), late)
        harness.rederive(con, streams.random_as_of(seed + 1, lifecycle, steps))
        harness.rederive(con)
        assert harness.answers(con) == expected
        harness.rederive(con, rebuild=True)
        assert harness.answers(con) == expected


@streams.tried
@given(st.integers(0, 10**9))
def test_a_later_delivery_never_changes_what_an_earlier_as_of_answers(seed: int) -> None:
    lifecycle, steps = streams.random_stream(seed)
    records = tagged((lifecycle, steps))
    stamps = sorted(record["ts_us"] for _, record in records)
    as_of_us = stamps[seed % len(stamps)]
    early = [record for record in records if record[1]["ts_us"] <= as_of_us]
    expected = quiet_answers(early, as_of_us)
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        deliver(con, Path(folder), early)
        harness.rederive(con)
        deliver(con, Path(folder), [record for record in records if record not in early])
        harness.rederive(con, as_of_us)
        assert harness.answers(con) == expected


def test_a_file_delivered_twice_is_known_and_changes_nothing(tmp_path: Path) -> None:
    records = tagged(streams.random_stream(7))
    with harness.fresh_warehouse() as con:
        deliver(con, tmp_path, records)
        harness.rederive(con)
        before = harness.answers(con)
        lifecycle = [r for stream, r in records if stream == "lifecycle"]
        path = harness.write_jsonl(tmp_path / "again.lifecycle.jsonl", lifecycle)
        summary = harness.ingest_one(con, path)
        assert summary.known and summary.new == 0
        harness.rederive(con)
        assert harness.answers(con) == before


def test_a_refresh_paints_only_the_hours_that_new_records_touch(tmp_path: Path) -> None:
    # Ten hours of one job, a step a minute; then the eleventh hour arrives.
    def hour(number: int) -> list[dict[str, Any]]:
        return [
            {
                "job": "long",
                "attempt": 0,
                "step": number * 60 + minute,
                "ts_us": streams.BASE_US + (number * 60 + minute) * 60 * 10**6,
                "duration_us": 60 * 10**6,
            }
            for minute in range(1, 61)
        ]

    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, [], [step for n in range(10) for step in hour(n)])
        assert harness.rederive(con).groups == 10
        harness.deliver(con, tmp_path, [], hour(10))
        refreshed = harness.rederive(con)
        # The tenth hour too: its last step used to be the job's last, which a label says.
        assert refreshed.groups <= 2
        assert refreshed.hours <= 2
        assert harness.rederive(con).groups == 0
