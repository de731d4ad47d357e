"""Installed GPUs over time, as areas that sum to what is installed."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import altair as alt

from app import format
from app.charts import base
from app.palette import GROUP_LABELS, THEMES, Theme
from metrics.capacity import GROUPS

HEIGHT = 340
LABELS = 190
"""Room for the labels to the right, in pixels."""
KEYS_BELOW = 680
"""Windows narrower than this, in pixels, have no room for labels beside the chart."""
LABEL_GAP = 19
"""The least distance between two labels, in pixels."""
RESERVE_FILL, IDLE_FILL = 0.28, 0.35
TALL = Fraction(6, 100)
"""Areas of this share of the height are labelled inside, where there is no room beside."""


@dataclass(frozen=True)
class Bin:
    """A stretch of whole hours in µs, with the GPU-µs of each group in it."""

    start_us: int
    end_us: int
    by_group: dict[str, int]

    @property
    def installed(self) -> Fraction:
        """The GPUs installed, on average."""
        return self.gpus(sum(self.by_group.values()))

    def gpus(self, gpu_us: int) -> Fraction:
        """GPU-µs as GPUs on average."""
        return Fraction(gpu_us, self.end_us - self.start_us)


def paint(group: str, theme: Theme) -> tuple[str, float, bool]:
    """(colour, opacity of its fill, whether it has an outline of its own) of a group."""
    return {
        "useful": (theme.category("useful"), 1.0, False),
        "lost": (theme.ink2, 1.0, False),
        "no_record": (theme.category("uninstrumented"), theme.hollow, True),
        "reserves": (theme.category("useful"), RESERVE_FILL, False),
        "upkeep": (theme.category("maintenance"), 1.0, False),
        "down": (theme.ink, 1.0, False),
        "stranded": (theme.forecast, 1.0, False),
        "idle": (theme.rule, IDLE_FILL, False),
        "unknown": (theme.unknown, 0.0, True),
    }[group]


def drawing(bins: Sequence[Bin], theme: str, title: str) -> base.Drawing:
    """Step areas from the bottom in the order of the groups, and the installed line on top."""
    look = THEMES[theme]
    present = [group for group in GROUPS if any(b.by_group.get(group) for b in bins)]
    top = max((b.installed for b in bins), default=Fraction(1)) * Fraction(112, 100)
    areas, cells = [], []
    for b in bins:
        under = Fraction(0)
        for group in present:
            gpus = b.gpus(b.by_group.get(group, 0))
            areas.append(_edge(b.start_us, group, under, gpus, look))
            cells.append(_cell(b, group, under, gpus))
            under += gpus
    areas += [a | {"at": base.ms(b.end_us)} for b in bins[-1:] for a in areas[-len(present) :]]
    line = [{"at": base.ms(b.start_us), "gpus": float(b.installed)} for b in bins]
    line += [{"at": base.ms(b.end_us), "gpus": float(b.installed)} for b in bins[-1:]]
    sums = {group: sum(b.by_group.get(group, 0) for b in bins) for group in present}
    return base.Drawing(
        template(theme),
        {
            "areas": areas,
            "cells": cells,
            "line": line,
            "installed": _installed(bins),
            "labels": _labels(sums, look, top),
            "inside": _inside(bins, present, look, top),
        },
        HEIGHT,
        _said(title, bins, sums),
        {"top": float(top)},
    )


def _edge(at_us: int, group: str, under: Fraction, gpus: Fraction, look: Theme) -> dict[str, Any]:
    color, fill, has_outline = paint(group, look)
    return {
        "at": base.ms(at_us),
        "y0": float(under),
        "y1": float(under + gpus),
        "group": group,
        "color": color,
        "fill": fill,
        "stroke": color if has_outline else look.background,
        "width": 1.2 if has_outline else 0.4,
    }


def _cell(b: Bin, group: str, under: Fraction, gpus: Fraction) -> dict[str, Any]:
    share = format.percent(gpus / b.installed) if b.installed else format.UNKNOWN
    return {
        "at": base.ms(b.start_us),
        "to": base.ms(b.end_us),
        "y0": float(under),
        "y1": float(under + gpus),
        "what": GROUP_LABELS[group],
        "when": f"{format.moment(b.start_us)}, {format.duration(b.end_us - b.start_us)}",
        "said": f"{float(gpus):,.1f} GPUs on average, {share}"
        f" ({format.gpu_hours(b.by_group.get(group, 0))})",
    }


def _installed(bins: Sequence[Bin]) -> list[dict[str, Any]]:
    if not bins:
        return []
    first, last = round(bins[0].installed), round(bins[-1].installed)
    change = f"{first:,}" if first == last else f"{first:,} → {last:,}"
    return [
        {
            "at": base.ms(bins[0].start_us),
            "gpus": float(max(b.installed for b in bins)),
            "text": f"installed {change} GPUs",
        }
    ]


def _labels(sums: dict[str, int], look: Theme, top: Fraction) -> list[dict[str, Any]]:
    """Labels beside the middle of each area, pushed apart from the bottom up where they collide."""
    whole = sum(sums.values())
    placed: list[dict[str, Any]] = []
    under, lowest = 0, Fraction(LABEL_GAP, 2)
    for group, gpu_us in sums.items():
        middle = Fraction(2 * under + gpu_us, 2 * whole) * HEIGHT * Fraction(100, 112)
        at = max(middle, lowest)
        under, lowest = under + gpu_us, at + LABEL_GAP
        placed.append({"group": group, "pixels": at, "share": Fraction(gpu_us, whole)})
    ceiling = Fraction(HEIGHT) - Fraction(LABEL_GAP, 2)
    for label in reversed(placed):
        label["pixels"] = min(label["pixels"], ceiling)
        ceiling = label["pixels"] - LABEL_GAP
    return [
        {
            "y": float(label["pixels"] / HEIGHT * top),
            "text": GROUP_LABELS[label["group"]],
            "share": format.percent(label["share"]),
            "color": paint(label["group"], look)[0],
            "fill": paint(label["group"], look)[1],
        }
        for label in placed
    ]


def _inside(
    bins: Sequence[Bin], present: Sequence[str], look: Theme, top: Fraction
) -> list[dict[str, Any]]:
    """Labels for a phone, at the left end of each area that is tall enough for its text there."""
    found = []
    under = Fraction(0)
    for group in present if bins else ():
        gpus = bins[0].gpus(bins[0].by_group.get(group, 0))
        if gpus >= TALL * top:
            is_dark = paint(group, look)[1] == 1.0
            found.append(
                {
                    "at": base.ms(bins[0].start_us),
                    "y": float(under + gpus / 2),
                    "text": GROUP_LABELS[group],
                    "color": look.on_bar if is_dark else look.ink,
                }
            )
        under += gpus
    return found


def _said(title: str, bins: Sequence[Bin], sums: dict[str, int]) -> str:
    if not bins:
        return f"{title}: nothing on record."
    whole = sum(sums.values())
    shares = ", ".join(
        f"{GROUP_LABELS[group].lower()} {format.percent(Fraction(gpu_us, whole))}"
        for group, gpu_us in sums.items()
    )
    return (
        f"{title}, {format.day(bins[0].start_us)}–{format.day(bins[-1].end_us - 1)}:"
        f" {_installed(bins)[0]['text']}; {shares}."
    )


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    x = base.utc_x(range=[0, base.narrow("width", f"width - {LABELS}")])
    line, installed = _installed_line(x, theme)
    return base.build(
        theme, [_areas(x), line, *_beside(theme), _within(x), installed, _cells(x)], {"top": 1}
    )


def _areas(x: alt.X) -> alt.Chart:
    """The groups, one on another."""
    found: alt.Chart = (
        base.data("areas")
        .mark_area(interpolate="step-after", clip=True)
        .encode(
            x=x,
            y=_y("y0"),
            y2="y1",
            detail="group:N",
            color=base.color_of(),
            fillOpacity=alt.FillOpacity("fill", type="quantitative", scale=None),
            stroke=alt.Stroke("stroke", type="nominal", scale=None),
            strokeWidth=alt.StrokeWidth("width", type="quantitative", scale=None),
        )
    )
    return found


def _cells(x: alt.X) -> alt.Chart:
    """What a pointer is told of each group and bin."""
    tips = base.tip("what|What", "said|GPUs", "when|From")
    found: alt.Chart = (
        base.data("cells")
        .mark_rect(opacity=0)
        .encode(x=x, x2="to", y=_y("y0"), y2="y1", tooltip=tips)
    )
    return found


def _installed_line(x: alt.X, theme: Theme) -> tuple[alt.Chart, alt.Chart]:
    """The line above all groups, and its name."""
    line = (
        base.data("line")
        .mark_line(interpolate="step-after", color=theme.ink, strokeWidth=2)
        .encode(x=x, y=_y("gpus"))
    )
    name = (
        base.data("installed")
        .mark_text(align="left", dy=-10, dx=2, fontWeight="bold", color=theme.ink)
        .encode(x=x, y=_y("gpus"), text=alt.Text("text", type="nominal"))
    )
    return line, name


def _y(field: str) -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=alt.Axis(tickCount=5, format=",d", domain=False, ticks=False),
        scale=alt.Scale(domain=[0, alt.ExprRef("top")], nice=False, zero=False),
    )


def _beside(theme: Theme) -> list[alt.Chart]:
    """The labels to the right: a square, the group, its share."""
    labels = base.data("labels")
    square = labels.mark_square(
        size=base.narrow(0, 90), strokeWidth=base.narrow(0, 1.2), opacity=1
    ).encode(
        x=alt.value(alt.ExprRef(f"width - {LABELS - 14}")),
        y=_y("y"),
        fill=alt.Fill("color", type="nominal", scale=None),
        stroke=alt.Stroke("color", type="nominal", scale=None),
        fillOpacity=alt.FillOpacity("fill", type="quantitative", scale=None),
    )
    columns: tuple[tuple[str, base.Align, str], ...] = (
        ("text", "left", f"width - {LABELS - 24}"),
        ("share", "right", "width"),
    )
    texts = [
        labels.mark_text(
            align=align, baseline="middle", color=theme.ink, fontSize=base.narrow(0, 12)
        ).encode(x=alt.value(alt.ExprRef(at)), y=_y("y"), text=alt.Text(field, type="nominal"))
        for field, align, at in columns
    ]
    return [square, *texts]


def _within(x: alt.X) -> alt.Chart:
    """The labels inside the areas, on a phone."""
    found: alt.Chart = (
        base.data("inside")
        .mark_text(
            align="left", baseline="middle", dx=6, fontWeight="bold", fontSize=base.narrow(12, 0)
        )
        .encode(x=x, y=_y("y"), text=alt.Text("text", type="nominal"), color=base.color_of())
    )
    return found
