"""The mathematics of checkpoint intervals: worked numbers by hand, against chance, and laws."""

from math import e, exp, inf, isclose, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.checkpointing import (
    Costs,
    Estimate,
    Saving,
    Shared,
    Warned,
    at_most,
    mean_between,
)

HOUR = 3600
RUN = Costs(save_s=240, mtbf_s=9 * HOUR, restart_s=14 * 60)
SHARDED = Costs(15, 9 * HOUR, 14 * 60)
ASYNCHRONOUS = Costs(1.5, 9 * HOUR, 14 * 60)
SPOT = Costs(1.5, 45 * 60, 14 * 60)


def simulated_goodput(costs: Costs, interval_s: float, failures: int = 1_000_000) -> float:
    """The goodput over so many exponential failures, played through; seeded, so always the same.

    A failure begins a restart; if the next one comes later, every whole interval with its save that
    fits before it is work that stays.
    """
    lived_s = np.random.default_rng(6).exponential(costs.mtbf_s, failures)
    trained_s = np.maximum(lived_s - costs.restart_s, 0)
    saved = np.floor(trained_s / (interval_s + costs.save_s))
    return float(saved.sum() * interval_s / lived_s.sum())


@pytest.mark.parametrize(
    ("costs", "interval", "each", "with_restarts"),
    [
        # sqrt(2 x 240 x 32,400) = sqrt(15,552,000) = 3,943.6; 240 / 3,943.6 = 3,943.6 / 64,800
        # = 6.086 %, twice that 12.17 %; 840 / 32,400 = 2.593 %: 14.76 %.
        (RUN, 3943.6, 0.06086, 0.1476),
        # sqrt(2 x 15 x 32,400) = sqrt(972,000) = 985.9; 15 / 985.9 = 1.521 %; + 2.593: 5.64 %.
        (SHARDED, 985.9, 0.01521, 0.0564),
        # sqrt(2 x 1.5 x 32,400) = sqrt(97,200) = 311.8; 1.5 / 311.8 = 0.481 %; + 2.593: 3.55 %.
        (ASYNCHRONOUS, 311.8, 0.00481, 0.0355),
        # sqrt(2 x 1.5 x 2,700) = sqrt(8,100) = 90; 1.5 / 90 = 1 / 60; + 840 / 2,700: 34.4 %.
        (SPOT, 90, 1 / 60, 1 / 30 + 14 / 45),
    ],
    ids=["one writer", "sixteen writers", "asynchronous", "on spot"],
)
def test_the_best_interval_and_its_overhead_are_those_worked_out_by_hand(
    costs: Costs, interval: float, each: float, with_restarts: float
) -> None:
    lost = costs.overhead(costs.best_interval_s)
    assert costs.best_interval_s == pytest.approx(interval, abs=0.05)
    assert (lost.save, lost.lost_work) == pytest.approx((each, each), abs=5e-6)
    assert lost.total == pytest.approx(with_restarts, abs=5e-5)


def test_sixteen_writers_write_in_a_sixteenth_and_a_tenth_of_it_blocks() -> None:
    saving = Saving(240, writers=16, blocking_fraction=0.1, size=1.4e12)
    assert (saving.write_s, saving.blocks_s) == (15, 1.5)
    # 1.4 TB / 16 = 87.5 GB in 15 s; one writer alone has 1.4 TB in 240 s: 5.83 GB/s as well.
    assert saving.writer_speed == pytest.approx(5.833e9, rel=1e-4)
    assert Saving(240, size=1.4e12).writer_speed == pytest.approx(saving.writer_speed)


def test_more_writers_are_faster_until_the_file_system_takes_no_more() -> None:
    # 1.4 TB at 70 GB/s is 20 s: 12 writers take that at 5.83 GB/s each, 16 take no less.
    of = {
        n: Saving(240, writers=n, size=1.4e12, bandwidth=70e9).write_s for n in (1, 8, 12, 16, 64)
    }
    assert of == {1: 240, 8: 30, 12: 20, 16: 20, 64: 20}
    assert Saving(240, 16, size=1.4e12, bandwidth=70e9).is_saturated
    assert not Saving(240, 8, size=1.4e12, bandwidth=70e9).is_saturated


def test_the_flat_region_ends_where_half_a_point_more_is_lost() -> None:
    low, high = RUN.flat_region_s(0.005)
    # T/64,800 + 240/T = 0.12172 + 0.005 has the roots 32,400 x (0.12672 -+ sqrt(0.12672^2 -
    # 0.0148148)) = 32,400 x (0.12672 -+ 0.03525): 2,964 s and 5,248 s.
    assert (low, high) == pytest.approx((2964, 5248), abs=1)


@settings(deadline=None)
@given(st.floats(0.1, 1e4), st.floats(1e2, 1e7), st.floats(0, 1e4), st.floats(1e-4, 0.2))
def test_at_the_ends_of_the_flat_region_exactly_the_tolerance_is_lost(
    save: float, mtbf: float, restart: float, points: float
) -> None:
    costs = Costs(save, mtbf, restart)
    best = costs.overhead(costs.best_interval_s).total
    for end in costs.flat_region_s(points):
        assert costs.overhead(end).total - best == pytest.approx(points, rel=1e-3)


@settings(deadline=None)
@given(st.floats(0.1, 1e4), st.floats(1e2, 1e7), st.floats(0.05, 20))
def test_no_other_interval_loses_less_than_the_best(save: float, mtbf: float, by: float) -> None:
    costs = Costs(save, mtbf, 60)
    best = costs.overhead(costs.best_interval_s)
    assert best.save == pytest.approx(best.lost_work)
    assert costs.overhead(costs.best_interval_s * by).total >= best.total * (1 - 1e-12)


def test_the_interval_is_to_be_revisited_where_another_gains_half_a_point() -> None:
    interval = RUN.best_interval_s
    # sqrt(T/2M) = sqrt(0.060858) = 0.24669, sqrt(0.005) = 0.07071: saves of 3,943.6 x 0.17598^2 =
    # 122 s to 3,943.6 x 0.31740^2 = 397 s; failures every 3,943.6 / (2 x 0.31740^2) = 19,572 s to
    # 3,943.6 / (2 x 0.17598^2) = 63,668 s.
    assert RUN.save_range_s(interval, 0.005) == pytest.approx((122.1, 397.3), abs=0.1)
    assert RUN.mtbf_range_s(interval, 0.005) == pytest.approx((19_572, 63_668), abs=1)
    for save in RUN.save_range_s(interval, 0.005):
        other = Costs(save, RUN.mtbf_s, RUN.restart_s)
        gained = other.overhead(interval).total - other.overhead(other.best_interval_s).total
        assert gained == pytest.approx(0.005)


def test_a_save_that_costs_next_to_nothing_has_no_least_cost_and_no_rarest_failures() -> None:
    assert ASYNCHRONOUS.save_range_s(311.8, 0.005)[0] == 0
    assert ASYNCHRONOUS.mtbf_range_s(311.8, 0.005)[1] == inf


def test_the_longest_save_with_which_an_objective_is_reached() -> None:
    # 10 % less 2.593 % of restarts leaves 7.407 %: 32,400 / 2 x 0.07407^2 = 88.9 s.
    longest = RUN.save_s_for(0.9)
    assert longest == pytest.approx(88.9, abs=0.05)
    reached = Costs(longest or 0, RUN.mtbf_s, RUN.restart_s)
    assert 1 - reached.overhead(reached.best_interval_s).total == pytest.approx(0.9)
    assert Costs(240, 2 * HOUR, 840).save_s_for(0.9) is None  # restarts alone take 11.7 %


@pytest.mark.parametrize(
    "costs", [RUN, SHARDED, ASYNCHRONOUS, SPOT, Costs(240, HOUR, 840)], ids=str
)
@pytest.mark.parametrize("by", [0.5, 1, 2])
def test_the_exact_model_is_what_a_simulation_of_exponential_failures_gives(
    costs: Costs, by: float
) -> None:
    interval = costs.best_interval_s * by
    assert costs.exact_goodput(interval) == pytest.approx(
        simulated_goodput(costs, interval), abs=0.002
    )


@pytest.mark.parametrize(
    ("costs", "share_of_mtbf", "points"),
    [
        (ASYNCHRONOUS, 0.036, 0.1),
        (SHARDED, 0.057, 0.2),
        (RUN, 0.155, 0.8),
        (Costs(240, 3 * HOUR, 840), 0.31, 3.2),
        (SPOT, 0.345, 5.3),
        (Costs(240, HOUR, 840), 0.665, 13.4),
    ],
    ids=["asynchronous", "sharded", "one writer", "M 3 h", "spot", "M 1 h"],
)
def test_the_first_order_formula_is_pessimistic_by_points_that_grow_with_the_share_of_m(
    costs: Costs, share_of_mtbf: float, points: float
) -> None:
    interval = costs.best_interval_s
    assert (interval + costs.save_s + costs.restart_s) / costs.mtbf_s == pytest.approx(
        share_of_mtbf, abs=0.001
    )
    first_order = 1 - costs.overhead(interval).total
    off = simulated_goodput(costs, interval) - first_order
    assert off * 100 == pytest.approx(points, abs=0.15)


@pytest.mark.parametrize("hours", [1, 3, 9, 45])
def test_the_interval_that_the_formula_advises_is_nearly_the_best_of_the_exact_model(
    hours: int,
) -> None:
    costs = Costs(240, hours * HOUR, 840)
    tried = np.geomspace(0.2, 3, 2000) * costs.best_interval_s
    best = max(costs.exact_goodput(float(interval)) for interval in tried)
    assert best - costs.exact_goodput(costs.best_interval_s) < 0.003


def test_a_job_that_fails_far_more_often_than_it_saves_makes_no_headway() -> None:
    assert Costs(1, 10, 1).exact_goodput(1e6) == 0
    assert Costs(1, 10, 1).exact_goodput(200) == pytest.approx(20 * exp(-0.1) / (exp(20.1) - 1))


def test_jobs_that_save_at_random_moments_collide_as_two_widths_of_the_circle_say() -> None:
    shared = Shared(jobs=5, interval_s=1000, write_s=50, alone_s=50)
    # Each of four others misses it with 1 - 2 x 50 / 1000 = 0.9: 1 - 0.9^4 = 0.3439.
    assert shared.collision_chance == pytest.approx(0.3439)
    assert (shared.load, shared.offset_s, shared.is_staggered_free) == (0.25, 200, True)
    # Shared evenly a save takes 50 / (1 - 0.25) = 66.7 s; all at once five times 50 s.
    assert shared.slowdown == pytest.approx(4 / 3)
    assert shared.at_once_s == 250


def test_the_chance_of_a_collision_is_what_random_starts_give() -> None:
    shared = Shared(jobs=20, interval_s=600, write_s=12, alone_s=12)
    starts = np.random.default_rng(6).uniform(0, 600, (20_000, 20))
    apart = np.abs(starts[:, 1:] - starts[:, :1])
    overlaps = (np.minimum(apart, 600 - apart) < 12).any(axis=1)
    assert overlaps.mean() == pytest.approx(shared.collision_chance, abs=0.01)


def test_two_hundred_jobs_ask_more_than_one_save_gets_and_would_never_catch_up() -> None:
    # 200 x 15 s in 312 s: 9.6 times what there is; 200 x 15 s = 3,000 s is the shortest interval.
    shared = Shared(jobs=200, interval_s=312, write_s=15, alone_s=15)
    assert shared.load == pytest.approx(9.615, abs=0.001)
    assert shared.slowdown is None
    assert shared.shortest_interval_s == shared.at_once_s == 3000


def test_a_job_that_cannot_fill_the_file_system_is_not_slowed_below_its_own_speed() -> None:
    # Alone 5 s at the file system's speed, 15 s at its own: at a load of 0.5 others leave it 10 s.
    shared = Shared(jobs=10, interval_s=100, write_s=15, alone_s=5)
    assert (shared.load, shared.slowdown) == (0.5, 1)


def test_a_save_of_240_s_misses_a_warning_of_120_s_and_one_of_15_s_fits() -> None:
    assert not Warned(RUN, write_s=240, warning_s=120).fits
    warned = Warned(SPOT, write_s=15, warning_s=120)
    assert warned.fits
    assert warned.jobs_at_once == 8


def test_a_warning_saves_the_work_since_the_last_save_and_at_best_the_saves_too() -> None:
    warned = Warned(SPOT, write_s=15, warning_s=120)
    # R/M + C/M = (840 + 1.5) / 2,700 = 31.17 %; with C/T = 1.5 / 90 it is 32.83 %.
    assert warned.overhead_without_saves == pytest.approx(0.31167, abs=5e-6)
    assert warned.overhead_with_saves(90) == pytest.approx(0.32833, abs=5e-6)


def test_the_chance_of_at_most_so_many_events() -> None:
    assert at_most(0, 2.0) == pytest.approx(exp(-2))
    assert at_most(2, 1.0) == pytest.approx((1 + 1 + 0.5) / e)
    # Of a mean of 10,000 half the chance lies at most there, but for a skew of 2/3 of a term.
    assert at_most(10_000, 10_000) == pytest.approx(0.5 + 2 / 3 / sqrt(2 * pi * 10_000), abs=1e-5)
    assert (at_most(10_000, 1), at_most(1, 10_000)) == (1, 0)


@pytest.mark.parametrize(
    ("events", "low", "high"),
    # Garwood's limits for the mean of a Poisson count, 95 %, as in tables of them.
    [(1, 0.0253, 5.572), (5, 1.623, 11.668), (10, 4.795, 18.390), (100, 81.364, 121.627)],
)
def test_the_interval_of_the_time_between_failures_is_the_exact_one(
    events: int, low: float, high: float
) -> None:
    found = mean_between(1000, events, 0.95)
    assert found.mean == 1000 / events
    assert (1000 / found.high, 1000 / found.low) == pytest.approx((low, high), rel=2e-3)


def test_without_a_failure_only_a_lower_end_is_known() -> None:
    # exp(-m) = 0.025: m = 3.689 failures would have shown with 97.5 %.
    found = mean_between(1000, 0, 0.95)
    assert found == Estimate(inf, pytest.approx(1000 / -log(0.025)), inf)


@settings(deadline=None)
@given(st.integers(1, 500), st.floats(0.5, 0.999))
def test_the_mean_lies_in_its_interval_and_more_confidence_makes_it_wider(
    events: int, confidence: float
) -> None:
    narrow = mean_between(1.0, events, confidence)
    wide = mean_between(1.0, events, 0.9995)
    assert wide.low <= narrow.low <= narrow.mean <= narrow.high <= wide.high


def test_the_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    counts = np.random.default_rng(6).poisson(8, 4000)
    bounds = {int(n): mean_between(80, int(n), 0.95) for n in set(counts.tolist())}
    covered = np.mean([bounds[int(n)].low <= 10 <= bounds[int(n)].high for n in counts])
    assert covered >= 0.95


def test_a_scaled_estimate_keeps_its_shape() -> None:
    assert Estimate(2, 1, 4).scaled(3) == Estimate(6, 3, 12)


def test_young_s_interval_grows_with_the_root_of_the_cost() -> None:
    assert isclose(Costs(4, 100, 1).best_interval_s, 2 * Costs(1, 100, 1).best_interval_s)
    assert isclose(Costs(1, 100, 1).best_interval_s, sqrt(200))
