"""Numbers as people say them."""

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sql
from app import format
from metrics.conventions import HOUR_US, US_PER_S


def test_what_people_wrote_is_no_markup_and_one_line() -> None:
    assert format.plain("a *b*\n# c | $5") == r"a \*b\* \# c \| \$5"
    assert format.plain("pretrain-00050\n at 12:30, −7.3%") == "pretrain-00050 at 12:30, −7.3%"


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "unknown"),
        (0, "0 s"),
        (558 * US_PER_S, "9 min 18 s"),
        (344 * HOUR_US, "14 d 8 h"),
        (-2 * HOUR_US, "−2 h"),
        (59_600_000, "1 min"),
        (12_000, "12 ms"),
    ],
)
def test_a_duration_has_two_units(us: int | None, text: str) -> None:
    assert format.spaced(format.duration(us)) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.81, "81.0 %"),
        (0.0004, "< 0.1 %"),
        (0.99999, "> 99.9 %"),
        (-0.073, "−7.3 %"),
        (None, "unknown"),
        (1, "100.0 %"),
        (0, "0.0 %"),
    ],
)
def test_a_share_is_never_rounded_to_nothing_or_all(share: float | None, text: str) -> None:
    assert format.spaced(format.percent(share)) == text


@given(st.lists(st.integers(0, 10**13) | st.integers(0, 10**8), min_size=50, max_size=200))
@settings(max_examples=20, deadline=None)
def test_the_models_say_a_duration_as_the_pages_do(lengths: list[int]) -> None:
    with duckdb.connect() as con:
        con.execute(sql.read("macros"))
        rows = con.execute(
            "select us, said_us(us) from (select unnest(?::bigint[]) as us)", [lengths]
        )
        for us, said in rows.fetchall():
            assert said == format.spaced(format.duration(us)), us


def test_a_line_of_a_text_never_ends_between_a_number_and_its_unit() -> None:
    assert format.percent(0.966).split(" ") == ["96.6\u00a0%"]
    assert format.percent(0.0004).split(" ") == ["<\u00a00.1\u00a0%"]
    assert format.duration(117 * HOUR_US).split(" ") == ["4\u00a0d", "21\u00a0h"]
    said = format.plain("every 43.6 min (40 steps): 10.4 %, 2 hosts")
    assert said.split(" ") == [
        "every",
        "43.6\u00a0min",
        "(40",
        "steps):",
        "10.4\u00a0%,",
        "2",
        "hosts",
    ]


@given(st.lists(st.integers(0, 10**15), max_size=12), st.sampled_from((US_PER_S, HOUR_US)))
def test_printed_parts_add_up_to_the_printed_whole(parts: list[int], unit_us: int) -> None:
    found = format.tenths(parts, unit_us)
    assert sum(found) == round(sum(parts) * 10 / unit_us) or sum(parts) > 2**53
    assert all(
        abs(tenth * unit_us / 10 - us) <= unit_us / 10
        for tenth, us in zip(found, parts, strict=True)
    )


def test_gpu_hours_have_their_unit() -> None:
    assert format.gpu_hours(59_720 * HOUR_US) == "59,720\u00a0GPU-h"
    assert format.gpu_hours(1_240_000 * HOUR_US) == "1.24\u00a0M\u00a0GPU-h"
    assert format.gpu_hours(-HOUR_US // 2) == "−0.5\u00a0GPU-h"


@pytest.mark.parametrize(
    ("column", "is_numbers"),
    [
        (["−7.3 %", "< 0.1 %", "unknown"], True),
        (["59,720 GPU-h", "0 GPU-h"], True),
        (["$119,440", "9 min 18 s", "> 4 h"], True),
        (["best effort", "no limit"], False),
        (["Sat 31 Oct 14:00 UTC"], False),
        (["90 %", "t0079"], False),
        ([], False),
    ],
)
def test_a_column_of_numbers_is_known_by_its_cells(column: list[str], is_numbers: bool) -> None:
    assert format.are_numbers(column) is is_numbers
