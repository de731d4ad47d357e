"""Quantiles of restarts and of waits: in words, and week by week."""

from collections.abc import Iterable

import streamlit as st

from app import format, frame
from app.charts import trend
from app.frame import View
from app.views import spans
from metrics.survival import Span


def reached(spread: spans.Spread, percent: int) -> str:
    """A quantile; one that is not reached is more than the longest span."""
    us = spread.quantile_us(percent)
    return format.duration(us) if us is not None else f"> {format.duration(spread.longest_us)}"


def show_weeks(
    seen: View, dated: Iterable[tuple[int, Span]], limit_us: int | None, title: str
) -> None:
    """p50 and p90 of spans by the week of their moment (µs), against a limit."""
    weeks = spans.by_week(list(dated))
    if all(us is None for points in weeks.values() for _, us in points):
        st.caption("Not known yet: in no week did half of them end.")
        return
    lines = [trend.Series(f"p{percent}", points) for percent, points in weeks.items()]
    frame.show(trend.drawing(lines, limit_us, seen.theme, title), key="weeks")
    frame.numbers(
        [
            {
                "Week from": format.day(week),
                "p50": format.duration(us),
                "p90": format.duration(dict(weeks[90])[week]),
            }
            for week, us in weeks[50]
        ],
        "Numbers: by week",
    )
