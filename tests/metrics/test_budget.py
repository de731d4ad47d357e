"""Error budgets against published figures and figures worked out by hand, all of them exact."""

from fractions import Fraction

import pytest

from metrics.budget import (
    SPANS_H,
    WINDOW_US,
    Amount,
    Budget,
    Entry,
    State,
    alerts,
    amount,
    burn_rates,
    cost_of_restart,
    exhaustion_us,
    is_over_cautious,
    rolling,
    state_of,
    thaw,
    window_end_us,
)
from metrics.conventions import HOUR_US
from metrics.policy import DEFAULT_ALERTS

P90 = Fraction(9, 10)
END_US = 500_000 * HOUR_US
"""A whole hour, as the end of windows."""
MINUTE_US = 60_000_000


def hours(*amounts: tuple[int, int]) -> list[Entry]:
    """(total, bad) of the hours that end at END_US, the last one last."""
    first_us = END_US - len(amounts) * HOUR_US
    return [
        Entry(first_us + place * HOUR_US, total, bad) for place, (total, bad) in enumerate(amounts)
    ]


@pytest.mark.parametrize(
    ("burn", "span_h", "spent"),
    [("14.4", 1, "0.02"), ("6", 6, "0.05"), ("1", 72, "0.10")],
)
def test_a_burn_rate_spends_the_share_of_the_budget_that_the_workbook_says(
    burn: str, span_h: int, spent: str
) -> None:
    # SRE workbook, chapter 5, "Alerting on SLOs": 14.4 for 1 h of 30 days is 2 %, 6 for 6 h is 5 %,
    # 1 for 3 d is 10 %. At 99.9 %, 1,000,000 events an hour: 1,000 an hour are allowed.
    target = Fraction(999, 1000)
    bad = int(1000 * Fraction(burn))
    entries = hours(*[(1_000_000, 0)] * (720 - span_h), *[(1_000_000, bad)] * span_h)
    whole = Budget(amount(entries, END_US), target)
    assert Budget(amount(entries, END_US, span_h), target).burn_rate() == Fraction(burn)
    assert Fraction(whole.amount.bad) / whole.allowance == Fraction(spent)


def test_the_factors_of_alerts_are_derived_from_budget_percent_and_window() -> None:
    # The same chapter: 5 % in 6 h is 6, 10 % in 3 d is 1; 10 % in 1 d is 3; 1 % in 1 h is 7.2.
    assert [w.factor for w in DEFAULT_ALERTS] == [Fraction("7.2"), 6, 3, 1]


@pytest.mark.parametrize(
    ("burn", "minutes"),
    [(1, 30 * 1440), (2, 15 * 1440), (10, 3 * 1440), (1000, Fraction(432, 10))],
)
def test_a_whole_budget_is_exhausted_when_the_workbook_says(
    burn: int, minutes: int | Fraction
) -> None:
    # SRE workbook, table 5-4: at 1, 2, 10, 1000 after 30 days, 15 days, 3 days, 43 minutes (43.2).
    untouched = Budget(Amount(1000, 0), Fraction(999, 1000))
    assert exhaustion_us(untouched, Fraction(burn), END_US) == END_US + minutes * MINUTE_US


def test_9200_good_to_800_bad_at_90_percent_leaves_864_of_4320_minutes() -> None:
    budget = Budget(Amount(10_000, 800), P90)
    assert 1 - (budget.remaining_share or 0) == Fraction(80, 100)
    assert (budget.remaining_share or 0) * (1 - P90) * 720 * 60 == 864
    assert not budget.is_exhausted


def test_9000_good_to_1000_bad_at_90_percent_leaves_exactly_nothing_and_is_exhausted() -> None:
    budget = Budget(Amount(10_000, 1000), P90)
    assert (budget.allowed, budget.remaining, budget.remaining_share) == (1000, 0, 0)
    assert budget.is_exhausted
    # In floats the same is -2.2e-16, and 999 bad would have to be told from 1000 by luck.
    assert 1 - (1000 / 10_000) / (1 - 0.9) != 0


def test_8951_good_to_1049_bad_is_exhausted_though_its_burn_rate_rounds_to_one() -> None:
    budget = Budget(Amount(10_000, 1049), P90)
    assert budget.burn_rate() == Fraction("1.049")
    assert round(float(budget.burn_rate() or 0), 1) == 1.0
    assert budget.is_exhausted


def test_one_less_than_allowed_is_not_exhausted() -> None:
    assert not Budget(Amount(10_000, 999), P90).is_exhausted


def test_a_job_of_720_hours_may_lose_72() -> None:
    assert Budget(Amount(720 * HOUR_US, 0), P90).allowed == 72 * HOUR_US


def test_504_hours_with_96_lost_are_45_6_hours_over_the_50_4_allowed() -> None:
    budget = Budget(Amount(504 * HOUR_US, 96 * HOUR_US), P90)
    assert budget.allowed == 504 * HOUR_US // 10
    assert budget.remaining == -456 * HOUR_US // 10


def test_amounts_past_what_a_float_holds_stay_exact() -> None:
    # 10,000 GPUs over 30 days are 2.592e16 GPU-µs, more than 2^53 (9.007e15).
    total = 10_000 * WINDOW_US
    assert total == 25_920_000_000_000_000 > 2**53
    assert not Budget(Amount(total, total // 10 - 1), P90).is_exhausted
    assert Budget(Amount(total, total // 10), P90).is_exhausted


def test_nothing_bad_exhausts_nothing_even_where_nothing_is_allowed() -> None:
    assert not Budget(Amount(5, 0), Fraction(1)).is_exhausted
    assert Budget(Amount(5, 1), Fraction(1)).is_exhausted


@pytest.mark.parametrize(
    ("total", "bad", "weight", "stale", "state"),
    [
        (0, 0, 0, False, State.UNKNOWN),
        (100, 0, 100, True, State.UNKNOWN),
        (9, 9, 9, False, State.INSUFFICIENT),
        (100, 9, 100, False, State.WITHIN),
        (100, 10, 100, False, State.EXHAUSTED),
    ],
)
def test_the_state_of_a_budget(
    total: int, bad: int, weight: int, stale: bool, state: State
) -> None:
    assert state_of(Budget(Amount(total, bad), P90), 10, weight, stale) is state


def test_a_budget_without_any_total_has_no_burn_rate_and_no_share_left() -> None:
    empty = Budget(Amount(0, 0), P90)
    assert (empty.burn_rate(), empty.remaining_share) == (None, None)


def test_burn_rates_are_taken_over_each_span() -> None:
    # 30 hours of 100, of which the last 2 lose 10 and 20 (allowed: 10 each).
    found = burn_rates(hours(*[(100, 0)] * 28, (100, 10), (100, 20)), P90, END_US)
    assert found == {
        "1h": 2,
        "6h": Fraction(30, 60),
        "1d": Fraction(30, 240),
        "3d": Fraction(30, 300),
        "30d": Fraction(30, 300),
    }
    assert list(found) == list(SPANS_H)


def test_a_window_ends_at_the_moment_rounded_up_to_the_hour() -> None:
    assert window_end_us(END_US) == END_US
    assert window_end_us(END_US + 1) == END_US + HOUR_US


def test_a_window_holds_the_720_hours_before_its_end_and_no_other() -> None:
    entries = [Entry(END_US - n * HOUR_US, 1, 0) for n in (0, 1, 720, 721)]
    assert amount(entries, END_US) == Amount(2, 0)


def test_rolling_gives_at_each_hour_what_summing_gives() -> None:
    entries = hours(*[(7 + n, n % 3) for n in range(800)])
    entries.append(Entry(END_US - 300 * HOUR_US, 50, 5, END_US - 100 * HOUR_US))
    first_us = END_US - 200 * HOUR_US
    summed = [amount(entries, end, 720) for end in range(first_us, END_US + 1, HOUR_US)]
    assert rolling(entries, first_us, END_US) == summed


def test_a_job_that_became_large_counts_from_then_on_with_all_its_hours() -> None:
    entries = [Entry(END_US - 10 * HOUR_US, 8, 1, END_US - 4 * HOUR_US)]
    assert amount(entries, END_US - 5 * HOUR_US) == Amount(0, 0)
    assert amount(entries, END_US - 4 * HOUR_US) == Amount(8, 1)


def test_a_budget_thaws_when_enough_lost_hours_have_left_the_window() -> None:
    # 720 hours of 100: allowed 7,200. The first 40 lost 100 each, the next 40 lost 100 each: 8,000.
    # At 5 % left at most 6,840 may be bad: 12 hours have to leave, and 100 an hour go on.
    entries = hours(*[(100, 100)] * 80, *[(100, 0)] * 640)
    found = thaw(entries, P90, END_US, Fraction(5, 100))
    assert (found.at_us, found.hourly_total) == (END_US + 12 * HOUR_US, 100)


def test_a_thaw_is_later_where_the_present_burn_goes_on() -> None:
    # As above, but a burn of one half adds 5 an hour: 8,000 - 95 n <= 6,840 for n >= 12.21.
    entries = hours(*[(100, 100)] * 80, *[(100, 0)] * 640)
    found = thaw(entries, P90, END_US, Fraction(5, 100), Fraction(1, 2))
    assert found.at_us == END_US + 13 * HOUR_US


def test_a_thaw_assumes_no_wall_clock_where_the_last_day_had_none() -> None:
    # One lost hour of 10 known, then nothing for a day: bad once it leaves, after 695 hours.
    entries = hours((100, 100), *[(0, 0)] * 25)
    found = thaw(entries, P90, END_US, Fraction(5, 100))
    assert (found.at_us, found.hourly_total) == (END_US + 695 * HOUR_US, 0)


def test_a_budget_that_burns_below_one_is_never_exhausted() -> None:
    assert exhaustion_us(Budget(Amount(1000, 10), P90), Fraction(99, 100), END_US) is None
    assert exhaustion_us(Budget(Amount(1000, 10), P90), None, END_US) is None


def test_half_a_budget_lasts_half_as_long() -> None:
    half = Budget(Amount(1000, 50), P90)
    assert exhaustion_us(half, Fraction(2), END_US) == END_US + WINDOW_US // 4


def test_an_alert_fires_where_both_windows_burn_fast_enough() -> None:
    # Of 100 an hour 10 are allowed; 72 lost in the last hour burn at 7.2, for which 1 h alerts.
    quiet = [(100, 0)] * 71
    fired = alerts(hours(*quiet, (100, 72)), P90, END_US, DEFAULT_ALERTS)
    assert [(a.window.long_h, a.long) for a in fired] == [(1, Fraction("7.2"))]
    assert alerts(hours(*quiet, (100, 71)), P90, END_US, DEFAULT_ALERTS) == []


def test_an_alert_ends_once_the_short_window_is_quiet() -> None:
    burning = [(100, 60)] * 6
    assert [a.window.long_h for a in alerts(hours(*burning), P90, END_US, DEFAULT_ALERTS)] == [
        6,
        24,
        72,
    ]
    after = alerts(hours(*burning, (100, 0), (100, 0)), P90, END_US, DEFAULT_ALERTS)
    assert [a.window.long_h for a in after] == [72]


def test_a_budget_hardly_touched_over_a_whole_window_is_over_cautious() -> None:
    tenth = Fraction(1, 10)
    assert is_over_cautious(Budget(Amount(10_000, 99), P90), True, tenth)
    assert not is_over_cautious(Budget(Amount(10_000, 100), P90), True, tenth)
    assert not is_over_cautious(Budget(Amount(10_000, 99), P90), False, tenth)


def test_a_minute_of_restart_at_three_hours_between_interruptions_costs_0_5556_percent() -> None:
    cost = cost_of_restart(3 * HOUR_US, MINUTE_US)
    assert cost == Fraction(1, 180)
    assert f"{float(cost):.4%}" == "0.5556%"
