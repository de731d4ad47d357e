"""Plans of checkpoints: the issue's worked numbers, money, constraints and words."""

import json
from dataclasses import replace
from typing import Any

import harness
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from answers.planning.answer import answer
from answers.planning.measured import Failures, Measured
from answers.planning.plan import Given, Plan
from metrics.checkpointing import Estimate
from metrics.errors import UsageError

HOUR_S = 3600
RUN = Given(save_s=240, mtbf_s=9 * HOUR_S, restart_s=840, step_s=0.9)
SHARDED = replace(RUN, writers=16)
ASYNCHRONOUS = replace(SHARDED, blocking_fraction=0.1)
SPOT = replace(
    ASYNCHRONOUS,
    price=2.40,
    spot_price=0.75,
    spot_mtbf_s=45 * 60,
    warning_s=120,
    gpus=512,
    useful_h=720,
)
JOB = Measured(
    job="run-1",
    gpus=64,
    saves=50,
    blocks_s=240,
    write_s=300,
    size=10**12,
    step_s=0.9,
    interval_s=9180,
    restart_s=840,
    restart_of="7 restarts of its own",
    failures=Failures(Estimate(9 * HOUR_S, 5 * HOUR_S, 22 * HOUR_S), 7, "own"),
    goodput=0.81,
)


def planned(given: Given, found: Measured | None = None) -> dict[str, Any]:
    return answer(Plan.of(given, found, harness.POLICY))


def holds(found: dict[str, Any], name: str) -> bool | None:
    (constraint,) = [row for row in found["constraints"] if row["name"] == name]
    verdict: bool | None = constraint["holds"]
    return verdict


def detail(found: dict[str, Any], name: str) -> str:
    (constraint,) = [row for row in found["constraints"] if row["name"] == name]
    return str(constraint["detail"])


def test_one_writer_of_240_s_every_65_7_min_leaves_85_2_percent_below_the_objective() -> None:
    found = planned(RUN)
    # sqrt(2 x 240 x 32,400) = 3,943.6 s; / 0.9 = 4,382 steps; 2 x 6.086 + 2.593 = 14.76 %.
    assert round(found["interval_s"]) == 3944
    assert round(found["interval_s"] / 60, 1) == 65.7
    assert found["interval_steps"] == 4382
    lost = found["overhead"]
    assert round(lost["save"] + lost["lost_work"], 3) == 0.122
    assert round(lost["total"], 3) == 0.148
    assert round(found["goodput"], 3) == 0.852
    assert found["goodput"] == 1 - lost["total"]
    assert holds(found, "goodput objective") is False
    assert "expect a goodput of 85.2 %. This is below the objective of 90 %" in found["advice"]
    assert "a save that blocks 88.9 s at most would reach it" in found["advice"]


def test_sharded_over_sixteen_a_save_takes_15_s_and_5_6_percent_are_lost() -> None:
    found = planned(SHARDED)
    # 240 / 16 = 15 s; sqrt(2 x 15 x 32,400) = 985.9 s; 2 x 1.521 = 3.04 %; + 2.593 = 5.64 %.
    assert round(found["interval_s"]) == 986
    assert round(found["overhead"]["save"] * 2, 3) == 0.030
    assert round(found["overhead"]["total"], 3) == 0.056
    assert holds(found, "goodput objective") is True


def test_asynchronous_1_5_s_block_and_3_6_percent_are_lost() -> None:
    found = planned(ASYNCHRONOUS)
    # A tenth of 15 s; sqrt(2 x 1.5 x 32,400) = 311.8 s; 2 x 0.481 = 0.96 %; + 2.593 = 3.55 %.
    assert round(found["interval_s"]) == 312
    assert round(found["overhead"]["save"] * 2, 3) == 0.010
    assert round(found["overhead"]["total"], 3) == 0.036
    assert holds(found, "background write ends before the next") is True


def test_on_spot_it_saves_every_90_s_and_34_4_percent_are_lost() -> None:
    spot = planned(SPOT)["spot"]
    # sqrt(2 x 1.5 x 2,700) = 90 s; 1.5 / 90 + 90 / 5,400 = 3.33 %; + 840 / 2,700 = 31.11 %.
    assert spot["interval_s"] == pytest.approx(90)
    assert round(spot["overhead"]["save"] + spot["overhead"]["lost_work"], 3) == 0.033
    assert round(spot["overhead"]["total"], 3) == 0.344


def test_a_useful_gpu_hour_costs_2_49_on_demand_and_1_14_on_spot() -> None:
    money = planned(SPOT)["money"]
    # $2.40 / (1 - 0.03555) = $2.488; $0.75 / (1 - 0.34444) = $1.144.
    assert round(money["on_demand"]["per_useful_gpu_hour"], 2) == 2.49
    assert round(money["spot"]["per_useful_gpu_hour"], 2) == 1.14


def test_720_useful_hours_take_747_h_on_demand_and_1098_h_on_spot() -> None:
    money = planned(SPOT)["money"]
    # 720 / 0.96445 = 746.5; 720 / 0.65556 = 1,098.3. In all: x 512 GPUs x the price.
    assert round(money["on_demand"]["wall_hours"]) == 747
    assert round(money["spot"]["wall_hours"]) == 1098
    assert money["spot"]["total"] == pytest.approx(720 / (1 - 1 / 30 - 14 / 45) * 512 * 0.75)


def test_with_the_warning_used_it_costs_1_09_to_1_12() -> None:
    warning = planned(SPOT)["money"]["spot"]["with_warning"]
    # Saving at warnings only: 0.75 / (1 - (840 + 1.5) / 2,700) = 0.75 / 0.68833 = $1.0896; going
    # on at 90 s besides: 0.75 / (0.68833 - 1 / 60) = 0.75 / 0.67167 = $1.1166.
    assert (round(warning["low"], 2), round(warning["high"], 2)) == (1.09, 1.12)
    assert "$1.09 to $1.12 with the warning used" in planned(SPOT)["advice"]


def test_what_the_numbers_with_the_warning_assume_is_said() -> None:
    said = " ".join(planned(SPOT)["assumptions"])
    assert "a warned job saves once more, blocked as by any save" in said
    assert "not counted as lost" in said


def test_a_save_of_240_s_misses_a_warning_of_120_s_and_saves_no_money() -> None:
    missed = planned(replace(SPOT, writers=1))
    assert holds(missed, "save fits the warning") is False
    assert missed["money"]["spot"]["with_warning"] is None
    assert "misses a warning of 120 s" in detail(missed, "save fits the warning")


def test_a_save_of_15_s_fits_and_the_graceful_stop_has_a_worth() -> None:
    found = planned(SPOT)
    assert holds(found, "save fits the warning") is True
    # 90 / 5,400 = 1.667 points of work done again, less 1.5 / 2,700 = 0.056 for the save.
    assert "worth 1.6 points" in detail(found, "save fits the warning")


def test_when_all_preempted_jobs_save_at_once_the_warning_is_missed_after_all() -> None:
    name = "all preempted jobs save at once"
    # One after another's share: 8 x 15 s = 120 s fit, 9 x 15 s do not.
    assert holds(planned(replace(SPOT, jobs=8)), name) is True
    assert holds(planned(replace(SPOT, jobs=9)), name) is False
    assert holds(planned(SPOT), name) is None
    assert "8 fit" in detail(planned(SPOT), name)


def test_1_4_tb_by_sixteen_writers_is_5_8_gb_a_second_each() -> None:
    found = planned(replace(SHARDED, size=1.4e12))
    assert "16 writers: 5.8 GB/s a writer, 93.3 GB/s in all" in detail(found, "writers")


def test_beyond_saturation_writers_save_nothing() -> None:
    # 1.4 TB at 50 GB/s: 28 s, whatever the writers.
    found = planned(replace(SHARDED, size=1.4e12, bandwidth=50e9))
    assert found["interval_s"] == pytest.approx((2 * 28 * 32_400) ** 0.5)
    assert holds(found, "writers") is False


def test_a_background_write_that_would_not_end_in_time_sets_the_interval() -> None:
    # Of 240 s a hundredth blocks: sqrt(2 x 2.4 x 2,700) = 113.8 s is shorter than the write.
    found = planned(replace(RUN, blocking_fraction=0.01, mtbf_s=2700))
    name = "background write ends before the next"
    assert found["interval_s"] == 240
    assert holds(found, name) is False
    assert "the next snapshot would wait for it" in detail(found, name)
    assert found["advice"].startswith("Save every 240 s")


def test_on_spot_a_background_write_has_less_time() -> None:
    # 45 s in all, a hundredth blocks: on demand every 170.8 s is best, on spot every
    # sqrt(2 x 0.45 x 900) = 28.5 s, in which it is not durable yet.
    given = replace(RUN, save_s=45, blocking_fraction=0.01)
    name = "background write ends before the next"
    assert holds(planned(given), name) is True
    on_spot = planned(replace(given, spot_mtbf_s=900))
    assert holds(on_spot, name) is False
    assert on_spot["spot"]["interval_s"] == 45


def test_200_jobs_ask_898_gb_a_second_and_begin_1_6_s_after_one_another() -> None:
    found = planned(replace(ASYNCHRONOUS, size=1.4e12, jobs=200))
    # 200 x 1.4 TB / 311.8 s = 898 GB/s; 311.8 / 200 = 1.56 s; 200 x 15 / 311.8 = 9.62 times.
    assert "200 jobs ask 898.1 GB/s on average" in detail(found, "shared file system")
    assert found["shared"]["stagger_offset_s"] == pytest.approx(1.559, abs=1e-3)
    assert found["shared"]["load"] == pytest.approx(9.62, abs=5e-3)
    assert found["shared"]["write_s_at_random"] is None
    assert "Begin the 200 jobs' saves 1.6 s after one another." in found["advice"]
    # 1 - (1 - 30 / 311.8)^199: all but certain.
    assert found["shared"]["collision_chance"] > 0.999999


def test_a_file_system_too_slow_for_all_jobs_sets_the_interval() -> None:
    # 200 x 1.4 TB / 400 GB/s = 700 s > 311.8 s.
    found = planned(replace(ASYNCHRONOUS, size=1.4e12, bandwidth=400e9, jobs=200))
    assert found["interval_s"] == pytest.approx(700)
    assert found["flat_region_s"][0] == pytest.approx(700)


def test_collisions_lengthen_what_blocks() -> None:
    # 5 jobs, 15 s each of 985.9 s: a load of 0.0761; 15 / (1 - 0.0761) = 16.2 s.
    found = planned(replace(SHARDED, jobs=5))
    assert found["shared"]["write_s_at_random"] == pytest.approx(16.235, abs=1e-3)
    assert "what blocks 16.2 s of 15 s" in detail(found, "shared file system")
    # 1 - (1 - 30 / 985.9)^4 = 11.6 %.
    assert found["shared"]["collision_chance"] == pytest.approx(0.1163, abs=5e-5)


def test_the_answer_has_what_it_is_said_to_have_and_is_json() -> None:
    found = planned(RUN)
    assert list(found)[:7] == [
        *("interval_s", "interval_steps", "overhead", "goodput"),
        *("constraints", "assumptions", "advice"),
    ]
    assert list(found["overhead"]) == ["save", "lost_work", "restart", "total"]
    assert "money" not in found
    assert json.loads(json.dumps(planned(SPOT), allow_nan=False)) == planned(SPOT)


def test_the_arithmetic_can_be_done_by_hand() -> None:
    assert planned(RUN)["arithmetic"] == [
        "T* = √(2 · C · M) = √(2 · 240 s · 32,400 s) = 3,944 s",
        "steps = 3,944 s / 0.9 s = 4,382",
        "saving C / T = 240 / 3,944 = 6.1 %",
        "work done again T / 2M = 3,944 / 64,800 = 6.1 %",
        "restarts R / M = 840 / 32,400 = 2.6 %",
        "goodput = 1 − 14.8 % = 85.2 %",
    ]


def test_the_advice_is_a_decision_its_cost_and_when_to_revisit_it() -> None:
    advice = planned(RUN)["advice"]
    assert advice.startswith(
        "Save every 65.7 min (4,382 steps); from 49.4 min to 87.5 min it costs"
    )
    assert "takes 12.2 % of the wall-clock (saving 6.1 %, work done again 6.1 %)" in advice
    assert "Revisit when a save blocks for less than 122 s or more than 397 s" in advice
    assert "more often than every 5.4 h or less often than every 17.7 h" in advice


def test_the_first_order_formula_is_said_not_to_hold_where_failures_are_frequent() -> None:
    assert holds(planned(RUN), "first-order formula") is True
    # exp(-840/2,700) x (90/2,700) / (exp(91.5/2,700) - 1) = 70.8 %, 5.3 points above 65.6 %.
    often = planned(replace(ASYNCHRONOUS, mtbf_s=2700))
    assert holds(often, "first-order formula") is False
    assert "goodput is 70.8 % (+5.3 points)" in detail(often, "first-order formula")


def test_where_more_than_all_would_be_lost_goodput_is_0_and_no_money_is_known() -> None:
    found = planned(replace(RUN, mtbf_s=720, price=2.40, useful_h=720))
    assert found["goodput"] == 0
    assert found["overhead"]["total"] > 1
    assert found["money"]["on_demand"]["per_useful_gpu_hour"] is None
    assert found["money"]["on_demand"]["wall_hours"] is None
    assert "an unknown amount on demand" in found["advice"]


def test_a_job_is_planned_from_its_own_measurements_beside_its_measured_goodput() -> None:
    found = planned(Given(), JOB)
    # Of 300 s, 240 s block: the interval is that of C = 240 s.
    assert round(found["interval_s"]) == 3944
    assert "85.2 % (81.0 % measured, all losses counted)" in found["advice"]
    assert any("95 % interval 5.0 h to 22.0 h" in text for text in found["assumptions"])
    assert found["measured"]["mtbf_of"] == "own"
    # sqrt(2 x 240 x 18,000) = 2,939 s, sqrt(2 x 240 x 79,200) = 6,166 s.
    assert any("T* lies from 49.0 min to 1.7 h" in text for text in found["assumptions"])
    # 240 / 9,180 + 9,180 / 64,800 + 0.02593 = 2.61 + 14.17 + 2.59 = 19.4 %; 14.76 %: 4.6 less.
    assert holds(found, "interval in force") is False
    assert "loses 19.4 %, 4.6 points more" in detail(found, "interval in force")


def test_given_numbers_win_over_measured_ones() -> None:
    found = planned(Given(save_s=15, mtbf_s=9 * HOUR_S, restart_s=60, step_s=2), JOB)
    assert found["interval_s"] == pytest.approx((2 * 15 * 32_400) ** 0.5)
    assert found["interval_steps"] == 493
    assert found["overhead"]["restart"] == pytest.approx(60 / 32_400)
    assert found["assumptions"][:3] == [
        "a save takes one writer 15 s: given",
        "a failure every 9.0 h: given",
        "a restart takes 60 s: given",
    ]


def test_the_fleets_rate_is_said_to_be_the_fleets() -> None:
    of_fleet = replace(JOB, failures=Failures(Estimate(1e5, 8e4, 2e5), 431, "fleet"))
    found = planned(Given(), of_fleet)
    assert any(
        "431 restarts of the fleet's large jobs a GPU-hour, scaled by its GPUs" in text
        for text in found["assumptions"]
    )


@pytest.mark.parametrize(
    ("given", "found", "said"),
    [
        (Given(), None, "give --job, or say --save-seconds"),
        (Given(save_s=1, restart_s=1), None, "--mtbf-hours"),
        (Given(save_s=1, mtbf_s=1), None, "--restart-minutes"),
        (Given(), replace(JOB, blocks_s=None), "job run-1's records do not tell; say --save-sec"),
        (Given(), replace(JOB, failures=None), "--mtbf-hours"),
        (Given(), replace(JOB, restart_s=None), "--restart-minutes"),
    ],
    ids=[
        "nothing",
        "no failures",
        "no restart",
        "no save",
        "job never failed",
        "no restart of job",
    ],
)
def test_what_is_neither_given_nor_measured_is_asked_for(
    given: Given, found: Measured | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        planned(given, found)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e300])
def test_a_number_that_can_be_none_is_refused_by_its_option(value: float) -> None:
    with pytest.raises(UsageError, match=r"--save-seconds .*: say a number above 0"):
        Given(save_s=value)


def test_a_bandwidth_is_of_no_use_without_the_size_of_a_checkpoint() -> None:
    with pytest.raises(UsageError, match="--bandwidth: say --bytes too"):
        planned(replace(RUN, bandwidth=1e12))
    assert planned(Given(bandwidth=1e12), JOB)["interval_s"] > 0


def test_prices_that_lack_something_say_what() -> None:
    with pytest.raises(UsageError, match="--spot-mtbf-minutes"):
        Given(spot_price=1)
    with pytest.raises(UsageError, match="--price"):
        Given(useful_h=1)
    with pytest.raises(UsageError, match="a share up to 1"):
        Given(blocking_fraction=1.5)


numbers = st.floats(1e-3, 1e7)


@settings(deadline=None)
@drawn(
    st.builds(
        Given,
        save_s=numbers,
        mtbf_s=numbers,
        restart_s=st.just(0.0) | numbers,
        step_s=st.none() | numbers,
        writers=st.integers(1, 4096),
        blocking_fraction=st.none() | st.floats(1e-3, 1),
        size=st.floats(1, 1e15),
        bandwidth=st.none() | st.floats(1, 1e13),
        jobs=st.integers(1, 1000),
        price=st.none() | numbers,
        spot_price=st.none() | numbers,
        spot_mtbf_s=numbers,
        warning_s=st.none() | numbers,
        gpus=st.none() | st.integers(1, 100_000),
    )
)
def test_whatever_is_given_the_answer_is_finite_and_its_parts_add_up(given: Given) -> None:
    found = planned(given)
    json.dumps(found, allow_nan=False)
    lost = found["overhead"]
    assert lost["total"] == pytest.approx(lost["save"] + lost["lost_work"] + lost["restart"])
    assert 0 <= found["goodput"] < 1
    low, high = found["flat_region_s"]
    assert low <= found["interval_s"] * (1 + 1e-9)
    assert found["interval_s"] <= high * (1 + 1e-9)
