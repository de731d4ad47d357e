"""Retention: steps that are dropped change no number, and nothing counts twice afterwards."""

import tempfile
from pathlib import Path
from typing import Any

import duckdb
import harness
import pytest
import streams
from hypothesis import assume, given
from hypothesis import strategies as st

import sql
from metrics.errors import UsageError
from metrics.policy import Policy, Retention
from pipelines.derive import Refreshed, refresh

HOUR_US = streams.HOUR_US
DAY_US = 24 * HOUR_US
MINUTE_US = 60 * streams.SECOND_US


class Hours(Retention):
    """A retention shorter than a policy can say."""

    hours: int = 0

    @property
    def steps_us(self) -> int:
        return self.hours * HOUR_US


def keeping(hours: int) -> Policy:
    """The default policy with steps kept for so many hours."""
    return harness.POLICY.model_copy(update={"retention": Hours(hours=hours, arrival_days=0)})


def rederive(con: duckdb.DuckDBPyConnection, hours: int, **how: Any) -> Refreshed:
    return refresh(con, keeping(hours), **how)


def deliver(
    con: duckdb.DuckDBPyConnection, folder: Path, records: list[tuple[str, dict[str, Any]]]
) -> None:
    lifecycle = [record for stream, record in records if stream == "lifecycle"]
    steps = [record for stream, record in records if stream == "steps"]
    harness.deliver(con, folder, lifecycle, steps)


def count(con: duckdb.DuckDBPyConnection, query: str) -> int:
    (found,) = con.execute(query).fetchall()
    return int(found[0])


REFUSED = "select count(*) from quarantine where reason like 'folded:%'"
STEPS_OF_LONG = (
    "select count(*) from steps join step_groups using (group_id) join jobs using (job_id)"
    " where job = 'long'"
)
ROLLED_BACK = (
    "select count(*) from fresh_contexts f join contexts c using (group_id)"
    " join folds on folds.job_id = f.job_id and f.hour_us < folds.folded_until_us"
    " where f.superseded_above is distinct from c.superseded_above"
)
"""Folded groups of which a later attempt took steps back: they stay as they were."""


@streams.tried
@given(st.integers(0, 10**9), st.integers(0, 2), st.integers(2, 6))
def test_folding_what_is_old_changes_no_number(seed: int, hours: int, batches: int) -> None:
    lifecycle, steps = streams.random_stream(seed)
    records = [("lifecycle", r) for r in lifecycle] + [("steps", r) for r in steps]
    records.sort(key=lambda record: record[1]["ts_us"])
    size = -(-len(records) // batches)
    with (
        tempfile.TemporaryDirectory() as folder,
        harness.fresh_warehouse() as con,
        harness.fresh_warehouse() as quiet,
    ):
        for start in range(0, len(records), size):
            deliver(con, Path(folder), records[start : start + size])
            rederive(con, hours)
            assume(not count(con, REFUSED) and not count(con, ROLLED_BACK))
        deliver(quiet, Path(folder), records)
        harness.rederive(quiet)
        assert harness.answers(con) == harness.answers(quiet)
        rederive(con, hours, rebuild=True)
        assert harness.answers(con) == harness.answers(quiet)


# --- one job, a step a minute ---


def minutes(first: int, last: int, attempt: int = 0, job: str = "long") -> list[dict[str, Any]]:
    """Steps number first to last of a job that takes one a minute from BASE_US on."""
    return [
        {
            "job": job,
            "attempt": attempt,
            "step": number,
            "ts_us": streams.BASE_US + number * MINUTE_US,
            "duration_us": MINUTE_US,
        }
        for number in range(first, last + 1)
    ]


def event(name: str, minute: int, **fields: Any) -> dict[str, Any]:
    return {"event": name, "ts_us": streams.BASE_US + minute * MINUTE_US, "job": "long"} | fields


@pytest.fixture
def folded(tmp_path: Path):
    """A warehouse of twenty hours, of which all but the last two were folded."""
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, [], minutes(1, 20 * 60))
        # 18 hours of 60, less the first two: the baseline is read from the steps in them.
        assert rederive(con, 2).folded_steps == 1_080 - 120
        yield con


def test_a_folded_hour_keeps_its_ledger(folded) -> None:
    # The first step is startup; all others are useful.
    assert harness.totals(folded, "long") == {
        ("startup", "launch", ""): MINUTE_US,
        ("useful", "step", ""): (20 * 60 - 1) * MINUTE_US,
    }


def test_what_is_folded_survives_a_rebuild(folded) -> None:
    before = harness.answers(folded)
    rederive(folded, 2, rebuild=True)
    assert harness.answers(folded) == before


def test_a_late_step_of_a_folded_hour_is_refused_with_its_reason(folded, tmp_path: Path) -> None:
    before = harness.answers(folded)
    late = minutes(300, 300)[0] | {"duration_us": 1}
    (summary,) = harness.deliver(folded, tmp_path, [], [late])
    assert (summary.read, summary.new, summary.quarantined) == (1, 0, 1)
    rederive(folded, 2)
    assert harness.answers(folded) == before
    assert folded.execute("select reason, raw from quarantine").fetchall() == [
        (
            "folded: the hour is older than the retention of steps",
            '{"job":"long","attempt":0,"step":300,"ts":"2026-10-01T05:00:00.000000Z",'
            '"duration_s":0.000001,"data_wait_s":0.0,"straggler_s":0.0,"checkpoint_s":0.0,'
            '"overhead_s":0.0,"straggler_node":null}',
        )
    ]


def test_a_step_that_may_repeat_a_folded_one_is_refused(folded, tmp_path: Path) -> None:
    again = minutes(300, 300)[0] | {"ts_us": streams.BASE_US + 1201 * MINUTE_US}
    (summary,) = harness.deliver(folded, tmp_path, [], [again])
    assert (summary.new, summary.quarantined) == (0, 1)


@pytest.mark.parametrize(
    ("late", "new"),
    [
        (event("interruption", 400, attempt=0, cause="hardware"), 0),
        (event("maintenance_started", 400, id="m"), 0),
        (event("interruption", 1_190, attempt=0, cause="hardware"), 1),
        (event("interruption", 400, attempt=0, cause="hardware", job="other"), 1),
        (event("node_state", 400, node="n1", gpus=8, state="down"), 1),
    ],
    ids=["boundary", "window", "in time", "another job", "no number depends on it"],
)
def test_a_late_lifecycle_record_is_refused_where_it_would_change_a_folded_hour(
    folded, tmp_path: Path, late: dict[str, Any], new: int
) -> None:
    (summary,) = harness.deliver(folded, tmp_path, [late], [])
    assert (summary.new, summary.quarantined) == (new, 1 - new)


def test_a_record_that_is_stored_already_is_a_duplicate_also_when_folded(tmp_path: Path) -> None:
    start = event("resources_allocated", 0, attempt=0)
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, [start], minutes(1, 20 * 60))
        rederive(con, 2)
        path = harness.write_jsonl(tmp_path / "again.lifecycle.jsonl", [start, start])
        summary = harness.ingest_one(con, path)
        assert (summary.read, summary.duplicate, summary.quarantined) == (2, 2, 0)


def test_a_job_goes_on_after_its_past_was_folded(folded, tmp_path: Path) -> None:
    harness.deliver(folded, tmp_path, [], minutes(1_201, 1_260))
    rederive(folded, 2)
    assert harness.totals(folded, "long")["useful", "step", ""] == (21 * 60 - 1) * MINUTE_US


def test_a_job_that_ended_long_ago_is_closed_and_takes_no_record(tmp_path: Path) -> None:
    ended = [event("job_ended", 600, outcome="completed")]
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, ended, minutes(1, 599))
        harness.deliver(con, tmp_path, [], minutes(1, 1_200, job="other"))
        rederive(con, 2)
        before = harness.answers(con)
        assert harness.totals(con, "long")["useful", "step", ""] == 598 * MINUTE_US
        assert count(con, STEPS_OF_LONG) == 0
        (summary,) = harness.deliver(
            con, tmp_path, [event("resources_allocated", 1_199, attempt=1)], []
        )
        assert (summary.new, summary.quarantined) == (0, 1)
        rederive(con, 2, rebuild=True)
        assert harness.answers(con) == before


@pytest.mark.parametrize(
    "model", ["restart_losses", "straggler_losses", "stretches", "step_hours", "attempts", "jobs"]
)
def test_pages_show_a_closed_job_as_before(tmp_path: Path, model: str) -> None:
    life = [
        event("resources_allocated", 0, attempt=0),
        event("interruption", 305, attempt=0, cause="hardware", node="n1"),
        event("resources_allocated", 330, attempt=1, nodes=["n2"]),
        event("job_ended", 600, outcome="completed"),
    ]
    moved = [step | {"attempt": 1, "step": step["step"] - 50} for step in minutes(340, 599)]
    with harness.fresh_warehouse() as con:
        tiers = "create temp table tier_names as select 'a' as given, 'a' as tier"
        con.execute(tiers)
        steps = minutes(1, 300) + moved
        for step in steps[9::10]:
            step |= {"straggler_us": 5_000_000, "straggler_node": "n1"}
        harness.deliver(con, tmp_path, life, steps)
        harness.deliver(con, tmp_path, [], minutes(1, 1_200, job="other"))
        rederive(con, 1_000_000)
        shown = f"from ({sql.read(f'published/{model}')}) where job = 'long' order by all"
        before = con.execute(shown).fetchall()
        assert before
        rederive(con, 2)
        assert count(con, STEPS_OF_LONG) == 0
        assert con.execute(shown).fetchall() == before
        rederive(con, 2, rebuild=True)
        assert con.execute(shown).fetchall() == before


def test_an_as_of_before_what_was_folded_is_refused(folded) -> None:
    with pytest.raises(UsageError, match="earliest as-of is 2026-10-01T18:00:00Z"):
        rederive(folded, 2, as_of_us=streams.BASE_US + 17 * HOUR_US)
    rederive(folded, 2, as_of_us=streams.BASE_US + 19 * HOUR_US)


def test_a_stamp_far_ahead_folds_nothing_of_today(tmp_path: Path) -> None:
    ahead = [event("node_state", 0, node="n1", gpus=8, state="idle")]
    ahead[0]["ts_us"] = 4_000_000_000_000_000
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, ahead, minutes(1, 600))
        from answers.clock import now_us

        recent = (now_us() - streams.BASE_US) // HOUR_US
        assert rederive(con, int(recent) + 1).folded_steps == 0


def test_what_has_just_arrived_is_not_folded_however_old(tmp_path: Path) -> None:
    # Old logs in two deliveries: the scheduler's, then the steps.
    policy = harness.POLICY.model_copy(update={"retention": Hours(hours=2)})
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, [], minutes(1, 1_200, job="other"))
        harness.deliver(con, tmp_path, [event("job_ended", 600, outcome="completed")], [])
        assert refresh(con, policy).folded_steps == 0
        (summary,) = harness.deliver(con, tmp_path, [], minutes(1, 599))
        assert (summary.new, summary.quarantined) == (599, 0)
        refresh(con, policy)
        # A day later.
        con.execute("update files set ingested_at_us = ingested_at_us - 86_400_000_000")
        assert refresh(con, policy).folded_steps > 0
        (summary,) = harness.deliver(con, tmp_path, [], minutes(1, 5, attempt=1))
        assert (summary.new, summary.quarantined) == (0, 5)


def test_the_store_stops_growing(tmp_path: Path) -> None:
    with harness.fresh_warehouse() as con:
        sizes = []
        for day in range(8):
            start = day * 24 * 60
            job = f"job-{day}"
            harness.deliver(
                con,
                tmp_path,
                [event("job_ended", start + 1_440, outcome="completed", job=job)],
                minutes(start + 1, start + 1_440, job=job),
            )
            rederive(con, 48)
            sizes.append(count(con, "select count(*) from steps"))
    # Jobs of a day each: today's, and those of which something is younger than two days.
    assert sizes == [1_440, 2_880, 4_320, *[4_320] * 5]
