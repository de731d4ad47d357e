"""Kaplan–Meier quantiles: nearest ranks without censoring, a textbook's numbers, exactness."""

from fractions import Fraction
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.survival import Span, having_lasted, longest_us, quantile_us, within

HALF = Fraction(1, 2)

# Remission of leukemia in weeks under 6-MP; a plus: still in remission when last seen. Source:
# Freireich et al., "The effect of 6-mercaptopurine on the duration of steroid-induced remissions in
# acute leukemia", Blood 21 (1963), as printed in Klein, Moeschberger, "Survival Analysis", 2nd ed.,
# section 1.2, whose table 4.1 gives the survival below.
BOOK = [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
REMISSIONS = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"


def spans(text: str) -> list[Span]:
    return [Span(int(word.rstrip("+")), word.endswith("+")) for word in text.split()]


def slow_survival(observed: list[Span]) -> list[tuple[int, Fraction]]:
    """(time of an event, survival after it), read from the definition, all in fractions."""
    survival = Fraction(1)
    steps = []
    for age, group in groupby(sorted(s.age_us for s in observed if not s.censored)):
        at_risk = sum(s.age_us >= age for s in observed)
        survival *= 1 - Fraction(len(list(group)), at_risk)
        steps.append((age, survival))
    return steps


def slow_quantile(observed: list[Span], p: Fraction) -> int | None:
    return next((age for age, survival in slow_survival(observed) if 1 - survival >= p), None)


@pytest.mark.parametrize(
    ("percent", "expected"),
    # Ten values: the p-th percentile is the ceil(p / 10)-th.
    [(1, 1), (10, 1), (11, 2), (50, 5), (51, 6), (90, 9), (91, 10), (99, 10), (100, 10)],
)
def test_without_censoring_a_quantile_is_the_nearest_rank(percent: int, expected: int) -> None:
    assert quantile_us(spans("10 3 7 1 9 2 8 4 6 5"), Fraction(percent, 100)) == expected


def test_the_median_remission_under_6_mp_is_23_weeks() -> None:
    assert quantile_us(spans(REMISSIONS), HALF) == 23


def test_the_survival_under_6_mp_is_the_textbook_s() -> None:
    # S(6) = 18/21 = 6/7, S(7) = 6/7 × 16/17, S(10) × 14/15, S(13) × 11/12, S(16) × 10/11,
    # S(22) × 6/7, S(23) × 5/6.
    survival = Fraction(6, 7)
    expected = [(6, survival)]
    for week, factor in (
        (7, Fraction(16, 17)),
        (10, Fraction(14, 15)),
        (13, Fraction(11, 12)),
        (16, Fraction(10, 11)),
        (22, Fraction(6, 7)),
        (23, Fraction(5, 6)),
    ):
        survival *= factor
        expected.append((week, survival))
    assert slow_survival(spans(REMISSIONS)) == expected
    assert [round(float(s), 3) for _, s in expected] == BOOK
    for (week, after), (_, before) in zip(
        expected, [(0, Fraction(1)), *expected[:-1]], strict=True
    ):
        assert quantile_us(spans(REMISSIONS), 1 - after) == week
        assert quantile_us(spans(REMISSIONS), 1 - before + Fraction(1, 10**9)) == week


def test_the_remissions_never_reach_90_percent() -> None:
    # S ends at 0.448, so F at 0.552: the 56th percentile is already beyond it.
    assert quantile_us(spans(REMISSIONS), Fraction(9, 10)) is None
    assert quantile_us(spans(REMISSIONS), Fraction(55, 100)) == 23
    assert quantile_us(spans(REMISSIONS), Fraction(56, 100)) is None


def test_a_span_censored_at_the_time_of_an_event_still_counts_as_at_risk() -> None:
    # Four at risk at 6, three events: S = 1/4. Were the censored one gone before, S would be 0.
    assert quantile_us(spans("6 6 6 6+"), Fraction(3, 4)) == 6
    assert quantile_us(spans("6 6 6 6+"), Fraction(76, 100)) is None


def test_all_censored_reaches_no_quantile() -> None:
    assert quantile_us(spans("5+ 6+ 6+"), Fraction(1, 100)) is None


def test_a_last_event_after_censorings_takes_the_survival_to_nothing() -> None:
    assert quantile_us(spans("1+ 2+ 3"), Fraction(1)) == 3


def test_no_span_reaches_no_quantile_and_has_no_longest_age() -> None:
    assert quantile_us([], HALF) is None
    assert longest_us([]) is None
    assert within([], 10) is None


@pytest.mark.parametrize("p", [Fraction(0), Fraction(-1, 2), Fraction(101, 100)])
def test_a_probability_outside_0_to_1_is_refused(p: Fraction) -> None:
    with pytest.raises(ValueError, match="is not in"):
        quantile_us([Span(1)], p)


def test_a_share_that_floats_miss_by_a_hair_is_reached_exactly() -> None:
    # In floats 1 - 0.9 is 0.09999999999999998, less than the survival 0.1 after nine of ten.
    assert 1 - 0.9 < 1 / 10
    assert quantile_us(spans("1 2 3 4 5 6 7 8 9 10"), Fraction(9, 10)) == 9
    # 1 - 7/10 in floats is 0.30000000000000004, more than 3/10.
    assert quantile_us(spans("1 2 3 4 5 6 7 8 9 10"), Fraction(7, 10)) == 7


def test_a_survival_by_many_factors_is_compared_exactly() -> None:
    # After each event one is censored: at risk 7, 5, 3, 1, so S = 6/7 × 4/5 × 2/3 × 0.
    mixed = spans("1 1+ 2 2+ 3 3+ 4")
    third = Fraction(6, 7) * Fraction(4, 5) * Fraction(2, 3)
    assert third == Fraction(16, 35)
    assert quantile_us(mixed, 1 - third) == 3
    assert quantile_us(mixed, 1 - third + Fraction(1, 10**30)) == 4


def test_a_survival_by_hundreds_of_factors_is_told_from_its_neighbours_by_a_hair() -> None:
    mixed = [Span(age, age % 3 == 0) for age in range(1, 400)]
    for age, survival in slow_survival(mixed)[::17]:
        hair = Fraction(1, 10**60)
        following = next((at for at, _ in slow_survival(mixed) if at > age), None)
        assert quantile_us(mixed, 1 - survival) == age
        assert quantile_us(mixed, 1 - survival - hair) == age
        assert quantile_us(mixed, 1 - survival + hair) == following


def test_ages_past_what_floats_hold_stay_apart() -> None:
    large = 2**53
    assert float(large) == float(large + 1)
    assert quantile_us([Span(large), Span(large + 1)], HALF) == large
    assert quantile_us([Span(large), Span(large + 1)], Fraction(1)) == large + 1


def test_within_counts_what_ended_under_the_limit_among_what_is_known() -> None:
    # 5 ended under 10; 10 ended, and 12+ had lasted too long already: missed; of 9+ it is open.
    assert within(spans("5 10 9+ 12+"), 10) == Fraction(1, 3)
    assert within(spans("9+"), 10) is None
    assert within(spans("10+"), 10) == 0


def test_the_longest_age_may_be_a_censored_one() -> None:
    assert longest_us(spans("3 8+ 5")) == 8


OBSERVED = st.lists(st.builds(Span, st.integers(0, 12), st.booleans()), max_size=30)
PROBABILITY = st.fractions(0, 1, max_denominator=1000).filter(bool)


@given(OBSERVED, PROBABILITY)
def test_a_quantile_is_what_the_definition_says(observed: list[Span], p: Fraction) -> None:
    assert quantile_us(observed, p) == slow_quantile(observed, p)


@given(OBSERVED, st.data())
def test_a_quantile_exactly_at_a_step_is_reached_at_it(
    observed: list[Span], data: st.DataObject
) -> None:
    steps = slow_survival(observed)
    if steps:
        age, survival = data.draw(st.sampled_from(steps))
        assert quantile_us(observed, 1 - survival) == age
        assert quantile_us(observed[::-1], 1 - survival) == age


def test_remissions_that_lasted_13_weeks_go_on_as_the_textbook_s_survival_says() -> None:
    # Table 4.1: S(13) = 0.690, S(16) = 0.627, S(22) = 0.538, S(23) = 0.448. Of those in remission
    # after week 13, 1 - S(t) / S(13) is 0.09 at 16, 0.22 at 22, 0.35 at 23, and no more.
    lasted = having_lasted(spans(REMISSIONS), 13)
    assert quantile_us(lasted, Fraction(1, 10)) == 22
    assert quantile_us(lasted, Fraction(1, 5)) == 22
    assert quantile_us(lasted, Fraction(1, 4)) == 23
    assert quantile_us(lasted, HALF) is None


@given(
    st.lists(st.builds(Span, st.integers(0, 30), st.booleans()), max_size=25),
    st.integers(0, 30),
    st.fractions(Fraction(1, 100), 1, max_denominator=100),
)
def test_what_is_to_be_expected_after_a_while_is_the_conditional_survival(
    observed: list[Span], age_us: int, p: Fraction
) -> None:
    before = [survival for at, survival in slow_survival(observed) if at <= age_us]
    reached = before[-1] if before else Fraction(1)
    later = [(at, survival) for at, survival in slow_survival(observed) if at > age_us]
    expected = next((at for at, s in later if reached and 1 - s / reached >= p), None)
    assert quantile_us(having_lasted(observed, age_us), p) == expected
