"""Shares of spans that had ended by a time (Kaplan–Meier), against a limit: restarts and waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import log
from typing import Any

import altair as alt

from app import format
from app.charts import base, naming
from app.palette import THEMES, Theme
from metrics.conventions import US_PER_S
from metrics.survival import Step

HEIGHT = 290
DASHES = ([1, 0], [6, 3], [1, 3])
MOST_CUTS = 200
"""Marks of spans that had not ended: more of them would be a band."""
LOG_TICKS_S = (
    *(10, 30, 60, 120, 300, 600, 1800),
    *(3600, 7200, 14400, 28800, 86400, 259_200, 604_800),
)


@dataclass(frozen=True)
class Curve:
    """One group's curve. `limit_us` is what its share is held against, None: best effort."""

    label: str
    steps: Sequence[Step]
    censored_us: Sequence[int]
    limit_us: int | None
    within: float | None
    quantiles: Sequence[tuple[int, int]] = ()
    """(percent, µs) to mark on the curve."""


def drawing(
    curves: Sequence[Curve], theme: str, title: str, target: Fraction | None
) -> base.Drawing:
    """The curves on a log axis of time, in seconds."""
    low_s, high_s = _extent(curves)
    aims = [] if target is None else [target]
    rows: dict[str, list[dict[str, Any]]] = {
        "lines": [],
        "cuts": [],
        "limits": [],
        "names": [],
        "quantiles": [],
        "target": [{"share": float(t), "text": f"target {format.percent(t, 0)}"} for t in aims],
    }
    for place, curve in enumerate(curves):
        style = _style(place, curve, THEMES[theme])
        rows["lines"] += [style | point for point in _line(curve, low_s, high_s)]
        rows["cuts"] += [style | point for point in _cuts(curve, low_s)]
        rows["limits"] += [style | limit for limit in _limit(curve, place, len(curves) > 1)]
        rows["quantiles"] += [style | point for point in _marked(curve)]
    if len(curves) > 1:
        rows["names"] = _named(curves, aims, low_s, high_s, THEMES[theme])
    return base.Drawing(
        template(theme),
        rows,
        HEIGHT,
        _alt(curves, title),
        {"low": low_s, "high": high_s, "ticks": [s for s in LOG_TICKS_S if low_s <= s <= high_s]},
    )


def _style(place: int, curve: Curve, look: Theme) -> dict[str, Any]:
    dash = place % len(DASHES)
    return {"color": (look.ink, look.ink2, look.rule)[dash], "dash": dash, "curve": curve.label}


def _line(curve: Curve, low_s: float, high_s: float) -> list[dict[str, Any]]:
    """From nothing at the left edge up to where the share is known."""
    found = [_point(low_s, 0.0)]
    found += [_point(max(s.age_us / US_PER_S, low_s), s.share) for s in curve.steps]
    return found + [_point(_end(curve, high_s), s.share) for s in curve.steps[-1:]]


def _cuts(curve: Curve, low_s: float) -> list[dict[str, Any]]:
    return [
        _point(max(us / US_PER_S, low_s), _at(curve.steps, us))
        for us in curve.censored_us[:MOST_CUTS]
    ]


def _limit(curve: Curve, place: int, is_one_of_many: bool) -> list[dict[str, Any]]:
    """Its share at its limit; said low beside it, where no curve is but one that comes too early.

    Nothing, where it has no limit. No ring, where the share is not known yet.
    """
    if curve.limit_us is None:
        return []
    said = f"{format.percent(curve.within)} within {format.duration(curve.limit_us)}"
    texts = {
        "said": said,
        "named": f"{curve.label}: {said}" if is_one_of_many else said,
        "short": said.replace("within", "in"),
    }
    share = None if curve.within is None else _at(curve.steps, curve.limit_us)
    return [{"s": curve.limit_us / US_PER_S, "share": share, "foot": _foot(place)} | texts]


def _marked(curve: Curve) -> list[dict[str, Any]]:
    return [
        _point(us / US_PER_S, percent / 100) | {"text": f"p{percent} {format.duration(us)}"}
        for percent, us in curve.quantiles
    ]


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    ages = [s.age_us / US_PER_S for c in curves for s in c.steps]
    ages += [us / US_PER_S for c in curves for us in c.censored_us]
    ages += [c.limit_us / US_PER_S for c in curves if c.limit_us]
    low = min((age for age in ages if age > 0), default=1.0)
    return max(1.0, low * 0.8), max(60.0, max(ages, default=60.0)) * 1.15


def _end(curve: Curve, high_s: float) -> float:
    """How far the share after the last step is known: for ever, where none is left."""
    if curve.steps[-1].share >= 1 or not curve.censored_us:
        return high_s
    return max(curve.steps[-1].age_us, *curve.censored_us) / US_PER_S


def _point(at_s: float, share: float) -> dict[str, Any]:
    said = f"{format.percent(share)} by {format.duration(int(at_s * US_PER_S))}"
    return {"s": at_s, "share": share, "said": said}


def _at(steps: Sequence[Step], age_us: int) -> float:
    return max((s.share for s in steps if s.age_us <= age_us), default=0.0)


def _named(
    curves: Sequence[Curve], aims: Sequence[Fraction], low_s: float, high_s: float, look: Theme
) -> list[dict[str, Any]]:
    """Where each curve's name stands, clear of the limits with their texts and of the target."""

    def x(us: int) -> float:
        return max(0.0, log(us / US_PER_S / low_s) / log(high_s / low_s)) if us else 0.0

    limits = {place: x(c.limit_us) for place, c in enumerate(curves) if c.limit_us is not None}
    lines = [naming.Box(at, at, 0.0, 1.0) for at in limits.values()]
    lines += [naming.Box(0.0, 1.0, float(aim), float(aim)) for aim in aims]
    texts = [naming.Box(0.0, 1.0, 0.0, _foot(max(limits)) + 10 / HEIGHT)] if limits else []
    drawn = [naming.Curve(c.label, [(x(s.age_us), s.share) for s in c.steps]) for c in curves]
    found = zip(curves, naming.places(drawn, texts, lines, HEIGHT), strict=True)
    return [
        _style(number, curve, look)
        | {"s": low_s * (high_s / low_s) ** place.x, "share": place.share, "side": place.side}
        for number, (curve, place) in enumerate(found)
        if place is not None
    ]


def _foot(place: int) -> float:
    """How high the text of a curve's limit stands."""
    return (12 + 18 * place) / HEIGHT


def _alt(curves: Sequence[Curve], title: str) -> str:
    parts = []
    for curve in curves:
        limit = (
            f"{format.percent(curve.within)} within {format.duration(curve.limit_us)}"
            if curve.limit_us is not None
            else "best effort"
        )
        parts.append(f"{curve.label}: {limit}, {len(curve.censored_us)} not ended")
    return f"{title}. " + "; ".join(parts) + "."


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    return base.build(theme, _layers(theme), {"low": 1, "high": 604800, "ticks": []})


def _x() -> alt.X:
    return base.log_x("s", LOG_TICKS_S, title=None)


def _y(field: str = "share") -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=base.percents(values=[0, 0.25, 0.5, 0.75, 1]),
        scale=alt.Scale(domain=[0, 1]),
    )


def _layers(theme: Theme) -> list[alt.Chart]:
    return [
        *_target(theme),
        _edges(),
        *_lines(),
        _rings(theme),
        *_quantiles(theme),
        *_names(theme),
        *_said(theme),
    ]


def _target(theme: Theme) -> list[alt.Chart]:
    target, y = base.data("target"), _y()
    return [
        target.mark_rule(color=theme.ink2, strokeDash=[1, 3]).encode(y=y),
        target.mark_text(align="left", dx=4, dy=-7, color=theme.ink2).encode(
            x=alt.value(0), y=y, text=alt.Text("text", type="nominal")
        ),
    ]


def _lines() -> list[alt.Chart]:
    """A line a curve, with a mark for each span that had not ended."""
    x, y = _x(), _y()
    lines = [
        base.data("lines")
        .transform_filter(f"datum.dash == {place}")
        .mark_line(interpolate="step-after", strokeWidth=2, strokeDash=dash)
        .encode(
            x=x,
            y=y,
            color=base.color_of(),
            detail=alt.Detail("curve", type="nominal"),
            tooltip=base.tip("curve|Of", "said|Ended"),
        )
        for place, dash in enumerate(DASHES)
    ]
    cuts = (
        base.data("cuts")
        .mark_tick(orient="vertical", thickness=1.2, size=10)
        .encode(x=x, y=y, color=base.color_of(), tooltip=base.tip("curve|Not ended, of"))
    )
    return [*lines, cuts]


def _edges() -> alt.Chart:
    edges: alt.Chart = (
        base.data("limits").mark_rule(strokeDash=[4, 3]).encode(x=_x(), color=base.color_of())
    )
    return edges


def _rings(theme: Theme) -> alt.Chart:
    """Where each curve meets its limit."""
    rings: alt.Chart = (
        base.data("limits")
        .mark_point(filled=True, fill=theme.background, size=70, strokeWidth=2, opacity=1)
        .encode(x=_x(), y=_y(), stroke=base.stroke_of())
    )
    return rings


def _said(theme: Theme) -> list[alt.Chart]:
    is_late = "log(datum.s / low) > 0.65 * log(high / low)"
    return [
        base.data("limits")
        .mark_text(
            align=alt.ExprRef(f"{is_late} ? 'right' : 'left'"),
            dx=alt.ExprRef(f"{is_late} ? -8 : 8"),
            text=base.narrow("datum.short", "datum.named"),
            fontWeight="bold",
            **halo,
        )
        .encode(x=_x(), y=_y("foot"), **({} if halo else {"color": base.color_of()}))
        for halo in base.halos(theme)
    ]


def _names(theme: Theme) -> list[alt.Chart]:
    is_left, gap_px = "datum.side == 'left'", naming.GAP_PX
    return [
        base.data("names")
        .mark_text(
            align=alt.ExprRef(f"{is_left} ? 'right' : 'left'"),
            baseline=alt.ExprRef(f"{is_left} ? 'bottom' : 'top'"),
            dx=alt.ExprRef(f"{is_left} ? -{gap_px} : {gap_px}"),
            dy=alt.ExprRef(f"{is_left} ? -{gap_px} : {gap_px}"),
            fontWeight="bold",
            **halo,
        )
        .encode(
            x=_x(),
            y=_y(),
            text=alt.Text("curve", type="nominal"),
            **({} if halo else {"color": base.color_of()}),
        )
        for halo in base.halos(theme)
    ]


def _quantiles(theme: Theme) -> list[alt.Chart]:
    """Dots on the curve, named to its right, where a curve that rises leaves room."""
    found = base.data("quantiles")
    x, y = _x(), _y()
    dots = found.mark_point(filled=True, size=50, opacity=1).encode(
        x=x, y=y, color=base.color_of(), tooltip=base.tip("text|Quantile", "curve|Of")
    )
    named = [
        found.mark_text(
            align="left", dx=7, dy=9, fontSize=base.narrow(0, 12), color=theme.ink, **halo
        ).encode(x=x, y=y, text=alt.Text("text", type="nominal"))
        for halo in base.halos(theme)
    ]
    return [dots, *named]
