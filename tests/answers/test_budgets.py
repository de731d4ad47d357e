"""Budgets from records to answers; every expected figure is worked out in the test."""

import json
from pathlib import Path

import pandas as pd
import pytest
from fleet import BASE_US, HOUR_US, Fleet, at, facts, lost_72_of_720, report

from answers.budgets import reports
from answers.home import Home
from metrics.adjustments import Adjustments, Exclusion, Reattribution
from metrics.errors import UsageError
from metrics.scope import Scope


@pytest.fixture(scope="module")
def exhausted(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return lost_72_of_720(gpus=10_000).publish(tmp_path_factory.mktemp("exhausted"))


def test_10_000_gpus_over_30_days_arrive_as_exact_integers(exhausted: Home) -> None:
    found = report(exhausted, "goodput")
    # 10,000 × 720 h = 2.592e16 GPU-µs, past 2^53; a tenth of it is allowed, and was lost.
    assert (found["total"], found["bad"], found["allowed"], found["remaining"]) == (
        25_920_000_000_000_000,
        2_592_000_000_000_000,
        2_592_000_000_000_000,
        0,
    )
    assert (found["state"], found["unit"], found["remaining_ratio"]) == ("exhausted", "gpu_us", 0.0)


def test_one_microsecond_less_lost_is_within_the_budget(tmp_path: Path) -> None:
    found = report(lost_72_of_720(10_000, spared_us=1).publish(tmp_path), "goodput")
    assert (found["bad"], found["remaining"]) == (2_591_999_999_990_000, 10_000)
    assert found["state"] == "within"


def test_sums_past_an_int64_reach_json_and_pandas_unharmed(tmp_path: Path) -> None:
    found = report(lost_72_of_720(10_000_001).publish(tmp_path), "goodput")
    total = 10_000_001 * 720 * HOUR_US
    assert total > 2**63
    assert json.loads(json.dumps(found))["total"] == total
    frame = pd.DataFrame([found])
    assert frame["total"].dtype == object
    assert frame["total"].sum() == total
    small = pd.DataFrame([{"total": 2**53 + 1}])
    assert small["total"].dtype == "int64"
    assert int(small["total"].sum()) == 2**53 + 1


def test_the_json_has_the_keys_that_programs_rely_on(exhausted: Home) -> None:
    assert list(report(exhausted, "goodput")) == [
        "slo",
        "scope",
        "unit",
        "state",
        "total",
        "bad",
        "allowed",
        "remaining",
        "remaining_ratio",
        "burn",
        "exhausted_at",
        "thaw_at",
        "as_of",
        "data_through",
        "coverage",
    ]


def test_a_job_has_72_hours_and_counts_its_wall_without_gpus(exhausted: Home) -> None:
    found = report(exhausted, "goodput", "job=big")
    assert (found["unit"], found["allowed"]) == ("us", 72 * HOUR_US)
    # Lost in its course: 1 h of startup, then 71 h from hour 649 on. (1 + n) × 10 >= 649 + n is
    # reached at n = 71, when 720 h are over.
    assert found["exhausted_at"] == "2026-03-31T00:00:00Z"


def test_an_hour_earlier_it_was_not_exhausted(exhausted: Home) -> None:
    found = report(exhausted, "goodput", "job=big", as_of=719)
    # 719 h, of which 1 + 70 are lost; 71.9 h are allowed.
    assert (found["total"], found["bad"], found["allowed"]) == (
        719 * HOUR_US,
        71 * HOUR_US,
        719 * HOUR_US // 10,
    )
    assert found["state"] == "within"


def test_data_too_old_at_the_moment_asked_for_are_unknown(exhausted: Home) -> None:
    # The newest record is of hour 720; the policy allows two hours, in which the window went on:
    # the lost hour of startup left it, and 71 of 718 h are within a tenth.
    assert report(exhausted, "goodput", as_of=722)["state"] == "within"
    late = report(exhausted, "goodput", as_of=722.01)
    assert (late["state"], late["exhausted_at"], late["thaw_at"]) == ("unknown", None, None)


def test_a_window_without_data_is_unknown_and_never_nan(exhausted: Home) -> None:
    found = report(exhausted, "goodput", as_of=-1)
    assert (found["state"], found["total"], found["remaining_ratio"]) == ("unknown", 0, None)
    assert set(found["burn"].values()) == {None}


def test_too_little_gpu_time_is_insufficient(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 12)  # 8 GPUs for 12 h: 96 of the 100 GPU-hours that the policy asks for
    home = fleet.publish(tmp_path)
    assert report(home, "goodput", as_of=12)["state"] == "insufficient"


def test_whole_goodput_stands_beside_what_is_charged(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 50)
    fleet.interrupt(50, "job_error")
    fleet.allocate(60, attempt=1)
    fleet.train(60, 40, attempt=1, number=51)
    fleet.end(100)
    with facts(fleet.publish(tmp_path)) as found:
        (goodput,) = reports(found, Scope(job="big"), at(100), "goodput")
        detail = goodput.detail()
    # Lost: 1 h of startup to the platform; down from 50 to the first step at 61, the job's error.
    assert detail["goodput"]["lost"] == 12 * HOUR_US
    assert detail["goodput"]["charged"] == 1 * HOUR_US
    assert detail["goodput"]["goodput"] == 0.88
    assert detail["goodput"]["platform_goodput"] == 0.99
    assert detail["spending"]["category"] == {"startup": HOUR_US}
    assert [row["total"] for row in detail["history"][-3:]] == [
        98 * HOUR_US,
        99 * HOUR_US,
        100 * HOUR_US,
    ]
    assert len(detail["history"]) == 720


@pytest.mark.parametrize(("tier", "charged"), [("batch", 1), ("standard", 11 + 1)])
def test_preemption_of_a_preemptible_tier_is_charged_to_nobody(
    tmp_path: Path, tier: str, charged: int
) -> None:
    fleet = Fleet()
    fleet.submit(0, tier=tier)
    fleet.allocate(0)
    fleet.train(0, 50)
    fleet.interrupt(50, "preemption")
    fleet.allocate(60, attempt=1)
    fleet.train(60, 40, attempt=1, number=51)
    fleet.end(100)
    home = fleet.publish(tmp_path)
    assert report(home, "goodput", "job=big", 100)["bad"] == charged * HOUR_US


def crashed(tmp_path: Path, cause: str = "job_error") -> Home:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 50)
    fleet.interrupt(50, cause, node="n7")
    fleet.allocate(60, attempt=1)
    fleet.train(60, 40, attempt=1, number=41)  # resumes after step 40: 41 to 50 were lost
    fleet.end(100)
    return fleet.publish(tmp_path)


def test_a_re_attribution_moves_all_that_the_interruption_cost(tmp_path: Path) -> None:
    home = crashed(tmp_path)
    # Charged as recorded: the startup of 1 h. The error cost 10 steps and 11 h until the next first
    # step; as a dead link they are the platform's.
    assert report(home, "goodput", "job=big", 100)["bad"] == 1 * HOUR_US
    changed = Adjustments(reattributions=(Reattribution("big", at(50), "network"),))
    found = report(home, "goodput", "job=big", 100, adjustments=changed)
    assert (found["bad"], found["total"]) == (22 * HOUR_US, 100 * HOUR_US)
    with facts(home, adjustments=changed) as read:
        spent = read.goodput_spending(Scope(), BASE_US, at(100))
        assert len(read.restarts) == 1
    assert spent["cause"] == {"network": 21 * 8 * HOUR_US, "": 8 * HOUR_US}
    assert spent["node"] == {"n7": 21 * 8 * HOUR_US}


def straggling(tmp_path: Path) -> Home:
    """Steps of an hour from hour 0: number 3 waits 600 s for n5, 4 for n6, 5 for no node named."""
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 50)
    for number, node in ((3, "n5"), (4, "n6"), (5, None)):
        fleet.steps[number - 1] |= {"straggler_us": 600_000_000, "straggler_node": node}
    fleet.interrupt(50, "hardware", node="n5")
    fleet.allocate(52, attempt=1)
    fleet.train(52, 40, attempt=1, number=51)
    fleet.end(92)
    return fleet.publish(tmp_path)


def test_spending_by_node_holds_what_a_node_interrupted_and_what_was_waited_for_it(
    tmp_path: Path,
) -> None:
    with facts(straggling(tmp_path)) as read:
        spent = read.goodput_spending(Scope(), BASE_US, at(92))
    # n5: 600 s as a straggler, then 3 h from its interruption to the next first step, on 8 GPUs.
    assert spent["node"] == {"n5": (3 * 3600 + 600) * 8 * 10**6, "n6": 600 * 8 * 10**6}
    assert spent["component"]["step"] == 3 * 600 * 8 * 10**6


def test_what_was_excluded_is_spent_by_no_node(tmp_path: Path) -> None:
    outage = Adjustments((Exclusion(Scope(tier="standard"), at(0), at(51)),))
    with facts(straggling(tmp_path), adjustments=outage) as read:
        spent = read.goodput_spending(Scope(), BASE_US, at(92))
    # Of the 3 h from hour 50 to 53 the last two count.
    assert spent["node"] == {"n5": 2 * 8 * HOUR_US}


def test_restarts_of_the_job_s_own_errors_stand_apart(tmp_path: Path) -> None:
    with facts(crashed(tmp_path)) as read:
        assert read.restarts == []


def test_an_excluded_interval_counts_for_no_budget(tmp_path: Path) -> None:
    home = crashed(tmp_path, "hardware")
    outage = Adjustments((Exclusion(Scope(tier="standard"), at(50), at(60)),))
    found = report(home, "goodput", "job=big", 100, adjustments=outage)
    # 100 h less 10; lost 1 + 10 + 11, less the 10 that lie in it. Its restart crossed its limit in
    # it, at hour 50 and 10 minutes.
    assert (found["total"], found["bad"]) == (90 * HOUR_US, 12 * HOUR_US)
    restarts = report(home, "time-to-restart", "job=big", 100, adjustments=outage)
    assert restarts["total"] == 0


def test_an_interruption_in_excluded_hours_makes_no_interruption_of_the_wall(
    tmp_path: Path,
) -> None:
    home = crashed(tmp_path, "hardware")
    # Of the one in hour 50: 100 h of wall between interruptions, unless that hour counts for none.
    for hours, between in ((51, 99 * HOUR_US), (50, None)):
        outage = Adjustments((Exclusion(Scope(), at(hours), at(hours + 1)),))
        with facts(home, adjustments=outage) as read:
            assert read.between_interruptions(Scope(), at(-620), at(100)) == between


def test_an_exclusion_of_another_scope_changes_nothing(tmp_path: Path) -> None:
    home = crashed(tmp_path, "hardware")
    elsewhere = Adjustments((Exclusion(Scope(tier="batch"), at(50), at(60)),))
    assert report(home, "goodput", as_of=100, adjustments=elsewhere) == report(
        home, "goodput", as_of=100
    )


@pytest.mark.parametrize(("recovered_s", "bad"), [(599.999999, 0), (600, 1)])
def test_a_restart_keeps_its_limit_in_under_600_seconds(
    tmp_path: Path, recovered_s: float, bad: int
) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 10)
    fleet.interrupt(10, "network")
    fleet.step(at(10) + round(recovered_s * 10**6), 60_000_000, 11, attempt=1)
    fleet.end(20)
    found = report(fleet.publish(tmp_path), "time-to-restart", as_of=20)
    assert (found["total"], found["bad"], found["state"]) == (1, bad, "insufficient")


def test_an_open_restart_counts_from_the_moment_it_crosses_its_limit(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.allocate(0)
    fleet.train(0, 10)
    fleet.interrupt(10.9, "network")
    fleet.submit(12, job="other")  # nothing else is heard until then
    home = fleet.publish(tmp_path)
    # Crossed at 10.9 h + 10 min, in the hour that begins at 11.
    assert report(home, "time-to-restart", as_of=11)["total"] == 0
    assert report(home, "time-to-restart", as_of=12)["bad"] == 1


def test_a_queue_wait_leaves_out_what_the_owner_asked_for(tmp_path: Path) -> None:
    fleet = Fleet()
    for job, held in (("held", True), ("slow", False)):
        fleet.submit(0, job=job)
        if held:
            fleet.tell("job_pending", at(0.5), job, reason="user_hold")
            fleet.tell("job_pending", at(2), job, reason="quota")
        fleet.allocate(2.5, job)
        fleet.train(1.5, 1, job)
    home = fleet.publish(tmp_path)
    # Both complete their first step after 2.5 h; one was held for 1.5 h of it. The limit is 2 h.
    found = report(home, "queue-wait", "tier=standard", as_of=3)
    assert (found["total"], found["bad"]) == (2, 1)
    with facts(home) as read:
        assert [(e.job, e.at_us, e.bad) for e in read.waits] == [
            ("held", at(2.5), False),
            ("slow", at(2), True),
        ]


def test_a_wait_that_was_held_crosses_its_limit_later(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0)
    fleet.tell("job_pending", at(1), reason="dependency")
    fleet.tell("job_pending", at(4), reason="quota")
    fleet.submit(9, job="other", tier="batch")
    with facts(fleet.publish(tmp_path)) as read:
        # One hour counted, three held, the second counted hour ends at 5.
        assert [(e.at_us, e.bad) for e in read.waits] == [(at(5), True)]


def test_short_jobs_count_by_their_outcome_but_for_their_own_errors(tmp_path: Path) -> None:
    fleet = Fleet()
    for job, outcome, cause in (
        ("fine", "completed", None),
        ("lost", "failed", "network"),
        ("wrong", "failed", "job_error"),
        ("gone", "cancelled", None),
        ("grew", "failed", "network"),
    ):
        length_us = HOUR_US // 2 if job != "grew" else 2 * HOUR_US
        fleet.submit(0, job=job, gpus=1, expected_duration_us=length_us)
        fleet.allocate(0, job)
        if cause:
            fleet.interrupt(0.4, cause, job)
        fleet.end(0.5, job, outcome)
    found = report(fleet.publish(tmp_path), "short-job-success", as_of=1)
    assert (found["total"], found["bad"]) == (2, 1)


def test_large_jobs_by_their_wall_so_far_count_with_all_their_hours(tmp_path: Path) -> None:
    fleet = Fleet()
    fleet.submit(0, expected_duration_us=HOUR_US)
    fleet.allocate(0)
    fleet.train(0, 10)
    home = fleet.publish(tmp_path)
    assert report(home, "goodput", as_of=5)["total"] == 0
    assert report(home, "goodput", as_of=6)["total"] == 6 * 8 * HOUR_US


@pytest.mark.parametrize(
    ("scope", "said"),
    [("job=bigg", "did you mean big?"), ("tier=standrd", "did you mean standard?")],
)
def test_a_scope_that_is_not_there_is_refused_with_a_hint(
    exhausted: Home, scope: str, said: str
) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        report(exhausted, "goodput", scope)


def test_an_objective_that_is_not_there_is_refused_with_a_hint(exhausted: Home) -> None:
    with pytest.raises(UsageError, match="did you mean goodput"):
        report(exhausted, "gooodput")


def test_a_job_that_is_not_instrumented_stays_out_and_lowers_coverage(tmp_path: Path) -> None:
    fleet = lost_72_of_720()
    fleet.submit(0, job="dark")
    fleet.allocate(0, "dark")
    fleet.end(720, "dark")
    home = fleet.publish(tmp_path)
    found = report(home, "goodput")
    assert (found["total"], found["coverage"]) == (8 * 720 * HOUR_US, 0.5)
    assert report(home, "goodput", "job=dark")["state"] == "unknown"
