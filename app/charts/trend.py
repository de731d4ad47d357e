"""A number by week for a few groups: dots on lines, the last one named, and a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES

HEIGHT = 200
TEXT_PX = 15  # from a dot to the middle of its text, and from one text to the next


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
    rows: list[dict[str, Any]] = [
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
    top = 1.2 * longest / unit_us
    lasts = _apart([last for s in series if (last := _last(rows, s.label))], top)
    limits = []
    if limit_us:
        limits = [{"value": limit_us / unit_us, "text": f"limit {format.duration(limit_us)}"}]
    ends = "; ".join(f"{r['series']} now {r['said']}" for r in lasts)
    return base.Drawing(
        template(theme),
        {"points": rows, "lasts": lasts, "limits": limits},
        HEIGHT,
        f"{title}, by week: {ends or 'nothing known'}.",
        {"top": top, "unit": unit, "weeks": sorted({r["at"] for r in rows})},
    )


def _last(rows: Sequence[dict[str, Any]], label: str) -> dict[str, Any] | None:
    own = [row for row in rows if row["series"] == label]
    return max(own, key=lambda row: row["at"], default=None)


def _apart(lasts: list[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """The texts over the last dots, a line of text apart where the dots lie closer."""
    px, free = top / HEIGHT, 0.0
    found = []
    for row in sorted(lasts, key=lambda row: row["value"]):
        place = max(row["value"] + TEXT_PX * px, free)
        found.append(row | {"place": place, "both": f"{row['series']} {row['said']}"})
        free = place + TEXT_PX * px
    return found


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    x = alt.X(
        "at",
        type="temporal",
        axis=alt.Axis(format="%-d %b", values=alt.ExprRef("weeks"), grid=False, title=None,
                      labelOverlap=True),
        scale=alt.Scale(type="utc", nice=False),
    )  # fmt: skip
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
                .mark_text(align="right", fontWeight="bold", **halo)
                .encode(
                    x=x,
                    y=alt.Y("place", type="quantitative"),
                    text=alt.Text("both", type="nominal"),
                    **({} if halo else {"color": base.color_of()}),
                )
                for halo in base.halos(theme)
            ),
        ],
        {"top": 1, "unit": "min", "weeks": []},
    )
