"""Restarts in phases: many stacked in a row each, or one with a row a phase. 0 is the detection."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import PHASE_LABELS, PHASES, THEMES, Theme
from metrics.conventions import MINUTE_US

LEFT, RIGHT = 208, 116


@dataclass(frozen=True)
class Restart:
    """One restart, parts in µs (None: not known). `outcome` is recovered, open or abandoned."""

    label: str
    parts: Mapping[str, int | None]
    age_us: int
    outcome: str
    again_us: int = 0


def stacked(restarts: Sequence[Restart], theme: str, limit_us: int, title: str) -> base.Drawing:
    """A row each, the phases side by side; what lies before the detection to the left."""
    after_us = max([limit_us * 3 // 2, *(min(r.age_us, 6 * limit_us) for r in restarts)])
    before_us = min(max([1, *(r.parts.get("detect") or 0 for r in restarts)]), after_us // 3)
    bars, labels = [], []
    for row, r in enumerate(restarts, 1):
        labels.append(_label(row, r.label, _ending(r), r.age_us >= limit_us))
        bars += _stack(row, r, theme, before_us, after_us)
    return _drawn(bars, labels, theme, limit_us, before_us, after_us, title, legend=True)


def zoomed(restart: Restart, theme: str, limit_us: int, title: str) -> base.Drawing:
    """A row a phase, each where it lay."""
    after_us = max(limit_us * 3 // 2, restart.age_us)
    before_us = min(max(1, restart.parts.get("detect") or 0), after_us // 2)
    bars, labels, notes, at_us = [], [], [], 0
    rows = [("rework", restart.again_us), *((p, restart.parts.get(p)) for p in PHASES)]
    color = THEMES[theme].category("restart")
    for row, (phase, us) in enumerate(rows, 1):
        said = format.duration(us) if us is not None else format.UNKNOWN
        labels.append(_label(row, PHASE_LABELS[phase], said, False))
        if not us:
            continue
        if phase == "rework":
            # It was lost before, over a time of its own: hours beside minutes would hide those.
            notes.append({"row": row, "x": 0.0, "text": "‹ steps lost before it, not to scale"})
        elif phase == "detect":
            bars.append(_bar(row, -min(us, before_us), 0, phase, us, color))
        else:
            bars.append(_bar(row, at_us, at_us + us, phase, us, color))
            at_us += us
    made = _drawn(bars, labels, theme, limit_us, before_us, after_us, title, legend=False)
    return replace(made, datasets=dict(made.datasets) | {"notes": notes})


def _stack(row: int, r: Restart, theme: str, before_us: int, after_us: int) -> list[dict[str, Any]]:
    found, at_us = [], 0
    colors = THEMES[theme].phases
    detect_us = r.parts.get("detect") or 0
    if detect_us:
        found.append(
            _bar(row, -min(detect_us, before_us), 0, "detect", detect_us, colors["detect"])
        )
    for phase in PHASES[1:]:
        us = r.parts.get(phase) or 0
        if us and at_us < after_us:
            to_us = min(at_us + us, after_us)
            found.append(_bar(row, at_us, to_us, phase, us, colors[phase]))
        at_us += us
    return found


def _bar(row: int, from_us: int, to_us: int, phase: str, us: int, color: str) -> dict[str, Any]:
    return {
        "row": row,
        "end": row + 1,
        "x0": from_us / MINUTE_US,
        "x1": to_us / MINUTE_US,
        "color": color,
        "phase": PHASE_LABELS[phase],
        "exact": format.duration(us),
    }


def _ending(r: Restart) -> str:
    said = format.duration(r.age_us)
    return said + {"open": " so far ›", "abandoned": ", job ended"}.get(r.outcome, "")


def _label(row: int, label: str, value: str, over: bool) -> dict[str, Any]:
    return {"row": row, "label": label, "value": value, "bold": int(over)}


def _drawn(
    bars: list[dict[str, Any]],
    labels: list[dict[str, Any]],
    theme: str,
    limit_us: int,
    before_us: int,
    after_us: int,
    title: str,
    legend: bool,
) -> base.Drawing:
    look = THEMES[theme]
    rows = len(labels) + 1
    keys = [
        {"n": place, "color": look.phases[phase], "text": PHASE_LABELS[phase]}
        for place, phase in enumerate(PHASES)
    ]
    limit = limit_us / MINUTE_US
    over = sum(label["bold"] for label in labels)
    said = f"; {over} over the limit" if legend else ""
    return base.Drawing(
        template(theme),
        {
            "bars": bars,
            "labels": labels,
            "edges": [
                {"x": 0.0, "text": "detected", "dash": 0},
                {"x": limit, "text": f"limit {format.duration(limit_us)}", "dash": 1},
            ],
            "keys": keys if legend else [],
            "notes": [],
        },
        rows * base.ROW,
        f"{title}: {format.plural(len(labels), 'row')}{said}.",
        {
            "rows": rows,
            "low": -before_us / MINUTE_US,
            "high": after_us / MINUTE_US,
        },
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    value_x = alt.ExprRef("width")
    return base.build(
        theme,
        [
            _bars(theme),
            *_edges(theme),
            *_notes(theme),
            *base.row_text("labels", "label", 2, "left", theme, on_lines=True, room=LEFT - 8),
            *base.row_text("labels", "value", value_x, "right", theme),
        ],
        {"rows": 1, "low": -1, "high": 10},
    )


def _bars(theme: Theme) -> alt.Chart:
    x = alt.X(
        "x0",
        type="quantitative",
        title="minutes from detection",
        axis=alt.Axis(tickCount=base.narrow(4, 8), grid=True, domain=False, format=",d"),
        scale=alt.Scale(
            domain=[alt.ExprRef("low"), alt.ExprRef("high")],
            range=[base.narrow(0, LEFT), base.narrow("width", f"width - {RIGHT}")],
            nice=False,
            zero=False,
        ),
    )
    found: alt.Chart = (
        base.data("bars")
        .mark_rect(stroke=theme.background, strokeWidth=0.7, **base.bar_offsets(16))
        .encode(
            x=x,
            x2="x1",
            y=base.row_y(),
            y2="end",
            color=base.color_of(),
            tooltip=base.tip("phase|Phase", "exact|For"),
        )
    )
    return found


_AT = alt.X("x", type="quantitative")
_SAID = alt.Text("text", type="nominal")


def _edges(theme: Theme) -> list[alt.Chart]:
    """Lines at the detection and at the limit, each with its name above it."""
    edges = base.data("edges")
    rules = [
        edges.transform_filter(f"datum.dash == {dash}")
        .mark_rule(color=theme.ink, strokeDash=dashes)
        .encode(x=_AT, y=alt.value(22), y2=alt.value("height"))
        for dash, dashes in ((0, [1, 0]), (1, [4, 3]))
    ]
    sides: tuple[tuple[int, base.Align, int], ...] = ((0, "right", -4), (1, "left", 4))
    names = [
        edges.transform_filter(f"datum.dash == {dash}")
        .mark_text(
            baseline="top",
            align=align,
            dx=dx,
            color=theme.ink2,
            fontSize=12 if dash else base.narrow(0, 12),
        )
        .encode(x=_AT, y=alt.value(4), text=_SAID)
        for dash, align, dx in sides
    ]
    return [*rules, *names]


def _notes(theme: Theme) -> list[alt.Chart]:
    return [
        base.data("notes")
        .mark_text(align="left", dx=6, yOffset=base.narrow(25, base.ROW // 2), **halo)
        .encode(x=_AT, y=base.row_y(), text=_SAID)
        for halo in base.halos(theme)
    ]
