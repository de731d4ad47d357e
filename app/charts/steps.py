"""How long a job's steps took: the middle of each bin, its spread, and the slow ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES, Theme
from metrics.conventions import US_PER_S

HEIGHT = 220
MOST_SLOW = 40
"""Marks for the longest slow steps: more of them would hide the line."""


@dataclass(frozen=True)
class Bin:
    """Steps of a bin of time, in µs; `straggler_us` is what they waited for slower ranks."""

    at_us: int
    p10_us: int
    median_us: int
    p90_us: int
    longest_us: int
    steps: int
    straggler_us: int


def drawing(bins: Sequence[Bin], typical_us: int, theme: str, title: str) -> base.Drawing:
    """The chart; `typical_us` is the median of all, and twice it is what counts as slow."""
    rows = [_row(b, typical_us) for b in bins]
    top = max([2.4 * typical_us / US_PER_S, *(row["p90"] for row in rows)])
    top = min(top, 6 * typical_us / US_PER_S)
    slow = sorted((row for row in rows if row["is_slow"]), key=lambda row: -row["longest"])
    marked = [row | {"y": min(row["longest"], top)} for row in slow[:MOST_SLOW]]
    return base.Drawing(
        template(theme),
        {
            "bins": rows,
            "slow": marked,
            "levels": [
                {"s": 2 * typical_us / US_PER_S, "text": "twice the median: slow"},
            ],
        },
        HEIGHT,
        f"Step times of {title}: median {format.duration(typical_us)};"
        f" {len(slow)} of {len(rows)} stretches hold a step of more than twice that.",
        {"top": top},
    )


def _row(b: Bin, typical_us: int) -> dict[str, Any]:
    return {
        "at": base.ms(b.at_us),
        "p10": b.p10_us / US_PER_S,
        "median": b.median_us / US_PER_S,
        "p90": b.p90_us / US_PER_S,
        "longest": b.longest_us / US_PER_S,
        "is_slow": int(b.longest_us > 2 * typical_us),
        "waits": int(b.straggler_us > 0),
        "when": format.moment(b.at_us),
        "middle": format.duration(b.median_us),
        "spread": f"{format.duration(b.p10_us)} to {format.duration(b.p90_us)}",
        "most": format.duration(b.longest_us),
        "stragglers": format.duration(b.straggler_us),
        "steps": format.count(b.steps),
    }


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    return base.build(theme, [*_times(theme), *_level(theme), *_marks(theme)], {"top": 1})


def _y(field: str) -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title="seconds a step",
        axis=alt.Axis(tickCount=5, domain=False, ticks=False),
        scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False, clamp=True),
    )


def _times(theme: Theme) -> list[alt.Chart]:
    """The spread of each bin and the line through the medians."""
    x, bins, color = base.utc_x(), base.data("bins"), theme.category("useful")
    tips = base.tip(
        "when|From", "steps|Steps", "middle|Median", "spread|p10 to p90", "most|Longest"
    )
    return [
        bins.mark_area(color=color, opacity=0.22).encode(x=x, y=_y("p10"), y2="p90"),
        bins.mark_line(color=color, strokeWidth=1.8).encode(x=x, y=_y("median")),
        bins.mark_rule(opacity=0, strokeWidth=4).encode(x=x, tooltip=tips),
    ]


def _level(theme: Theme) -> list[alt.Chart]:
    """What counts as slow."""
    levels = base.data("levels")
    return [
        levels.mark_rule(color=theme.ink2, strokeDash=[4, 3]).encode(y=_y("s")),
        levels.mark_text(align="left", dx=4, dy=-7, color=theme.ink2).encode(
            x=alt.value(0), y=_y("s"), text=alt.Text("text", type="nominal")
        ),
    ]


def _marks(theme: Theme) -> list[alt.Chart]:
    """The longest slow steps, and a strip of the bins that waited for stragglers."""
    x = base.utc_x()
    return [
        base.data("slow")
        .mark_point(shape="triangle-up", filled=True, size=34, color=theme.ink, opacity=0.9)
        .encode(x=x, y=_y("y"), tooltip=base.tip("when|From", "most|Longest step")),
        base.data("bins")
        .transform_filter("datum.waits == 1")
        .mark_tick(orient="vertical", color=theme.category("straggler"), size=10, thickness=2)
        .encode(
            x=x,
            y=alt.value(HEIGHT - 6),
            tooltip=base.tip("when|From", "stragglers|Waited for stragglers"),
        ),
    ]
