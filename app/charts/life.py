"""A job's life: attempts, progress and interruptions, work done again, windows, loss by time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import BY_ID, CAUSE_LABELS, COMPONENT_LABELS, ORDER, THEMES, Theme
from metrics.conventions import HOUR_US, US_PER_S

LANES = ("Attempt", "Progress", "Work done again", "Windows and phases")
LANE_PX = (46, 66, 38, 38)
BAR_PX = (16, 30, 14, 14)
"""Heights of the lanes and of their bars in pixels; numbers of restarts stand above Progress."""
BARS_PX = 150
LEFT = 132
ROUND_US = (
    60 * US_PER_S,
    600 * US_PER_S,
    *(h * HOUR_US for h in (1, 2, 4, 8, 12, 24, 48, 96, 168)),
)
"""Levels that the loss by bin may be read off at, in µs."""
MOST_RESTARTS = 60
"""Above this many restarts their numbers give way to a count."""


@dataclass(frozen=True)
class Stretch:
    """Named time of a job in µs; `again` is work that was done again."""

    start_us: int
    end_us: int
    category: str
    component: str
    cause: str


@dataclass(frozen=True)
class Life:
    """What is drawn; `bins` are (start, category, component, µs) of what was lost by bin."""

    start_us: int
    end_us: int
    now_us: int
    attempts: Sequence[tuple[int, int, int]]
    stretches: Sequence[Stretch]
    again: Sequence[Stretch]
    restarts: Sequence[tuple[int, int]]
    """(number, detected µs)"""
    planned: Sequence[tuple[int, int, str]]
    bins: Sequence[tuple[int, str, bool, int]]
    bin_us: int
    title: str
    is_instrumented: bool = True
    """Whether step records say what it did while it ran."""
    is_over: bool = False
    is_past: bool = False
    """Whether it is shown as it stood at a moment of the past."""

    @property
    def edge(self) -> str:
        """What the line at its right edge stands for."""
        if self.is_over:
            return "end"
        return "as of" if self.is_past else "now"


def only(life: Life, category: str) -> Life:
    """The life with what one category lost alone."""
    return replace(
        life,
        stretches=[s for s in life.stretches if s.category == category],
        again=[s for s in life.again if s.category == category],
        bins=[row for row in life.bins if row[1] == category],
    )


def since(life: Life, start_us: int) -> Life:
    """What of a life lies after a moment."""
    return replace(
        life,
        start_us=start_us,
        attempts=[(n, max(at, start_us), to) for n, at, to in life.attempts if to > start_us],
        stretches=[_cut(s, start_us) for s in life.stretches if s.end_us > start_us],
        again=[_cut(s, start_us) for s in life.again if s.end_us > start_us],
        restarts=[row for row in life.restarts if row[1] >= start_us],
        bins=[row for row in life.bins if row[0] + life.bin_us > start_us],
    )


def _cut(stretch: Stretch, start_us: int) -> Stretch:
    return replace(stretch, start_us=max(stretch.start_us, start_us))


def drawing(life: Life, theme: str) -> base.Drawing:
    """The chart."""
    look = THEMES[theme]
    end_us = max([life.end_us, *(end for _, end, _ in life.planned)])
    tops = [sum(LANE_PX[:place]) for place in range(len(LANE_PX) + 1)]
    bars, top_us = _bins(life, look, tops[-1] + 30)
    span = end_us - life.start_us
    return base.Drawing(
        template(theme),
        {
            "attempts": _attempts(life, look, span),
            "progress": [_progress(life, look)],
            "stretches": _stretches(life, look, span),
            "again": [_box_of(s, look) for s in life.again],
            "windows": _windows(life, look),
            "restarts": _numbers(life, span),
            "bins": bars,
            "levels": _levels(top_us, tops[-1] + 30),
            "lanes": _lanes(life, tops),
            "now": [{"at": base.ms(life.now_us), "text": life.edge}],
            "extent": [{"at": base.ms(life.start_us), "to": base.ms(end_us)}],
        },
        tops[-1] + 30 + BARS_PX,
        _alt(life),
    )


def _alt(life: Life) -> str:
    return (
        f"Life of {life.title}, {format.day(life.start_us)}–{format.day(life.end_us)}:"
        f" {format.plural(len(life.attempts), 'attempt')},"
        f" {format.plural(len(life.restarts), 'restart')},"
        f" {format.plural(len(life.planned), 'planned window')} ahead."
    )


def _box(
    start_us: int, end_us: int, category: str, theme: Theme, what: str, cause: str
) -> dict[str, Any]:
    return {
        "at": base.ms(start_us),
        "to": base.ms(end_us),
        "color": theme.category(category),
        "what": what,
        "cause": cause or "none",
        "exact": format.duration(end_us - start_us),
        "when": format.moment(start_us),
    }


def _progress(life: Life, theme: Theme) -> dict[str, Any]:
    if life.is_instrumented:
        return _box(life.start_us, life.end_us, "useful", theme, "Steps", "") | {"kind": "solid"}
    what = BY_ID["uninstrumented"].label
    box = _box(life.start_us, life.end_us, "uninstrumented", theme, what, "")
    return box | {"kind": "hollow"}


def _box_of(s: Stretch, theme: Theme) -> dict[str, Any]:
    label = BY_ID[s.category].label if s.category in BY_ID else s.category
    what = f"{label}: {COMPONENT_LABELS.get(s.component, s.component).lower()}"
    return _box(s.start_us, s.end_us, s.category, theme, what, CAUSE_LABELS.get(s.cause, s.cause))


def _attempts(life: Life, theme: Theme, span: int) -> list[dict[str, Any]]:
    found = []
    for attempt, start_us, end_us in life.attempts:
        box = _box(start_us, end_us, "useful", theme, f"Attempt {attempt}", "")
        box["color"] = theme.ink2 if attempt % 2 == 0 else theme.rule
        box["text"] = str(attempt) if (end_us - start_us) / max(span, 1) > 0.035 else ""
        found.append(box)
    return found


def _stretches(life: Life, theme: Theme, span: int) -> list[dict[str, Any]]:
    """What interrupted progress, at least two pixels wide (of about 700)."""
    least = span // 350
    found = []
    for s in life.stretches:
        if s.component in ("pause", "phase", "window"):
            continue
        box = _box_of(s, theme)
        box["to"] = max(box["to"], base.ms(s.start_us + least))
        found.append(box)
    return found


def _windows(life: Life, theme: Theme) -> list[dict[str, Any]]:
    past = [s for s in life.stretches if s.component in ("phase", "window")]
    found = [_box_of(s, theme) | {"kind": "past"} for s in past]
    for start_us, end_us, what in life.planned:
        box = _box(start_us, end_us, "maintenance", theme, f"Planned: {what}", "")
        found.append(box | {"kind": "planned"})
    return found


def _numbers(life: Life, span: int) -> list[dict[str, Any]]:
    if len(life.restarts) > MOST_RESTARTS:
        return []
    found: list[dict[str, Any]] = []
    for number, us in life.restarts:
        if found and us - found[-1]["us"] < span / 30:
            found[-1]["text"] = f"{found[-1]['first']}–{number}"
        else:
            found.append(
                {"us": us, "at": base.ms(us), "first": number, "text": str(number)}
                | {"id": str(number), "when": format.moment(us)}
            )
    return found


def _bins(life: Life, theme: Theme, top: int) -> tuple[list[dict[str, Any]], int]:
    by_bin: dict[int, list[tuple[int, bool, str, int]]] = {}
    for start_us, category, again, us in life.bins:
        by_bin.setdefault(start_us, []).append((ORDER[category], again, category, us))
    top_us = max([1, *(sum(us for *_, us in parts) for parts in by_bin.values())])
    found = []
    for start_us, parts in by_bin.items():
        at_us = 0
        for _, again, category, us in sorted(parts):
            label = BY_ID[category].label + (", work done again" if again else "")
            begin_us = max(start_us, life.start_us)
            stop_us = min(start_us + life.bin_us, life.end_us)
            box = _box(begin_us, stop_us, category, theme, label, "")
            box |= {"exact": format.duration(us), "kind": "hollow" if again else "solid"}
            box["y0"] = top + BARS_PX * (1 - at_us / top_us)
            at_us += us
            box["y1"] = top + BARS_PX * (1 - at_us / top_us)
            found.append(box)
    return found, top_us


def _levels(top_us: int, top: int) -> list[dict[str, Any]]:
    level_us = max((us for us in ROUND_US if us <= top_us), default=top_us)
    return [
        {"y": top + BARS_PX * (1 - us / top_us), "text": format.duration(us)}
        for us in (level_us, level_us // 2)
    ]


def _lanes(life: Life, tops: list[int]) -> list[dict[str, Any]]:
    said = [
        {
            "text": lane,
            "y": tops[place + 1] - 4 - BAR_PX[place] // 2,
            "up": BAR_PX[place] // 2 + (28 if place == 1 else 10),
        }
        for place, lane in enumerate(LANES)
    ]
    said.append({"text": f"Lost per {format.duration(life.bin_us)}", "y": tops[-1] + 14, "up": 4})
    return said


def _px(field: str = "y") -> alt.Y:
    return alt.Y(field, type="quantitative", axis=None, scale=None)


def _x(field: str = "at") -> alt.X:
    return base.utc_x(field, range=[base.narrow(0, LEFT), alt.ExprRef("width - 2")])


_SAID = alt.Text("text", type="nominal")


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    tops = [sum(LANE_PX[:place]) for place in range(len(LANE_PX) + 1)]
    extent = base.data("extent").mark_rule(opacity=0).encode(x=_x(), x2="to", y=alt.value(1))
    return base.build(
        theme,
        [
            extent,
            *_bin_levels(theme),
            *_bands(theme, tops),
            *_restarts(theme, tops),
            *_bars(theme),
            *_present(theme, tops),
            _lane_names(theme),
        ],
        {},
    )


def _lane_names(theme: Theme) -> alt.Chart:
    names: alt.Chart = (
        base.data("lanes")
        .mark_text(
            align="left",
            baseline="middle",
            color=theme.ink2,
            fontSize=base.narrow(11, 12),
            yOffset=base.narrow("-datum.up", 0),
        )
        .encode(x=alt.value(2), y=_px(), text=_SAID)
    )
    return names


def _present(theme: Theme, tops: list[int]) -> list[alt.Chart]:
    """The line at which the records end, and its name above it."""
    now = base.data("now")
    return [
        now.mark_rule(color=theme.ink2, strokeDash=[2, 2]).encode(
            x=_x(), y=alt.value(18), y2=alt.value(tops[-1] + 30 + BARS_PX)
        ),
        now.mark_text(align="right", baseline="top", dx=2, color=theme.ink2).encode(
            x=_x(), y=alt.value(2), text=_SAID
        ),
    ]


def _bin_levels(theme: Theme) -> list[alt.Chart]:
    """Lines across the bars of what was lost, each with the time that it stands for."""
    levels, left = base.data("levels"), base.narrow(0, LEFT)
    return [
        levels.mark_rule(color=theme.grid).encode(
            x=alt.value(left), x2=alt.value("width"), y=_px()
        ),
        levels.mark_text(align="left", baseline="bottom", color=theme.ink2, dy=-2).encode(
            x=alt.value(left), y=_px(), text=_SAID
        ),
    ]


def _lane(name: str, top: int, height: int, **mark: Any) -> alt.Chart:
    lane: alt.Chart = (
        base.data(name)
        .mark_rect(strokeWidth=1.2, **mark)
        .encode(
            x=_x(),
            x2="to",
            y=alt.value(top),
            y2=alt.value(top + height),
            color=base.color_of(),
            stroke=base.stroke_of(),
            tooltip=base.tip("what|What", "cause|Cause", "exact|For", "when|From"),
        )
    )
    return lane


def _bands(theme: Theme, tops: list[int]) -> list[alt.Chart]:
    attempts = _lane("attempts", tops[1] - 4 - BAR_PX[0], BAR_PX[0])
    numbers = (
        base.data("attempts")
        .transform_calculate(mid="(datum.at + datum.to) / 2")
        .mark_text(
            baseline="middle",
            color=theme.background,
            fontWeight="bold",
            fontSize=base.narrow(0, 12),
        )
        .encode(
            x=_x("mid"),
            y=alt.value(tops[1] - 4 - BAR_PX[0] // 2),
            text=alt.Text("text", type="nominal"),
        )
    )
    return [
        attempts,
        numbers,
        *(
            _lane(
                "progress", tops[2] - 4 - BAR_PX[1], BAR_PX[1], fillOpacity=opacity
            ).transform_filter(f"datum.kind == '{kind}'")
            for kind, opacity in (("solid", 1), ("hollow", theme.hollow))
        ),
        _lane("stretches", tops[2] - 4 - BAR_PX[1], BAR_PX[1]),
        _lane("again", tops[3] - 4 - BAR_PX[2], BAR_PX[2], fillOpacity=theme.hollow),
        _lane("windows", tops[4] - 4 - BAR_PX[3], BAR_PX[3]).transform_filter(
            "datum.kind == 'past'"
        ),
        _lane("windows", tops[4] - 4 - BAR_PX[3], BAR_PX[3], fillOpacity=0).transform_filter(
            "datum.kind == 'planned'"
        ),
    ]


def _restarts(theme: Theme, tops: list[int]) -> list[alt.Chart]:
    restarts = base.data("restarts")
    pick = alt.selection_point(name="pick", fields=["id"], on="click", empty=False)
    hit = restarts.mark_point(
        shape="square", filled=True, size=700, opacity=0, cursor="pointer"
    ).encode(
        x=_x(),
        y=alt.value(tops[2] - 4 - BAR_PX[1] - 12),
        tooltip=base.tip("text|Restart", "when|Detected"),
    )
    return [
        restarts.mark_point(
            shape="triangle-down", filled=True, color=theme.ink, size=40, opacity=1
        ).encode(x=_x(), y=alt.value(tops[2] - 4 - BAR_PX[1] - 6)),
        restarts.mark_text(baseline="bottom", fontSize=base.narrow(0, 12)).encode(
            x=_x(), y=alt.value(tops[2] - 4 - BAR_PX[1] - 11), text=alt.Text("text", type="nominal")
        ),
        hit.add_params(pick),
    ]


def _bars(theme: Theme) -> list[alt.Chart]:
    return [
        base.data("bins")
        .transform_filter(f"datum.kind == '{kind}'")
        .mark_rect(fillOpacity=opacity, strokeWidth=0.8)
        .encode(
            x=_x(),
            x2="to",
            y=_px("y0"),
            y2=alt.Y2("y1"),
            color=base.color_of(),
            stroke=base.stroke_of(),
            tooltip=base.tip("what|What", "exact|Lost", "when|From"),
        )
        for kind, opacity in (("solid", 1), ("hollow", theme.hollow))
    ]
