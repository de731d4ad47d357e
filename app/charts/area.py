"""GPU time by day, stacked: useful, lost, and what nobody recorded."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES
from metrics.conventions import HOUR_US

HEIGHT = 260
KINDS = {"useful": "Useful steps", "lost": "Lost", "uninstrumented": "Not instrumented"}
DAY_US = 24 * HOUR_US


def drawing(days: Sequence[dict[str, Any]], theme: str, title: str) -> base.Drawing:
    """A bar a day: average GPUs that jobs held, by what they did."""
    look = THEMES[theme]
    colors = {
        "useful": look.category("useful"),
        "lost": look.ink2,
        "uninstrumented": look.category("uninstrumented"),
    }
    tops: dict[int, float] = {}
    bars = []
    for kind in KINDS:
        for day in days:
            if day["kind"] != kind:
                continue
            at = tops.get(day["day_us"], 0.0)
            gpus = day["gpu_us"] / (day["hours"] * HOUR_US)
            tops[day["day_us"]] = at + gpus
            bars.append(
                {
                    "at": base.ms(day["day_us"]),
                    "to": base.ms(day["day_us"] + DAY_US),
                    "y0": at,
                    "y1": at + gpus,
                    "color": colors[kind],
                    "kind": kind,
                    "what": KINDS[kind],
                    "day": format.day(day["day_us"]),
                    "said": f"{gpus:,.0f} GPUs on average ({format.gpu_hours(day['gpu_us'])})",
                }
            )
    return base.Drawing(
        template(theme),
        {"bars": bars},
        HEIGHT,
        f"{title}: {len(tops)} days, at most {max(tops.values(), default=0):,.0f} GPUs held.",
        {"top": max(tops.values(), default=1) * 1.05},
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    layers = [
        base.data("bars")
        .transform_filter(f"datum.kind {test} 'uninstrumented'")
        .mark_rect(fillOpacity=fill, strokeWidth=width)
        .encode(
            x=base.utc_x(),
            x2="to",
            y=alt.Y(
                "y0",
                type="quantitative",
                title=None,
                axis=alt.Axis(
                    tickCount=5,
                    format=",d",
                    domain=False,
                    ticks=False,
                    labelExpr="datum.label + ' GPUs'",
                ),
                scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False),
            ),
            y2="y1",
            color=base.color_of(),
            stroke=alt.Stroke("color", type="nominal", scale=None, legend=None)
            if width > 1
            else alt.value(theme.background),
            tooltip=base.tip("day|Day", "what|What", "said|GPUs"),
        )
        for test, fill, width in (("!=", 1, 0.5), ("==", theme.hollow, 1.2))
    ]
    return base.build(theme, layers, {"top": 1})
