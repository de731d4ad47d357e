"""A number by week for a few groups: dots on lines, named beside the last ones, and a limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES, Theme

HEIGHT = 200
TEXT_PX = 15  # from the middle of one text to the next
LEFT, RIGHT = 14, 112
"""The room beside the lines, in pixels: so that no dot touches the axis, and where the last numbers
and the limit are named."""


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
    lasts = [last for s in series if (last := _last(rows, s.label))]
    limits = []
    if limit_us:
        limits = [{"value": limit_us / unit_us, "color": look.ink2, "bold": 0}]
        limits[0]["text"] = f"limit {format.duration(limit_us)}"
    ends = "; ".join(f"{r['series']} now {r['said']}" for r in lasts)
    return base.Drawing(
        template(theme),
        {"points": rows, "names": _apart([*lasts, *limits], top), "limits": limits},
        HEIGHT,
        f"{title}, by week: {ends or 'nothing known'}.",
        {"top": top, "unit": unit, "weeks": sorted({r["at"] for r in rows})},
    )


def _last(rows: Sequence[dict[str, Any]], label: str) -> dict[str, Any] | None:
    """The last point of a series as it is named."""
    own = [row for row in rows if row["series"] == label]
    last = max(own, key=lambda row: row["at"], default=None)
    return last and last | {"text": f"{label} {last['said']}", "bold": 1}


def _apart(names: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """The names beside what they name, a line of text apart where that lies closer."""
    free = 0.0
    found = []
    for row in sorted(names, key=lambda row: row["value"]):
        place = max(row["value"], free)
        kept = {key: row[key] for key in ("value", "text", "color", "bold")}
        found.append(kept | {"place": place})
        free = place + TEXT_PX * top / HEIGHT
    return found


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    return base.build(
        theme, [_limit(theme), *_lines(), *_names()], {"top": 1, "unit": "min", "weeks": []}
    )


def _x() -> alt.X:
    return alt.X(
        "at",
        type="temporal",
        axis=alt.Axis(format="%-d %b", values=alt.ExprRef("weeks"), grid=False, title=None,
                      labelOverlap=True, labelSeparation=8),
        scale=alt.Scale(type="utc", nice=False, range=[LEFT, alt.ExprRef(f"width - {RIGHT}")]),
    )  # fmt: skip


def _y(field: str) -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=alt.Axis(tickCount=4, domain=False, ticks=False, labelExpr="datum.label + ' ' + unit"),
        scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False),
    )


def _limit(theme: Theme) -> alt.Chart:
    limit: alt.Chart = (
        base.data("limits")
        .mark_rule(color=theme.ink2, strokeDash=[4, 3])
        .encode(x=alt.value(LEFT), x2=alt.value(alt.ExprRef(f"width - {RIGHT}")), y=_y("value"))
    )
    return limit


def _lines() -> list[alt.Chart]:
    points = base.data("points")
    place = {"x": _x(), "y": _y("value"), "color": base.color_of()}
    tips = base.tip("series|Of", "when|In", "said|Value")
    return [
        points.mark_line(strokeWidth=1.8).encode(
            **place, detail=alt.Detail("series", type="nominal")
        ),
        points.mark_point(filled=True, size=50, opacity=1).encode(**place, tooltip=tips),
    ]


def _names() -> list[alt.Chart]:
    return [
        base.data("names")
        .transform_filter(f"datum.bold == {bold}")
        .mark_text(align="left", baseline="middle", fontWeight="bold" if bold else "normal")
        .encode(
            x=alt.value(alt.ExprRef(f"width - {RIGHT} + 10")),
            y=_y("place"),
            text=alt.Text("text", type="nominal"),
            color=base.color_of(),
        )
        for bold in (0, 1)
    ]
