"""A mart that is cut at a moment: each table's rule in µs worked out by hand, and whole marts
against those that a refresh publishes which reads nothing later.

The fleet of these tests, in hours after its base:
- big: submitted 0, allocated 1; steps of an hour that end at 2 (the first: startup) to 6; down to
  hardware from 6.5, detected half an hour after progress; attempt 1 allocated 9.25, its first step,
  number 5 once more, ends at 10.5; three more steps, completed at 13.5
- early: allocated -10, its first step ends at -9; completed at -5
- edge: all on the hour: steps to 2, interrupted at 2, allocated at 3, a first step at 4, ended at 5
- held: steps from 0 on, suspended from 3, when its third ends, to 5.25
- bare: no steps; its process runs from 0 on, interrupted at 4.5 and at 5.75, allocated at 6.25
- gang: submitted 2, waits for its GPUs from 3 on; 4 of them gathered at 3.5, 8 at 6.5
- lender: borrows 4 of those at 4, is called back at 7.25 within 60 s and leaves at 7.75
"""

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import fleet
import harness
import pytest
import streams
from fleet import HOUR_US, at
from hypothesis import given
from hypothesis import strategies as st

from answers import budgets, waits
from answers.facts import Facts
from answers.home import Home
from answers.mart import Mart, connect
from answers.past import CUT, UNDATED, cut
from app.views import cluster, jobs
from metrics.adjustments import Adjustments, Reattribution
from metrics.scope import Scope
from pipelines.publish import TABLES, publish

LAST = 14
"""The hour after all records."""


def h(hours: float) -> int:
    return round(hours * HOUR_US)


def told() -> fleet.Fleet:
    """The fleet's records."""
    site = fleet.Fleet()
    site.submit(0)
    site.allocate(1)
    site.train(1, 5)
    site.interrupt(6.5, "hardware", node="n1")
    site.allocate(9.25, attempt=1)
    site.train(9.5, 4, attempt=1, number=5)
    site.end(13.5)
    site.allocate(-10, "early")
    site.train(-10, 5, "early")
    site.end(-5, "early")
    _others(site)
    return site


def _others(site: fleet.Fleet) -> None:
    site.allocate(0, "edge")
    site.train(0, 2, "edge")
    site.interrupt(2, "storage", "edge")
    site.allocate(3, "edge", attempt=1)
    site.train(3, 2, "edge", attempt=1, number=3)
    site.end(5, "edge")
    site.submit(0, "held")
    site.allocate(0, "held")
    site.train(0, 3, "held")
    site.tell("job_suspended", at(3), "held")
    site.tell("job_resumed", at(5.25), "held")
    site.train(5.25, 8, "held", number=4)
    site.submit(0, "bare")
    site.tell("process_started", at(0), "bare", attempt=0)
    site.allocate(0, "bare")
    site.interrupt(4.5, "network", "bare")
    site.interrupt(5.75, "network", "bare", attempt=1)
    site.allocate(6.25, "bare", attempt=2)
    site.submit(2, "gang", gpus=16)
    site.tell("job_pending", at(3), "gang", reason="gang_size")
    site.tell("reservation_started", at(3.5), "gang", gpus_gathered=4)
    site.tell("reservation_updated", at(6.5), "gang", gpus_gathered=8)
    site.submit(0, "lender", tier="batch", gpus=4)
    site.tell("backfill_started", at(4), "lender", for_job="gang", gpus=4, preemptible=True)
    site.tell("preemption_signal", at(7.25), "lender", attempt=0, grace_us=60_000_000)
    site.lifecycle[-1]["by_job"] = "gang"
    site.tell("backfill_ended", at(7.75), "lender", for_job="gang", gpus=4, preemptible=True)
    window = {"id": "w", "starts_us": at(8), "ends_us": at(9), "jobs": ["big"]}
    site.tell("maintenance_planned", at(3), None, **window)
    for hours, attempt, step in ((3, 0, 2), (4, 0, 3), (11.5, 1, 6)):
        saved = {"attempt": attempt, "step": step}
        site.tell("checkpoint_started", at(hours - 0.1), **saved, blocking=False)
        site.tell("checkpoint_completed", at(hours), **saved, bytes=step)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return told().publish(tmp_path_factory.mktemp("fleet"))


@pytest.fixture
def mart(home: Home) -> Iterator[Any]:
    """The mart cut at an hour of the fleet."""
    _, con = connect(home)

    def then(hours: float) -> Mart:
        found = Mart(con.cursor())
        cut(found, at(hours))
        return found

    yield then
    con.close()


def facts_of(mart: Mart) -> Facts:
    return Facts(mart, harness.POLICY, Adjustments())


def row(mart: Mart, table: str, job: str = "big") -> dict[str, Any]:
    (found,) = mart.rows(f"from {table} where job = ?", [job])
    return found


def lost(mart: Mart, job: str = "big") -> dict[str, int]:
    rows = mart.rows(
        "select component, sum(us)::bigint as us from ledger where job = ? group by all", [job]
    )
    return {row["component"]: row["us"] for row in rows}


LEDGERS = {
    1: {},
    2: {"launch": h(1)},
    5: {"launch": h(1), "step": h(3)},
    6: {"launch": h(1), "step": h(3), "rework": h(1)},
    7: {"launch": h(1), "step": h(3), "rework": h(1), "detect": h(0.5), "requeue": h(0.5)},
    10: {"launch": h(1.75), "step": h(3), "rework": h(1), "detect": h(0.5), "requeue": h(2.75)},
    11: {"launch": h(2.25), "step": h(3.5), "rework": h(1), "detect": h(0.5), "requeue": h(2.75)},
}


@pytest.mark.parametrize("hours", LEDGERS)
def test_the_ledger_holds_the_hours_that_had_ended(mart: Any, hours: int) -> None:
    then = mart(hours)
    assert lost(then) == LEDGERS[hours]
    found = row(then, "jobs")
    assert found["wall_us"] == sum(LEDGERS[hours].values()) == h(hours - 1)
    assert found["useful_us"] == LEDGERS[hours].get("step", 0)
    assert (found["wall_start_us"], found["wall_end_us"]) == (at(1), at(hours))


STATES = {
    ("big", 0): "pending",
    ("big", 1): "running",
    ("big", 7): "running",
    ("big", 13): "running",
    ("big", 14): "completed",
    ("early", -10): "running",
    ("early", -6): "running",
    ("early", -5): "completed",
    ("early", 14): "completed",
    ("edge", 4): "running",
    ("edge", 5): "completed",
    ("held", 2): "running",
    ("held", 3): "suspended",
    ("held", 5): "suspended",
    ("held", 6): "running",
    ("gang", 2): "pending",
    ("gang", 13): "pending",
}


@pytest.mark.parametrize(("job", "hours"), STATES)
def test_a_job_has_the_state_that_it_had(mart: Any, job: str, hours: int) -> None:
    assert row(mart(hours), "jobs", job)["state"] == STATES[job, hours]


def test_a_job_is_on_record_from_its_first_record_on(mart: Any) -> None:
    def there(hours: int) -> set[str]:
        return {found["job"] for found in mart(hours).rows("select job from jobs")}

    assert there(-11) == set()
    assert there(-10) == there(-1) == {"early"}
    assert there(0) == {"early", "big", "edge", "held", "bare", "lender"}
    assert there(2) == there(0) | {"gang"}


def test_suspended_time_is_no_wall_clock(mart: Any) -> None:
    assert mart(3).rows("from suspensions") == []
    assert row(mart(4), "jobs", "held")["wall_us"] == h(3)
    assert row(mart(5), "jobs", "held")["wall_us"] == h(3)
    assert row(mart(6), "jobs", "held")["wall_us"] == h(6 - 2.25)
    assert row(mart(4), "suspensions", "held")["end_us"] == at(4)
    assert row(mart(6), "suspensions", "held")["end_us"] == at(5.25)


def test_a_job_that_ended_before_is_as_it_was_published(mart: Any) -> None:
    then, now = mart(3), mart(LAST)
    for table in ("jobs", "attempts", "ledger", "step_hours", "stretches"):
        query = f"from {table} where job = 'early' order by all"
        assert then.rows(query) == now.rows(query) != []


def test_a_restart_is_there_once_it_was_detected_and_open_until_it_recovered(mart: Any) -> None:
    assert mart(6).rows("from restarts where job = 'big'") == []
    ages = {7: (h(0.5), 0.5, 0), 9: (h(2.5), 2.5, 0), 10: (h(3.5), 2.75, 0.75)}
    for hours, (age_us, requeue, launch) in ages.items():
        found = row(mart(hours), "restarts")
        assert found["outcome"] == "open"
        assert found["recovered_us"] is found["time_to_restart_us"] is found["basis"] is None
        assert found["age_us"] == age_us
        assert found["detect_us"] == h(0.5)
        assert (found["requeue_us"], found["launch_us"]) == (h(requeue), h(launch))
        assert found["interruptions"] == 1
        assert found["attempts_used"] is None  # one by the end; whether by then is not published
    found = row(mart(11), "restarts")
    assert (found["outcome"], found["recovered_us"]) == ("recovered", at(10.5))
    assert (found["time_to_restart_us"], found["attempts_used"]) == (h(4), 1)


def test_what_happens_at_the_moment_has_happened_by_then(mart: Any) -> None:
    expected = {2: ("open", 0), 3: ("open", h(1)), 4: ("recovered", h(2)), 5: ("recovered", h(2))}
    assert mart(1).rows("from restarts where job = 'edge'") == []
    for hours, (outcome, age_us) in expected.items():
        found = row(mart(hours), "restarts", "edge")
        assert (found["outcome"], found["age_us"]) == (outcome, age_us)
    assert lost(mart(3), "edge") == {"launch": h(1), "step": h(1), "requeue": h(1)}
    assert lost(mart(4), "edge") == lost(mart(3), "edge") | {"launch": h(2)}
    (first,) = mart(2).rows("from attempts where job = 'edge'")
    assert (first["last_step_us"], first["interrupted_us"]) == (at(2), at(2))
    assert len(mart(3).rows("from attempts where job = 'edge'")) == 2


def test_what_an_uninstrumented_job_never_told_stays_unknown_of_an_open_restart(mart: Any) -> None:
    found = row(mart(5), "restarts", "bare")
    assert (found["outcome"], found["age_us"], found["requeue_us"]) == ("open", h(0.5), h(0.5))
    assert found["detect_us"] is found["first_step_us"] is found["lost_steps"] is None


def test_of_an_open_restart_with_several_interruptions_their_number_is_unknown(mart: Any) -> None:
    assert row(mart(LAST), "restarts", "bare")["interruptions"] == 2
    assert row(mart(6), "restarts", "bare")["interruptions"] is None


def test_work_that_is_known_to_be_thrown_back_later_is_drawn_up_to_the_moment(mart: Any) -> None:
    found = jobs.life(mart(6), "big", at(6), ())
    assert found is not None
    assert [(s.start_us, s.end_us) for s in found.again] == [(at(5), at(6))]
    assert found.restarts == []
    later = jobs.life(mart(7), "big", at(7), ())
    assert later is not None
    assert [(s.start_us, s.end_us) for s in later.again] == [(at(5), at(6))]
    assert later.restarts == [(1, at(6.5))]


def test_an_attempt_shows_what_had_happened_to_it(mart: Any) -> None:
    found = row(mart(5), "attempts")
    assert (found["allocated_us"], found["first_step_us"], found["steps"]) == (at(1), at(2), 4)
    assert found["last_step_us"] is found["max_step"] is found["interrupted_us"] is None
    found = row(mart(6), "attempts")
    assert (found["last_step_us"], found["max_step"], found["steps"]) == (at(6), 5, 5)
    assert found["interrupted_us"] is None
    assert row(mart(7), "attempts")["interrupted_us"] == at(6.5)
    _, second = mart(10).rows("from attempts where job = 'big' order by attempt")
    assert second["allocated_us"] == at(9.25)
    assert second["first_step_us"] is second["steps"] is second["min_step"] is None


def test_a_stretch_that_went_on_ends_at_the_moment(mart: Any) -> None:
    query = "select start_us, end_us, component from stretches where job = 'big' order by 1"
    assert [tuple(found.values()) for found in mart(9).rows(query)] == [
        (at(1), at(2), "launch"),
        (at(6), at(6.5), "detect"),
        (at(6.5), at(9), "requeue"),
    ]
    assert len(mart(6).rows(query)) == 1  # one that begins at the moment is not there


@pytest.mark.parametrize(
    ("hours", "wait_us", "censored", "parts"),
    [
        (0, 0, True, {}),
        (1, h(1), True, {"pending": h(1)}),
        (2, h(2), False, {"pending": h(1), "launch": h(1)}),
        (9, h(2), False, {"pending": h(1), "launch": h(1)}),
    ],
)
def test_a_wait_goes_on_until_the_moment(
    mart: Any, hours: int, wait_us: int, censored: bool, parts: dict[str, int]
) -> None:
    then = mart(hours)
    found = row(then, "queue_waits")
    assert (found["wait_us"], found["censored"]) == (wait_us, censored)
    assert (found["started_us"] is None) == (found["basis"] is None) == censored
    rows = then.rows("select part, us from wait_parts where job = 'big'")
    assert {found["part"]: found["us"] for found in rows} == parts
    assert sum(parts.values()) == wait_us


def test_who_waits_is_told_as_of_then(mart: Any) -> None:
    waiting = {hours: waits.Waiting(facts_of(mart(hours))) for hours in (1, 2, 4, 7)}
    assert waiting[1].of("gang") is None
    at_once = waiting[2].of("gang")
    assert at_once is not None and at_once["waited_us"] == 0 and at_once["reason"] == ""
    blocked = waiting[4].of("gang")
    assert blocked is not None and blocked["waited_us"] == h(2)
    assert (blocked["reason"], blocked["gathered_gpus"]) == ("gang_size", 4)
    later = waiting[7].of("gang")
    assert later is not None and (later["gathered_gpus"], later["gathered_since_us"]) == (
        8,
        at(6.5),
    )
    again = waiting[7].of("big")
    assert again is not None and again["is_again"] and again["since_us"] == at(6.5)
    assert waiting[4].of("big") is None


def test_a_loan_is_judged_once_it_ended(mart: Any) -> None:
    assert mart(3).rows("from loans") == []
    for hours, recalled_us in ((7, None), (8, at(7.25))):
        (found,) = mart(hours).rows("from loans")
        assert found["recalled_us"] == recalled_us
        assert found["ended_us"] == (at(7.75) if hours == 8 else None)
        assert found["was_on_time"] is (False if hours == 8 else None)


def test_a_window_is_announced_from_then_on(mart: Any) -> None:
    assert cluster.planned(mart(2), at(2), "big") == []
    (found,) = cluster.planned(mart(3), at(3), "big")
    assert found["starts_us"] == at(8)


def test_saves_are_counted_up_to_the_moment(mart: Any) -> None:
    assert mart(2).rows("from checkpoints") == []
    found, saved = row(mart(4), "checkpoints"), row(mart(4), "saves")
    assert (found["completed"], found["newest_us"], found["newest_step"]) == (2, at(4), 3)
    assert (saved["bytes"], saved["write_us"]) == (3, None)  # the median is that of all three
    assert row(mart(12), "saves")["write_us"] == h(0.1)
    newest = mart(4).rows("select step from saved_checkpoints where is_newest")
    assert newest == [{"step": 3}]


@pytest.mark.parametrize("hours", [2, 6, 7, 10, 11, 13])
def test_the_page_s_wall_its_budget_and_the_fleet_s_page_are_of_one_moment(
    home: Home, mart: Any, hours: int
) -> None:
    then = facts_of(mart(hours))
    wall = jobs.wall(then, "big")
    assert wall is not None
    assert wall.useful_us + sum(loss.us for loss in wall.losses) == wall.wall_us == h(hours - 1)
    own = jobs.own_budget(then, "big", at(hours))
    assert own is not None
    # All of the job lies in the window: what it lost to the platform is what spent its budget.
    assert own.budget.amount.total == wall.wall_us
    assert own.budget.amount.bad == wall.share_of("platform")
    with fleet.facts(home) as newest:
        (same,) = (
            r
            for r in budgets.reports(newest, Scope(job="big"), at(hours))
            if r.series.slo == "goodput"
        )
    assert same.budget == own.budget
    assert own.budget.allowed == int(Fraction(wall.wall_us, 10))


def test_a_re_attribution_is_in_force_at_every_moment(mart: Any) -> None:
    change = Adjustments(reattributions=(Reattribution("big", at(6.5), "job_error"),))
    for hours in (6, 7, 11):
        wall = jobs.wall(Facts(mart(hours), harness.POLICY, change), "big")
        assert wall is not None
        assert wall.useful_us + wall.gap_us == wall.wall_us
        assert {loss.category for loss in wall.losses} == {"startup", "job"}


def test_a_moment_inside_an_hour_is_refused(home: Home) -> None:
    _, con = connect(home)
    with pytest.raises(ValueError, match="not the end of an hour"):
        cut(Mart(con), at(2, us=1))


def test_every_table_of_a_mart_is_cut_or_known_to_have_no_dates(home: Home) -> None:
    _, con = connect(home)
    tables = {
        row["name"] for row in Mart(con).rows("select table_name as name from duckdb_tables()")
    }
    assert set(TABLES) < tables == {*CUT, *UNDATED, "waiting"}


def test_a_table_that_is_cut_has_the_columns_that_were_published(mart: Any, home: Home) -> None:
    _, con = connect(home)
    then = mart(7)
    for table in (*CUT, "waiting"):
        query = f"select column_name, column_type from (describe {table})"
        assert then.rows(query) == Mart(con).rows(query), table


NOT_YET_KNOWN = {
    "jobs": ("useful_us", "last_record_us", "last_cause", "checkpoint_interval_us"),
    "attempts": ("last_step_us", "max_step"),
    "restarts": ("lost_steps", "attempts_used", "interruptions"),
    "checkpoints": ("failed",),
    "saves": ("timed", "write_us"),
}
"""Columns that tell what is known today, or say that a past value is unknown."""

OF_TODAY = {
    "meta",
    "ledger",
    "capacity",
    "restart_losses",
    "resumptions",
    "contracts",
    "loans",
    "holds",
}
"""Tables in which later records speak of earlier hours: a refresh that stops then lacks them."""


@pytest.mark.parametrize("hours", [-7, 3, 4, 6, 7, 9, 12])
def test_a_cut_mart_equals_what_a_refresh_publishes_that_reads_nothing_later(
    mart: Any, tmp_path: Path, hours: int
) -> None:
    # Moments at which no instrumented job is amid its first step: until then a refresh cannot know
    # that the job will record steps.
    tables = sorted({*CUT, "waiting"} - OF_TODAY)
    site = told()
    with harness.fresh_warehouse() as con:
        harness.deliver(con, tmp_path, site.lifecycle, site.steps)
        harness.rederive(con, at(hours))
        published = harness.published(con, *tables, "ledger")
    then = mart(hours)
    for table in tables:
        skipped = NOT_YET_KNOWN.get(table, ())
        assert comparable(then.rows(f"from {table}"), skipped) == comparable(
            published[table], skipped
        ), table
    # The ledger, but for what was thrown back later and the step that went on at the moment.
    assert settled(then.rows("from ledger")) == settled(published["ledger"])


def comparable(rows: list[dict[str, Any]], skipped: tuple[str, ...]) -> list[str]:
    kept = [{name: value for name, value in row.items() if name not in skipped} for row in rows]
    return sorted(map(repr, kept))


def settled(rows: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """µs by job and kind, what came to nothing or was not complete among the steps."""
    found: dict[tuple[str, str], int] = {}
    for row in rows:
        is_step = row["component"] in ("step", "rework", "tail")
        key = row["job"], "step" if is_step else f"{row['category']}, {row['component']}"
        found[key] = found.get(key, 0) + row["us"]
    return found


@streams.tried
@given(st.integers(0, 10**9))
def test_at_any_hour_useful_time_and_losses_sum_to_the_wall_clock(seed: int) -> None:
    lifecycle, steps = streams.random_stream(seed)
    with tempfile.TemporaryDirectory() as folder, harness.fresh_warehouse() as con:
        home, inbox = Home.open(Path(folder) / "home"), Path(folder) / "inbox"
        inbox.mkdir()
        harness.deliver(con, inbox, lifecycle, steps)
        harness.rederive(con)
        publish(con, home, harness.POLICY, as_of_given=True)
        _, published = connect(home)
        (span,) = Mart(published).rows("select min(hour_us) as a, max(hour_us) as b from ledger")
        for hour_us in range(span["a"] or 0, (span["b"] or -1) + 1, HOUR_US):
            then = Mart(published.cursor())
            cut(then, hour_us + HOUR_US)
            check_sums(then, hour_us + HOUR_US)
        published.close()


def check_sums(then: Mart, until_us: int) -> None:
    # The wall-clock by its ends and its suspensions, which no ledger tells.
    for job in then.rows(
        "select *, (select coalesce(sum(least(end_us, j.wall_end_us)"
        "   - greatest(start_us, j.wall_start_us)), 0)::bigint from suspensions s"
        "   where s.job = j.job) as away_us from jobs j where wall_us is not null"
    ):
        assert job["wall_us"] == job["wall_end_us"] - job["wall_start_us"] - job["away_us"]
        assert job["wall_end_us"] <= until_us
    facts = Facts(then, harness.POLICY, Adjustments())
    for name in facts.jobs:
        if wall := jobs.wall(facts, name):
            assert wall.useful_us + sum(loss.us for loss in wall.losses) == wall.wall_us
            assert wall.useful_us == facts.jobs[name]["useful_us"]
    assert (
        then.rows(
            "from restarts where age_us < 0 or detected_us + age_us > ? or detected_us > ?"
            " or (outcome = 'open') <> (recovered_us is null and outcome <> 'abandoned')",
            [until_us, until_us],
        )
        == []
    )
    assert (
        then.rows(
            "select job from queue_waits q where wait_us >= 0 and wait_us <>"
            " (select coalesce(sum(us), 0) from wait_parts p where p.job = q.job)"
        )
        == []
    )
