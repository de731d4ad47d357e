"""The budget line: what was left at every hour of 30 days, freezes shaded, and two forecasts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES, Theme
from metrics.conventions import HOUR_US

HEIGHT = 300
GLYPHS = {"through": "triangle-up", "held": "cross", "override": "diamond"}


@dataclass(frozen=True)
class Line:
    """Shares of an allowance by moment in µs; spans are (from, to) in µs."""

    left: Sequence[tuple[int, float]]
    frozen: Sequence[tuple[int, int]]
    unknown: Sequence[tuple[int, int]]
    changes: Sequence[Mapping[str, Any]]
    """`at_us`, `kind` (a key of GLYPHS) and `what` in words."""
    nothing_lost: Sequence[tuple[int, float]]
    present_burn: Sequence[tuple[int, float]]
    band: Sequence[tuple[int, float, float]]
    """(moment, least, most) of other burns."""
    thaw_level: float
    now_us: int
    title: str


def drawing(line: Line, theme: str) -> base.Drawing:
    """The chart; the axis shows the thaw level and all values, never more than it must."""
    values = [left for _, left in (*line.left, *line.nothing_lost, *line.present_burn)]
    low = max(min([*values, -0.1]), -1.5)
    high = min(max([*values, line.thaw_level * 2, 0.25]), 1.0)
    floor = low - 0.12 * (high - low)
    return base.Drawing(
        template(theme),
        {
            "left": [_point(us, left) for us, left in line.left],
            "frozen": [_span(*span, "Frozen") for span in line.frozen],
            "unknown": [
                # That of stale data ends at the edge: its text stands to the left of it.
                _span(*span, _why_unknown(line, span[0])) | {"late": span[0] > _middle(line)}
                for span in line.unknown
            ],
            "changes": [
                {"at": base.ms(c["at_us"]), "glyph": GLYPHS[c["kind"]], "what": c["what"]}
                | {"when": format.moment(c["at_us"]), "y": floor + 0.05 * (high - low)}
                for c in line.changes
            ],
            "nothing": [_point(us, left) for us, left in line.nothing_lost],
            "burning": [_point(us, left) for us, left in line.present_burn],
            "band": [
                {"at": base.ms(us), "least": least, "most": most} for us, least, most in line.band
            ],
            "thaws": _thaws(line),
            "levels": _levels(line),
            "now": [_now(line.left)] if line.left else [],
        },
        HEIGHT,
        _alt(line),
        {"low": floor, "high": high + 0.14 * (high - low)},
    )


def _why_unknown(line: Line, from_us: int) -> str:
    """Past the last hour with data there are none; before it the state alone is not known."""
    return "no data" if not line.left or from_us > line.left[-1][0] - HOUR_US else "unknown"


def _point(us: int, left: float) -> dict[str, Any]:
    return {"at": base.ms(us), "left": left, "when": format.moment(us)} | {
        "said": format.percent(left)
    }


def _span(from_us: int, to_us: int, what: str) -> dict[str, Any]:
    said = format.duration(to_us - from_us)
    return {"from": base.ms(from_us), "to": base.ms(to_us), "text": f"{what} {said}"}


def _middle(line: Line) -> int:
    return (line.left[0][0] + line.left[-1][0]) // 2 if line.left else 0


def _thaws(line: Line) -> list[dict[str, Any]]:
    found = []
    for points in (line.nothing_lost, line.present_burn):
        at = next((us for us, left in points if left >= line.thaw_level), None)
        if at is not None and line.left and line.left[-1][1] < line.thaw_level:
            found.append(_point(at, line.thaw_level))
    return found


def _levels(line: Line) -> list[dict[str, Any]]:
    start = base.ms(line.left[0][0]) if line.left else 0
    thaw = {"y": line.thaw_level, "text": f"{format.percent(line.thaw_level, 0)}: thaw"}
    spent = {"y": 0.0, "text": "0 %: spent, freeze"}
    return [row | {"at": start, "above": int(row is thaw)} for row in (thaw, spent)]


def _now(points: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """The newest hour, and whether the line came up to it: then its text stands above the line."""
    us, left = points[-1]
    lately = points[-max(1, len(points) // 6) :]
    is_up = sum(before for _, before in lately) < left * len(lately)
    text = f"{format.percent(left)} left"
    return {"at": base.ms(us), "left": left, "text": text, "up": int(is_up)}


def _alt(line: Line) -> str:
    if not line.left:
        return f"{line.title}: no hour is known."
    (first_us, first), (last_us, last) = line.left[0], line.left[-1]
    low_us, low = min(line.left, key=lambda point: point[1])
    held = sum(to - from_ for from_, to in line.frozen)
    return (
        f"{line.title}, {format.day(first_us)}–{format.day(last_us)}: starts at"
        f" {format.percent(first)}, lowest {format.percent(low)} on {format.day(low_us)}, now"
        f" {format.percent(last)}; frozen for {format.duration(held)} in all."
    )


def _x(field: str = "at") -> alt.X:
    """Moments; a mark at the newest of them is not cut at the edge."""
    return base.utc_x(field, range=[0, alt.ExprRef("width - 8")])


def _y(field: str = "left") -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=base.percents(tickCount=5),
        scale=alt.Scale(
            domain=[alt.ExprRef("low"), alt.ExprRef("high")], nice=False, zero=False, clamp=True
        ),
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    return base.build(
        theme,
        [*_spans(theme), *_lines(theme), *_gap_names(theme), *_marks(theme)],
        {"low": -0.25, "high": 1.0},
    )


def _spans(theme: Theme) -> list[alt.Chart]:
    from_x = _x("from")
    frozen = base.data("frozen")
    shade = frozen.mark_rect(color=theme.frozen, opacity=0.12).encode(
        x=from_x, x2="to", y=alt.value(0), y2=alt.value(HEIGHT), tooltip=base.tip("text|State")
    )
    bar = frozen.mark_rect(color=theme.frozen).encode(
        x=from_x, x2="to", y=alt.value(0), y2=alt.value(4)
    )
    said = (
        frozen.transform_calculate(days="datum.to - datum.from")
        .transform_joinaggregate(longest="max(days)")
        .transform_filter("datum.days == datum.longest")
        .mark_text(align="left", baseline="top", fontWeight="bold", color=theme.frozen, dx=4)
        .encode(x=from_x, y=alt.value(9), text=alt.Text("text", type="nominal"))
    )
    gap = (
        base.data("unknown")
        .mark_rect(fillOpacity=0, stroke=theme.unknown, strokeDash=[4, 3])
        .encode(x=from_x, x2="to", y=alt.value(12), y2=alt.value(HEIGHT - 40))
    )
    return [shade, bar, gap, said]


def _gap_names(theme: Theme) -> list[alt.Chart]:
    """What is said of each gap, above the line: it may be longer than its gap is wide."""
    sides: tuple[tuple[str, base.Align, int], ...] = (("true", "right", -4), ("false", "left", 4))
    return [
        base.data("unknown")
        .transform_filter(f"datum.late == {inside}")
        .mark_text(align=align, baseline="top", color=theme.ink2, dx=dx, **halo)
        .encode(x=_x("from"), y=alt.value(26), text=alt.Text("text", type="nominal"))
        for inside, align, dx in sides
        for halo in base.halos(theme)
    ]


def _lines(theme: Theme) -> list[alt.Chart]:
    x, y = _x(), _y()
    levels = base.data("levels")
    rules = [
        levels.transform_filter(f"datum.above == {above}")
        .mark_rule(color=theme.ink2, strokeDash=dash, strokeWidth=width)
        .encode(y=_y("y"))
        for above, dash, width in ((1, [4, 3], 1), (0, [1, 0], 1.5))
    ]
    under = (
        base.data("left")
        .transform_calculate(under="min(datum.left, 0)", zero="0")
        .mark_area(color=theme.frozen, opacity=0.4, interpolate="step-after")
        .encode(x=x, y=_y("under"), y2="zero")
    )
    left = (
        base.data("left")
        .mark_line(color=theme.ink, strokeWidth=2, interpolate="step-after")
        .encode(x=x, y=y)
    )
    hover = (
        base.data("left")
        .mark_rule(opacity=0, strokeWidth=3)
        .encode(x=x, tooltip=base.tip("when|At", "said|Left"))
    )
    return [*rules, under, *_forecast(theme), left, hover]


def _forecast(theme: Theme) -> list[alt.Chart]:
    """What is left from now on: the band of burns, with nothing lost, at the present burn."""
    x, y = _x(), _y()
    band = (
        base.data("band")
        .mark_area(color=theme.forecast, opacity=0.2, clip=True)
        .encode(x=x, y=_y("least"), y2="most")
    )
    nothing = (
        base.data("nothing")
        .mark_line(color=theme.forecast, strokeDash=[1, 3], strokeWidth=2, clip=True)
        .encode(x=x, y=y)
    )
    burning = (
        base.data("burning")
        .mark_line(color=theme.forecast, strokeDash=[6, 3], strokeWidth=2, clip=True)
        .encode(x=x, y=y)
    )
    return [band, nothing, burning]


def _marks(theme: Theme) -> list[alt.Chart]:
    x = _x()
    changes = (
        base.data("changes")
        .mark_point(filled=True, color=theme.ink, size=55, opacity=1)
        .encode(
            x=x,
            y=_y("y"),
            shape=alt.Shape("glyph", type="nominal", scale=None, legend=None),
            tooltip=base.tip("what|What", "when|At"),
        )
    )
    thaws = (
        base.data("thaws")
        .mark_point(
            filled=True, fill=theme.background, stroke=theme.forecast, size=70, strokeWidth=2
        )
        .encode(x=x, y=_y(), tooltip=base.tip("when|Thaws", "said|Left"))
    )
    level_text = [
        base.data("levels")
        .transform_filter(f"datum.above == {above}")
        .mark_text(
            align="left",
            baseline="bottom" if above else "top",
            dx=3,
            dy=-2 if above else 4,
            color=theme.ink2,
            **halo,
        )
        .encode(x=x, y=_y("y"), text=alt.Text("text", type="nominal"))
        for above in (1, 0)
        for halo in base.halos(theme)
    ]
    return [changes, thaws, *level_text, *_present(theme)]


def _present(theme: Theme) -> list[alt.Chart]:
    """A dot at the newest hour, with what is left there."""
    x, now = _x(), base.data("now")
    dot = now.mark_point(filled=True, color=theme.ink, size=60, opacity=1).encode(x=x, y=_y())
    now_text = [
        now.mark_text(
            align="right", dx=-8, dy=alt.ExprRef("datum.up ? -14 : 14"), fontWeight="bold", **halo
        ).encode(x=x, y=_y(), text=alt.Text("text", type="nominal"))
        for halo in base.halos(theme)
    ]
    return [dot, *now_text]
