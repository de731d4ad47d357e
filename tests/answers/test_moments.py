"""Moments in questions: read as those of records are, and told to whoever asked."""

import pytest

from answers.moments import moment_us, rfc3339
from metrics.errors import UsageError
from pipelines.records import BadRecord, time_us


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("2000-01-01T00:00:00Z", 946_684_800_000_000),
        ("2026-10-01t02:00:00.0000019+02:00", 1_790_812_800_000_001),
        ("2099-12-31 23:59:59.999999z", 4_102_444_799_999_999),
    ],
)
def test_a_question_and_a_record_read_the_same_moment(text: str, us: int) -> None:
    assert moment_us(text) == time_us(text) == us


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-10-01T12:00:00", "not an RFC 3339 timestamp with an offset"),
        ("2026-10-01T23:59:60Z", "not an RFC 3339 timestamp with an offset"),
        ("2026-02-30T12:00:00Z", "not a date of the calendar"),
        ("2000-01-01T00:59:59+01:00", "outside the years 2000 to 2099"),
        ("2099-12-31T23:00:00-01:00", "outside the years 2000 to 2099"),
    ],
)
def test_what_no_record_may_say_no_question_may_either(text: str, why: str) -> None:
    with pytest.raises(BadRecord, match=why):
        time_us(text)
    with pytest.raises(UsageError) as refused:
        moment_us(text, "--as-of")
    assert str(refused.value) == f"--as-of {text}: {why}; say it like 2026-10-01T12:00:00Z"


def test_a_moment_that_is_said_is_read_again() -> None:
    said = rfc3339(1_790_812_800_000_001)
    assert said == "2026-10-01T00:00:00.000001Z"
    assert moment_us(said) == 1_790_812_800_000_001
