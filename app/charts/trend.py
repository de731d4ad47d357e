"""A number by week for a few groups: dots on lines, the last one named, and a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES

HEIGHT = 200


@dataclass(frozen=True)
class Series:
    """(week's begin in µs, value in µs or None where it is not known) of a group."""

    label: str
    points: Sequence[tuple[int, int | None]]


def drawing(series: Sequence[Series], limit_us: int | None, theme: str, title: str) -> base.Drawing:
    """The lines, in minutes or hours as their size asks for."""
    look = THEMES[theme]
    colors = (look.ink, look.ink2, look.rule)
    longest = max([1, limit_us or 0, *(us or 0 for s in series for _, us in s.points)])
    unit_us, unit = format.unit_for(longest)
    rows = [
        {
            "at": base.ms(at_us),
            "value": us / unit_us,
            "color": colors[place % 3],
            "series": s.label,
            "said": format.duration(us),
            "when": f"week from {format.day(at_us)}",
        }
        for place, s in enumerate(series)
        for at_us, us in s.points
        if us is not None
    ]
    lasts = [
        max((r for r in rows if r["series"] == s.label), key=lambda r: int(str(r["at"])))
        for s in series
        if any(r["series"] == s.label for r in rows)
    ]
    limits = []
    if limit_us:
        limits = [{"value": limit_us / unit_us, "text": f"limit {format.duration(limit_us)}"}]
    ends = "; ".join(f"{r['series']} now {r['said']}" for r in lasts)
    return base.Drawing(
        template(theme),
        {"points": rows, "lasts": lasts, "limits": limits},
        HEIGHT,
        f"{title}, by week: {ends or 'nothing known'}.",
        {"top": 1.1 * longest / unit_us, "unit": unit},
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    x = base.utc_x()
    y = alt.Y(
        "value",
        type="quantitative",
        title=None,
        axis=alt.Axis(tickCount=4, domain=False, ticks=False, labelExpr="datum.label + ' ' + unit"),
        scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False),
    )
    points = base.data("points")
    detail = alt.Detail("series", type="nominal")
    limits = base.data("limits")
    return base.build(
        theme,
        [
            limits.mark_rule(color=theme.ink2, strokeDash=[4, 3]).encode(y=y),
            limits.mark_text(align="left", dx=4, dy=-7, color=theme.ink2).encode(
                x=alt.value(0), y=y, text=alt.Text("text", type="nominal")
            ),
            points.mark_line(strokeWidth=1.8).encode(
                x=x, y=y, color=base.color_of(), detail=detail
            ),
            points.mark_point(filled=True, size=50, opacity=1).encode(
                x=x,
                y=y,
                color=base.color_of(),
                tooltip=base.tip("series|Of", "when|In", "said|Value"),
            ),
            *(
                base.data("lasts")
                .transform_calculate(both="datum.series + ' ' + datum.said")
                .mark_text(align="right", dy=-12, fontWeight="bold", **halo)
                .encode(
                    x=x,
                    y=y,
                    text=alt.Text("both", type="nominal"),
                    **({} if halo else {"color": base.color_of()}),
                )
                for halo in base.halos(theme)
            ),
        ],
        {"top": 1, "unit": "min"},
    )
