"""Shares of spans that had ended by a time (Kaplan–Meier), against a limit: restarts and waits."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES, Theme
from metrics.conventions import US_PER_S
from metrics.survival import Step

HEIGHT = 290
DASHES = ([1, 0], [6, 3], [1, 3])
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
    look = THEMES[theme]
    styles = list(zip((look.ink, look.ink2, look.rule), range(3), strict=True))
    lines, cuts, limits, names, quantiles = [], [], [], [], []
    low_s, high_s = _extent(curves)
    for place, curve in enumerate(curves):
        color, dash = styles[place % 3]
        style = {"color": color, "dash": dash, "curve": curve.label}
        lines.append(style | _point(low_s, 0.0))
        lines += [style | _point(max(s.age_us / US_PER_S, low_s), s.share) for s in curve.steps]
        lines += [style | _point(_end(curve, high_s), s.share) for s in curve.steps[-1:]]
        cuts += [
            style | _point(max(us / US_PER_S, low_s), _at(curve.steps, us))
            for us in curve.censored_us[:200]
        ]
        if curve.limit_us is not None:
            at_s, share = curve.limit_us / US_PER_S, _at(curve.steps, curve.limit_us)
            known = curve.within if curve.within is not None else share
            said = f"{format.percent(known)} within {format.duration(curve.limit_us)}"
            # It stands low beside its limit, where no curve is but one that comes too early.
            limits.append(
                style
                | _point(at_s, share)
                | {"said": said, "foot": (12 + 18 * place) / HEIGHT}
                | {"named": f"{curve.label}: {said}" if len(curves) > 1 else said}
                | {"short": said.replace("within", "in")}
            )
        quantiles += [
            style
            | _point(us / US_PER_S, percent / 100)
            | {"text": f"p{percent} {format.duration(us)}"}
            for percent, us in curve.quantiles
        ]
        if len(curves) > 1 and curve.steps:
            at, share = _middle(curve.steps, 0.55 - 0.2 * place)
            names.append(style | _point(max(at / US_PER_S, low_s), share))
    return base.Drawing(
        template(theme),
        {
            "lines": lines,
            "cuts": cuts,
            "limits": limits,
            "names": names,
            "quantiles": quantiles,
            "target": []
            if target is None
            else [{"share": float(target), "text": f"target {format.percent(target, 0)}"}],
        },
        HEIGHT,
        _alt(curves, title),
        {"low": low_s, "high": high_s, "ticks": [s for s in LOG_TICKS_S if low_s <= s <= high_s]},
    )


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


def _point(at_s: float, share: float) -> dict[str, object]:
    said = f"{format.percent(share)} by {format.duration(int(at_s * US_PER_S))}"
    return {"s": at_s, "share": share, "said": said}


def _at(steps: Sequence[Step], age_us: int) -> float:
    return max((s.share for s in steps if s.age_us <= age_us), default=0.0)


def _middle(steps: Sequence[Step], share: float) -> tuple[int, float]:
    found = next((s for s in steps if s.share >= share), steps[-1])
    return found.age_us, found.share


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
    parts = " : ".join(
        f"datum.value == {s} ? '{format.duration(s * US_PER_S)}'" for s in LOG_TICKS_S
    )
    return alt.X(
        "s",
        type="quantitative",
        title=None,
        scale=alt.Scale(
            type="log", domain=[alt.ExprRef("low"), alt.ExprRef("high")], nice=False, clamp=True
        ),
        axis=alt.Axis(values=alt.ExprRef("ticks"), labelExpr=f"{parts} : ''", labelOverlap=True),
    )


def _y(field: str = "share") -> alt.Y:
    return alt.Y(
        field,
        type="quantitative",
        title=None,
        axis=base.percents(values=[0, 0.25, 0.5, 0.75, 1]),
        scale=alt.Scale(domain=[0, 1]),
    )


def _layers(theme: Theme) -> list[alt.Chart]:
    x, y = _x(), _y()
    target = base.data("target")
    rule = target.mark_rule(color=theme.ink2, strokeDash=[1, 3]).encode(y=y)
    rule_text = target.mark_text(align="left", dx=4, dy=-7, color=theme.ink2).encode(
        x=alt.value(0), y=y, text=alt.Text("text", type="nominal")
    )
    lines = [
        base.data("lines")
        .transform_filter(f"datum.dash == {dash}")
        .mark_line(interpolate="step-after", strokeWidth=2, strokeDash=DASHES[dash])
        .encode(
            x=x,
            y=y,
            color=base.color_of(),
            detail=alt.Detail("curve", type="nominal"),
            tooltip=base.tip("curve|Of", "said|Ended"),
        )
        for dash in range(3)
    ]
    cuts = (
        base.data("cuts")
        .mark_tick(orient="vertical", thickness=1.2, size=10)
        .encode(x=x, y=y, color=base.color_of(), tooltip=base.tip("curve|Not ended, of"))
    )
    limits = base.data("limits")
    edges = limits.mark_rule(strokeDash=[4, 3]).encode(x=x, color=base.color_of())
    rings = limits.mark_point(
        filled=True, fill=theme.background, size=70, strokeWidth=2, opacity=1
    ).encode(x=x, y=y, stroke=base.stroke_of())
    is_late = "log(datum.s / low) > 0.65 * log(high / low)"
    said = [
        limits.mark_text(
            align=alt.ExprRef(f"{is_late} ? 'right' : 'left'"),
            dx=alt.ExprRef(f"{is_late} ? -8 : 8"),
            text=base.narrow("datum.short", "datum.named"),
            fontWeight="bold",
            **halo,
        ).encode(x=x, y=_y("foot"), **({} if halo else {"color": base.color_of()}))
        for halo in base.halos(theme)
    ]
    names = [
        base.data("names")
        .mark_text(align="right", dx=-8, fontWeight="bold", **halo)
        .encode(
            x=x,
            y=y,
            text=alt.Text("curve", type="nominal"),
            **({} if halo else {"color": base.color_of()}),
        )
        for halo in base.halos(theme)
    ]
    return [rule, rule_text, edges, *lines, cuts, rings, *_quantiles(theme), *names, *said]


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
