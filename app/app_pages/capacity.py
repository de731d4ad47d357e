"""Capacity: what jobs hold, and what comes of it. Utilization is no objective."""

from fractions import Fraction

import streamlit as st

from app import format, frame
from app.charts import area
from app.palette import THEMES
from app.views import cluster, spans


def page() -> None:
    """The page."""
    seen = frame.view()
    start_us, end_us = seen.published.ask(spans.window, seen.shown_us)
    days = seen.published.read(cluster.gpu_days, start_us, end_us)
    sums = {kind: sum(day["gpu_us"] for day in days if day["kind"] == kind) for kind in area.KINDS}
    whole = sum(sums.values())
    if not whole:
        frame.head(seen, "No GPU time in these 30 days", with_scope=False)
        return
    price = seen.published.policy.price
    lost = round(Fraction(sums["lost"], 3600 * 10**6) * Fraction(price.per_gpu_hour))
    frame.head(
        seen,
        f"{format.percent(Fraction(sums['useful'], whole))} of allocated GPU time is useful",
        f"Jobs held {format.gpu_hours(whole)} in 30 days; {format.gpu_hours(sums['lost'])} were"
        f" lost (about {format.count(lost)} {price.currency} at {price.per_gpu_hour} a GPU-hour)."
        " This is for planning: utilization is never an objective, as maximising it removes the"
        " reserves that every objective lives on.",
        with_scope=False,
    )
    st.header("GPUs that jobs held, by day", anchor=False)
    theme = THEMES[seen.theme]
    keys = "  ".join(
        f'<span style="color:{color}">{glyph}</span> {name}'
        for glyph, color, name in (
            ("■", theme.category("useful"), area.KINDS["useful"]),
            ("■", theme.ink2, area.KINDS["lost"]),
            ("□", theme.category("uninstrumented"), area.KINDS["uninstrumented"]),
        )
    )
    st.html(f'<div style="font-size:0.85rem">{keys}</div>')
    frame.show(area.drawing(days, seen.theme, "GPUs that jobs held"), key="area")
    frame.numbers(
        [
            {
                "Day": format.day(day["day_us"]),
                "What": area.KINDS[day["kind"]],
                "GPU time": format.gpu_hours(day["gpu_us"]),
            }
            for day in days
        ]
    )
    st.caption(
        "What is held in reserve, warm, draining, down or stranded comes from node_state records,"
        " which are stored and not derived yet: the gap to what is installed is unknown here."
    )


page()
