"""Numbers in words."""

import pytest

from answers.wording import hours

HOUR_US = 3_600_000_000


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0"),
        (HOUR_US, "1"),
        (50 * HOUR_US + 2 * HOUR_US // 5, "50.4"),
        (-3 * HOUR_US // 2, "-1.5"),
        (1, "< 0.1"),
        (-1, "> -0.1"),
        # A tenth of 504 h on 512 GPUs: 25,804.8 GPU-hours.
        (50_400 * 512 * HOUR_US // 1000, "25,805"),
        # Past 2^53 not a GPU-hour is lost.
        (12_345_678_901_234_567 * HOUR_US, "12,345,678,901,234,567"),
    ],
)
def test_hours_have_a_decimal_below_a_hundred_unless_they_are_whole(us: int, said: str) -> None:
    assert hours(us) == said
