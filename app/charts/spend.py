"""What spent an amount: bars by size, their numbers beside them; a click chooses one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES, Theme

LEFT, RIGHT = 168, 160
MOST = 8
"""Bars shown; what is smaller is summed up in a last row without a bar."""


@dataclass(frozen=True)
class Spender:
    """One bar: `again` of the amount is work that was done again, `before` the window before's."""

    id: str
    label: str
    amount: int
    color: str
    again: int = 0
    before: int | None = None


@dataclass(frozen=True)
class Spent:
    """All bars, in a unit of budgets (gpu_us, us, count), of a whole that shares are of."""

    spenders: Sequence[Spender]
    unit: str
    whole: int
    whole_name: str
    chosen: str | None = None


def drawing(spent: Spent, theme: str, title: str) -> base.Drawing:
    """The bars, the largest first."""
    shown = list(spent.spenders[:MOST])
    top = max([1, *(max(s.amount, s.before or 0) for s in shown)])
    bars = [bar for row, s in enumerate(shown, 1) for bar in _bars(row, s, spent, top)]
    labels = _labels(shown, spent.spenders[MOST:], spent)
    ticks = [
        {"row": row, "x": s.before / top} for row, s in enumerate(shown, 1) if s.before is not None
    ]
    bands = [
        {"row": row, "end": row + 1, "id": s.id, "on": int(s.id == spent.chosen)}
        for row, s in enumerate(shown, 1)
    ]
    most = "; ".join(
        f"{s.label} {format.amount(s.amount, spent.unit)}, {_share(s.amount, spent)}"
        for s in shown[:3]
    )
    return base.Drawing(
        template(theme),
        {"bars": bars, "labels": labels, "ticks": ticks, "bands": bands},
        len(labels) * base.ROW,
        f"{title}: {most or 'nothing'}.",
        {"rows": len(labels)},
    )


def _labels(
    shown: Sequence[Spender], rest: Sequence[Spender], spent: Spent
) -> list[dict[str, object]]:
    """The heads of the columns, a row a bar, and one for all that have none."""
    heads = {"label": "", "value": _heading(spent.unit), "share": spent.whole_name}
    found = [{"row": 0, "id": "", "bold": 0} | heads]
    for row, s in enumerate(shown, 1):
        label = _label(row, s.label, s.id, s.amount, spent)
        found.append(label | {"bold": int(s.id == spent.chosen)})
    if rest:
        amount = sum(s.amount for s in rest)
        found.append(_label(len(shown) + 1, f"others ({len(rest)})", "", amount, spent))
    return found


def _heading(unit: str) -> str:
    return {"gpu_us": "GPU-h", "us": "hours"}.get(unit, "count")


def _value(amount: int, spent: Spent) -> str:
    said = format.amount(amount, spent.unit)
    said = said.removesuffix(f"{format.NBSP}GPU-h").removesuffix(f"{format.NBSP}h")
    return "< 0.1" if amount > 0 and said == "0.0" else said


def _share(amount: int, spent: Spent) -> str:
    return format.percent(amount / spent.whole) if spent.whole else format.UNKNOWN


def _label(row: int, label: str, id_: str, amount: int, spent: Spent) -> dict[str, object]:
    numbers = {"value": _value(amount, spent), "share": _share(amount, spent)}
    return {"row": row, "label": label, "id": id_, "bold": 0} | numbers


def _bars(row: int, s: Spender, spent: Spent, top: int) -> list[dict[str, object]]:
    solid = s.amount - s.again
    said = {"what": s.label, "exact": format.amount(s.amount, spent.unit), "id": s.id}
    said["share"] = f"{_share(s.amount, spent)} {spent.whole_name}"
    parts = [("solid", 0, solid), ("hollow", solid, s.amount)]
    return [
        said
        | {"row": row, "end": row + 1, "x0": x0 / top, "x1": x1 / top, "kind": kind}
        | {"color": s.color, "part": format.amount(x1 - x0, spent.unit)}
        for kind, x0, x1 in parts
        if x1 > x0
    ]


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    tips = base.tip("what|What", "exact|In all", "part|This part", "share|Share")
    return base.build(
        theme,
        [
            _bands(theme),
            base.hits("bands"),
            *base.share_bars(LEFT, RIGHT, theme, tips, cursor="pointer"),
            _ticks(theme),
            *base.row_text("labels", "label", 2, "left", theme, room=LEFT - 8),
            *base.row_text("labels", "value", alt.ExprRef("width - 78"), "right", theme),
            *base.row_text(
                "labels", "share", alt.ExprRef("width"), "right", theme, color=theme.ink2
            ),
        ],
        {"rows": 1},
    )


def _bands(theme: Theme) -> alt.Chart:
    """A tint under the row that is chosen."""
    found: alt.Chart = (
        base.data("bands")
        .mark_rect(color=theme.surface, cursor="pointer")
        .encode(
            x=alt.value(0),
            x2=alt.value("width"),
            y=base.row_y(),
            y2="end",
            opacity=alt.Opacity("on", type="quantitative", scale=None, legend=None),
        )
    )
    return found


def _ticks(theme: Theme) -> alt.Chart:
    """Where each bar ended in the window before."""
    found: alt.Chart = (
        base.data("ticks")
        .mark_tick(
            orient="vertical",
            color=theme.ink,
            thickness=2,
            size=base.narrow(15, 22),
            yOffset=base.narrow(24, 16),
        )
        .encode(x=base.share_x("x", LEFT, RIGHT), y=base.row_y())
    )
    return found
