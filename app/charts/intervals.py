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
LINE_PX = 16
BELOW_KEY = 0.75
"""The share of the height that the four rows of the key leave free."""
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
    top = _top(choice)
    curve = [_point(choice.costs, s) for s in _between(low_s, high_s)]
    marks = [_mark(choice.costs, choice.advised_s, "advised", "◆", top)]
    if choice.now_s:
        marks.append(_mark(choice.costs, choice.now_s, "now", "○", top))
    allowed = choice.allowed if choice.allowed is not None and choice.allowed <= top else None
    flat = " to ".join(map(span, choice.flat_s))
    return base.Drawing(
        template(theme),
        {
            "curve": curve,
            "names": _names(choice, curve, top),
            "flat": [{"low": choice.flat_s[0], "high": choice.flat_s[1]}],
            "marks": marks,
            "levels": [] if allowed is None else [{"share": allowed}],
            "key": _key(flat, marks, allowed, THEMES[theme]),
        },
        HEIGHT,
        _alt(marks, flat, job),
        {
            "top": top,
            "low": low_s,
            "high": high_s,
            "ticks": [s for s in TICKS_S if low_s <= s <= high_s],
        },
    )


def _top(choice: Choice) -> float:
    """The share at the upper edge: all marks lie well below it, so that the key has its room."""
    best = choice.costs.overhead(choice.advised_s).total
    lost_now = choice.costs.overhead(choice.now_s).total if choice.now_s else best
    top = max(1.8 * best, min(1.0, max(1.35 * lost_now, 2.4 * best)))
    if choice.allowed is not None and choice.allowed <= top:
        return max(top, choice.allowed / BELOW_KEY)
    return top


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


def _mark(costs: Costs, interval_s: float, name: str, sign: str, top: float) -> dict[str, Any]:
    point = _point(costs, interval_s)
    text = f"{name} {point['every']}: {point['said_all']}"
    return point | {"sign": sign, "text": text, "y": min(top, point["all"])}


def _key(
    flat: str, marks: Sequence[dict[str, Any]], allowed: float | None, theme: Theme
) -> list[dict[str, Any]]:
    """What is marked in words, a row each: inside the bowl of the upper curve there is room."""
    rows = [(f"flat: {flat}", theme.category("checkpoint"))]
    rows += [(f"{mark['sign']} {mark['text']}", theme.ink) for mark in marks]
    if allowed is not None:
        rows.append((f"- - target {format.percent(1 - allowed, 0)}", theme.ink2))
    return [
        {"text": text, "color": color, "down": 4 + LINE_PX * row}
        for row, (text, color) in enumerate(rows)
    ]


def _names(choice: Choice, curve: Sequence[dict[str, Any]], top: float) -> list[dict[str, Any]]:
    """Where each curve is named; `_PLACES` moves the names from there."""
    saving = next((point for point in curve if point["saving"] <= 0.4 * top), curve[-1])
    edge, best = curve[-1], choice.costs.overhead(choice.advised_s)
    return [
        {"kind": kind, "s": s, "share": share, "size": size, "is_cut": saving is curve[0]}
        for kind, s, share, size in (
            ("saving", saving["s"], saving["saving"], 0.0),
            ("again", edge["s"], 0.0, edge["again"]),
            ("all", choice.advised_s, best.total, best.save),
        )
    ]


def _alt(marks: Sequence[dict[str, Any]], flat: str, job: str) -> str:
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
    return base.log_x(field, TICKS_S, title="checkpoint interval", grid=False)


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
    return [
        flat.mark_rect(color=theme.category("checkpoint"), opacity=theme.hollow, clip=True).encode(
            x=_x("low"), x2="high"
        ),
        levels.mark_rule(color=theme.ink2, strokeDash=[4, 3]).encode(y=_y("share")),
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
        .mark_text(
            text=NAMES[kind],
            fontWeight="bold",
            **(_PLACES[kind] | {"color": color} | halo),
        )
        .encode(x=_x(), y=_y("share"))
        for kind, color in colors.items()
        for halo in base.halos(theme)
    ]
    hover = curve.mark_rule(opacity=0, strokeWidth=6).encode(x=_x(), tooltip=tips)
    return [*lines, hover, *names]


NAMES = {"saving": "saving", "again": "work done again", "all": "all, with restarts"}


def _times(kind: str, part: str) -> str:
    """By what the interval grows over a part of a curve's name: an expression of the width."""
    return f"pow(high / low, {part} * {7 * len(NAMES[kind])} / width)"


_BEGIN, _HALF = _times("again", "-1"), _times("all", "0.5")
_PLACES: dict[str, dict[str, Any]] = {
    "saving": {
        "align": alt.ExprRef("datum.is_cut ? 'left' : 'right'"),
        "dx": alt.ExprRef("datum.is_cut ? 8 : -6"),
        "dy": alt.ExprRef("datum.is_cut ? -4 : 9"),
    },
    "again": {
        "align": "right",
        "dx": -2,
        "dy": alt.ExprRef(f"-max(8, height * min(1, datum.size * {_BEGIN} / top) - {LINE_PX})"),
    },
    "all": {
        "align": "center",
        "dy": alt.ExprRef(
            f"-min({LINE_PX} + height * datum.size * ({_HALF} + 1 / {_HALF} - 2) / top,"
            f" height * (1 - datum.share / top) - {5 * LINE_PX + 4})"
        ),
    },
}
"""Where the name of a curve stands, so that none lies on another at any width.

Saving: left of its curve on its steep side. Work done again, T/2M: at the right edge, where it is
`size`, under the curve where the name begins. All: above its least and below the key, as high as
the curve is at the ends of the name: C/T + T/2M is `size` (1/x + x) at x times the best interval.
"""


def _colors(theme: Theme) -> dict[str, str]:
    return {
        "saving": theme.category("checkpoint"),
        "again": theme.category("restart"),
        "all": theme.ink,
    }


def _marks(theme: Theme) -> list[alt.Chart]:
    marks = base.data("marks")
    return [
        marks.transform_filter("datum.sign == '○'")
        .mark_point(size=110, filled=True, fill=theme.background, stroke=theme.ink, opacity=1,
                    strokeWidth=2)
        .encode(x=_x(), y=_y("y"), tooltip=base.tip("text|Interval")),
        marks.transform_filter("datum.sign == '◆'")
        .mark_point(shape="diamond", size=90, filled=True, color=theme.ink, opacity=1)
        .encode(x=_x(), y=_y("y"), tooltip=base.tip("text|Interval")),
        *(
            base.data("key")
            .mark_text(baseline="top", dy=alt.ExprRef("datum.down"), **halo)
            .encode(
                x=alt.value(alt.ExprRef("width / 2")),
                y=alt.value(0),
                text=alt.Text("text", type="nominal"),
                color=base.color_of(),
            )
            for halo in base.halos(theme)
        ),
    ]  # fmt: skip
