"""What each checkpoint interval loses: saving, work done again and both with restarts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from answers.wording import span
from app import format
from app.charts import base
from app.palette import THEMES, Theme
from metrics.checkpointing import Costs
from metrics.conventions import US_PER_S

HEIGHT = 300
POINTS = 160
TICKS_S = (
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3600, 7200, 14400, 28800, 86400, 172_800, 604_800, 2_592_000),
)


@dataclass(frozen=True)
class Choice:
    """A job's costs and the intervals to mark, in seconds.

    `flat_s` holds those as good as the advised one, `now_s` is the one in force (None: unknown),
    `allowed` the share of the wall that the objective allows to lose (None: no objective).
    """

    costs: Costs
    advised_s: float
    flat_s: tuple[float, float]
    now_s: float | None
    allowed: float | None


def drawing(choice: Choice, theme: str, job: str) -> base.Drawing:
    """The curves on a log axis of the interval; shares of the wall-clock."""
    low_s, high_s = _extent(choice)
    costs = choice.costs
    best = costs.overhead(choice.advised_s).total
    lost_now = costs.overhead(choice.now_s).total if choice.now_s else best
    top = max(1.2 * best, min(1.0, max(1.35 * lost_now, 2.4 * best)))
    curve = [_point(costs, s) for s in _between(low_s, high_s)]
    marks = [_mark(costs, choice.advised_s, "advised", "diamond", top)]
    if choice.now_s:
        marks.append(_mark(costs, choice.now_s, "now", "circle", top))
    flat = " to ".join(map(span, choice.flat_s))
    levels = []
    if choice.allowed is not None and choice.allowed <= top:
        target = format.percent(1 - choice.allowed, 0)
        levels = [{"share": choice.allowed, "text": f"all that a goodput of {target} may lose"}]
    return base.Drawing(
        template(theme),
        {
            "curve": curve,
            "names": _names(curve, top),
            "flat": [{"low": choice.flat_s[0], "high": choice.flat_s[1], "text": f"flat: {flat}"}],
            "marks": marks,
            "levels": levels,
        },
        HEIGHT,
        _alt(choice, marks, flat, job),
        {
            "top": top,
            "low": low_s,
            "high": high_s,
            "ticks": [s for s in TICKS_S if low_s <= s <= high_s],
        },
    )


def _us(seconds: float) -> int:
    return round(seconds * US_PER_S)


def _extent(choice: Choice) -> tuple[float, float]:
    """All that is marked, and a good way beyond it on both sides."""
    marked = [*choice.flat_s, choice.advised_s, choice.now_s or choice.advised_s]
    return min(choice.advised_s / 8, min(marked) / 2), max(choice.advised_s * 8, max(marked) * 2)


def _between(low_s: float, high_s: float) -> list[float]:
    return [low_s * (high_s / low_s) ** (place / (POINTS - 1)) for place in range(POINTS)]


def _point(costs: Costs, interval_s: float) -> dict[str, Any]:
    lost = costs.overhead(interval_s)
    return {
        "s": interval_s,
        "saving": lost.save,
        "again": lost.lost_work,
        "all": lost.total,
        "every": span(interval_s),
        "said_saving": format.percent(lost.save),
        "said_again": format.percent(lost.lost_work),
        "said_restarts": format.percent(lost.restart),
        "said_all": format.percent(lost.total),
    }


def _mark(costs: Costs, interval_s: float, name: str, shape: str, top: float) -> dict[str, Any]:
    point = _point(costs, interval_s)
    text = f"{name} {point['every']}: {point['said_all']}"
    return point | {"shape": shape, "text": text, "y": min(top, point["all"])}


def _names(curve: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """Where each curve is named: on its steep side, below the top."""
    found = []
    for name, kind, share, is_left in (
        ("saving", "saving", 0.4, True),
        ("all, with restarts", "all", 0.8, True),
        ("work done again", "again", 0.55, False),
    ):
        points = list(curve) if is_left else list(reversed(curve))
        lowest = min(points, key=lambda point: point[kind])
        at = next((point for point in points if point[kind] <= share * top), lowest)
        place = {"s": at["s"], "share": at[kind], "at_edge": at is curve[0]}
        found.append(place | {"name": name, "kind": kind})
    return found


def _alt(choice: Choice, marks: Sequence[dict[str, Any]], flat: str, job: str) -> str:
    said = "; ".join(str(mark["text"]) for mark in marks)
    return (
        f"Lost share of wall-clock by checkpoint interval of {job}: falls with rarer saving, rises"
        f" with work done again; {said}; intervals as good: {flat}."
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    params = {"top": 1, "low": 1, "high": 86400, "ticks": []}
    return base.build(theme, [*_behind(theme), *_curves(theme), *_marks(theme)], params)


def _x(field: str = "s") -> alt.X:
    parts = " : ".join(f"datum.value == {s} ? '{format.duration(_us(s))}'" for s in TICKS_S)
    return alt.X(
        field,
        type="quantitative",
        title="checkpoint interval",
        scale=alt.Scale(
            type="log", domain=[alt.ExprRef("low"), alt.ExprRef("high")], nice=False, clamp=True
        ),
        axis=alt.Axis(
            values=alt.ExprRef("ticks"), labelExpr=f"{parts} : ''", labelOverlap=True, grid=False
        ),
    )


def _y(field: str) -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=base.percents("~%", tickCount=5),
        scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False),
    )


def _behind(theme: Theme) -> list[alt.Chart]:
    flat, levels = base.data("flat"), base.data("levels")
    saving = theme.category("checkpoint")
    text = alt.Text("text", type="nominal")
    middle = "sqrt(datum.low * datum.high)"
    return [
        flat.mark_rect(color=saving, opacity=theme.hollow, clip=True).encode(
            x=_x("low"), x2="high"
        ),
        flat.transform_calculate(middle=middle)
        .mark_text(color=saving, baseline="top")
        .encode(x=_x("middle"), y=alt.value(4), text=text),
        levels.mark_rule(color=theme.ink2, strokeDash=[4, 3]).encode(y=_y("share")),
        *(
            levels.mark_text(dy=10, **({"color": theme.ink2} | halo)).encode(
                x=alt.value(alt.ExprRef("width / 2")), y=_y("share"), text=text
            )
            for halo in base.halos(theme)
        ),
    ]


def _curves(theme: Theme) -> list[alt.Chart]:
    colors = _colors(theme)
    curve = base.data("curve")
    tips = base.tip(
        "every|Save every",
        "said_saving|Saving",
        "said_again|Work done again",
        "said_restarts|Restarts",
        "said_all|In all",
    )
    lines = [
        curve.transform_filter(f"datum.{kind} <= top")
        .mark_line(color=color, strokeWidth=width, strokeDash=dash)
        .encode(x=_x(), y=_y(kind))
        for kind, color, width, dash in (
            ("saving", colors["saving"], 1.6, [1, 0]),
            ("again", colors["again"], 1.6, [5, 3]),
            ("all", colors["all"], 2.2, [1, 0]),
        )
    ]
    names = [
        base.data("names")
        .transform_filter(f"datum.kind == '{kind}'")
        .mark_text(fontWeight="bold", **(_PLACES[kind] | {"color": color} | halo))
        .encode(x=_x(), y=_y("share"), text=alt.Text("name", type="nominal"))
        for kind, color in colors.items()
        for halo in base.halos(theme)
    ]
    hover = curve.mark_rule(opacity=0, strokeWidth=6).encode(x=_x(), tooltip=tips)
    return [*lines, hover, *names]


_PLACES: dict[str, dict[str, Any]] = {
    "saving": {
        "align": alt.ExprRef("datum.at_edge ? 'left' : 'right'"),
        "dx": alt.ExprRef("datum.at_edge ? 8 : -6"),
        "dy": alt.ExprRef("datum.at_edge ? -4 : 9"),
    },
    "again": {"align": "right", "dx": -8, "dy": 9},
    "all": {"align": "left", "dx": 8, "dy": -6},
}
"""Where the name of a curve stands: curves that lie close share no place, and none is cut off."""


def _colors(theme: Theme) -> dict[str, str]:
    return {
        "saving": theme.category("checkpoint"),
        "again": theme.category("restart"),
        "all": theme.ink,
    }


def _marks(theme: Theme) -> list[alt.Chart]:
    marks = base.data("marks")
    found = [
        marks.transform_filter("datum.shape == 'circle'")
        .mark_point(size=110, filled=True, fill=theme.background, stroke=theme.ink, opacity=1,
                    strokeWidth=2)
        .encode(x=_x(), y=_y("y"), tooltip=base.tip("text|Interval")),
        marks.transform_filter("datum.shape == 'diamond'")
        .mark_point(shape="diamond", size=90, filled=True, color=theme.ink, opacity=1)
        .encode(x=_x(), y=_y("y"), tooltip=base.tip("text|Interval")),
    ]  # fmt: skip
    place = "datum.s > sqrt(low * high)"
    for shape, dy in (("circle", -14), ("diamond", 16)):
        found += [
            marks.transform_filter(f"datum.shape == '{shape}'")
            .mark_text(
                align=alt.ExprRef(f"{place} ? 'right' : 'left'"),
                dx=alt.ExprRef(f"{place} ? -6 : 6"),
                dy=dy,
                fontWeight="bold" if shape == "diamond" else "normal",
                **({"color": theme.ink} | halo),
            )
            .encode(x=_x(), y=_y("y"), text=alt.Text("text", type="nominal"))
            for halo in base.halos(theme)
        ]
    return found
