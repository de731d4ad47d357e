"""From wall-clock to useful time: the strip of the wall, and the lost part magnified below it.

Each category's bar begins where the one before ended, so that they visibly sum to the gap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import altair as alt

from app import format
from app.charts import base
from app.palette import BY_ID, THEMES, Theme

LEFT, RIGHT = 132, 124


@dataclass(frozen=True)
class Loss:
    """What one category lost for one party, in µs; `again_us` of it is work that was done again."""

    category: str
    charge: str
    us: int
    again_us: int


@dataclass(frozen=True)
class Wall:
    """A wall-clock in µs with what it went to, and the share of it that may be lost."""

    wall_us: int
    useful_us: int
    losses: Sequence[Loss]
    allowed: Fraction

    @property
    def gap_us(self) -> int:
        """All that is not useful."""
        return self.wall_us - self.useful_us

    def share_of(self, charge: str) -> int:
        """What is charged to a party, in µs."""
        return sum(loss.us for loss in self.losses if loss.charge == charge)


PARTIES = (("platform", "Platform’s share"), ("job", "Job’s share"), ("nobody", "Nobody’s share"))


def drawing(wall: Wall, theme: str, title: str) -> base.Drawing:
    """The chart of a wall-clock in which something was lost."""
    rows = _Rows(wall, THEMES[theme])
    return base.Drawing(
        template(theme),
        {
            "bars": rows.bars,
            "labels": rows.labels,
            "bands": rows.bands,
            "hits": rows.hits,
            "links": rows.links,
            "notes": rows.notes,
            "marks": rows.marks,
        },
        rows.count * base.ROW,
        _alt(wall, title),
        {"rows": rows.count},
    )


def _alt(wall: Wall, title: str) -> str:
    parts = ", ".join(
        f"{BY_ID[loss.category].label} {format.duration(loss.us)}" for loss in wall.losses
    )
    return (
        f"Where the wall-clock of {title} went: {format.duration(wall.useful_us)} useful of"
        f" {format.duration(wall.wall_us)}; lost {format.duration(wall.gap_us)}: {parts}."
    )


class _Rows:
    def __init__(self, wall: Wall, theme: Theme) -> None:
        self.wall, self.theme = wall, theme
        self.unit_us, self.unit = format.unit_for(wall.gap_us)
        self.tenths = format.tenths([loss.us for loss in wall.losses], self.unit_us)
        self.bars: list[dict[str, object]] = []
        self.labels: list[dict[str, object]] = []
        self.bands: list[dict[str, object]] = []
        self.hits: list[dict[str, object]] = []
        self.links: list[dict[str, object]] = []
        self.notes: list[dict[str, object]] = []
        self.marks: list[dict[str, object]] = []
        self.count = 0
        self._strip()
        self._losses()

    def _x(self, us: int) -> float:
        return us / self.wall.gap_us

    def _said(self, us: int) -> str:
        return f"{format.decimal(round(Fraction(us * 10, self.unit_us)))} {self.unit}"

    def _label(self, text: str, value: str, us: int, bold: bool) -> None:
        share = format.percent(Fraction(us, self.wall.wall_us))
        self.labels.append(
            {"row": self.count, "label": text, "value": value, "share": share, "bold": int(bold)}
        )

    def _bar(self, x0: float, x1: float, color: str, kind: str, text: str, us: int) -> None:
        self.bars.append(
            {
                "row": self.count,
                "end": self.count + 1,
                "x0": x0,
                "x1": x1,
                "color": color,
                "kind": kind,
                "what": text,
                "exact": f"{format.duration(us)} ({us:,} µs)",
                "share": format.percent(Fraction(us, self.wall.wall_us)) + " of the wall-clock",
            }
        )

    def _strip(self) -> None:
        wall, theme = self.wall, self.theme
        useful = wall.useful_us / wall.wall_us
        self._bar(0, useful, theme.category("useful"), "solid", "Useful steps", wall.useful_us)
        self._bar(useful, 1, theme.ink2, "solid", "Lost in all", wall.gap_us)
        said = self._said(wall.useful_us)
        share = format.percent(Fraction(wall.useful_us, wall.wall_us))
        if useful > 0.35:
            self.notes.append(
                {"row": 0, "x": 0, "text": f"Useful {said} · {share}", "color": theme.on_bar}
            )
        target = float(1 - wall.allowed)
        said = f"target {format.percent(target, 0)}"
        self.marks.append({"row": 0, "from": 0, "x": target, "text": said})
        self._label("Wall-clock", self._said(wall.wall_us), wall.wall_us, True)
        self.count += 1

    def _losses(self) -> None:
        at_us, tenths_of = 0, list(zip(self.wall.losses, self.tenths, strict=True))
        self.notes.append(
            {
                "row": 1,
                "x": 0,
                "text": f"the lost {self._said(self.wall.gap_us)}, magnified",
                "color": self.theme.ink2,
            }
        )
        self.count += 1
        for charge, title in PARTIES:
            own = [(loss, tenth) for loss, tenth in tenths_of if loss.charge == charge]
            if not own:
                continue
            from_us, summed = at_us, 0
            for loss, tenth in own:
                self._loss(loss, tenth, at_us)
                at_us += loss.us
                summed += tenth
            self._sum(charge, title, from_us, at_us, summed)
        self._band()
        self._bar(0, 1, self.theme.ink2, "solid", "Lost in all", self.wall.gap_us)
        total = f"{format.decimal(sum(self.tenths))} {self.unit}"
        self._label("Lost in all", total, self.wall.gap_us, True)
        self.count += 1

    def _loss(self, loss: Loss, tenth: int, at_us: int) -> None:
        category = BY_ID[loss.category]
        color = self.theme.category(loss.category)
        solid_us = loss.us - loss.again_us
        x0, x1, x2 = self._x(at_us), self._x(at_us + solid_us), self._x(at_us + loss.us)
        if solid_us:
            self._bar(x0, x1, color, "solid", category.label, solid_us)
        if loss.again_us:
            self._bar(x1, x2, color, "hollow", f"{category.label}, work done again", loss.again_us)
            if x2 - x1 > 0.3:
                text = f"work done again {self._said(loss.again_us)}"
                note = {"row": self.count, "x": x1, "text": text, "color": self.theme.ink}
                self.notes.append(note)
        self.hits.append({"row": self.count, "end": self.count + 1, "id": loss.category})
        self.links.append({"row": self.count, "end": self.count + 1.25, "x": x2})
        self._label(category.label, f"{format.decimal(tenth)} {self.unit}", loss.us, False)
        self.count += 1

    def _band(self) -> None:
        self.bands.append({"row": self.count, "end": self.count + 1})

    def _sum(self, charge: str, title: str, from_us: int, to_us: int, tenth: int) -> None:
        allowance = self.wall.allowed * self.wall.wall_us
        us = to_us - from_us
        self._band()
        x0, x1 = self._x(from_us), self._x(to_us)
        over_us = us - int(allowance)
        if charge == "platform" and over_us > 0:
            edge = float(allowance / self.wall.gap_us)
            kept = f"{title}, within its allowance"
            self._bar(x0, edge, self.theme.ink2, "solid", kept, us - over_us)
            self._bar(edge, x1, self.theme.frozen, "solid", f"{title}, over its allowance", over_us)
            text = f"allowance {self._said(int(allowance))}, {self._said(over_us)} over"
            self.marks.append({"row": self.count, "from": 2, "x": edge, "text": text})
        else:
            self._bar(x0, x1, self.theme.ink2, "solid", title, us)
        self._label(title, f"{format.decimal(tenth)} {self.unit}", us, True)
        self.count += 1


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    value_x, share_x = alt.ExprRef("width - 62"), alt.ExprRef("width")
    return base.build(
        theme,
        [
            *_ground(theme),
            *_bars(theme),
            *_marks(theme),
            _notes(),
            *base.row_text("labels", "label", 2, "left", theme),
            *base.row_text("labels", "value", value_x, "right", theme, on_lines=True),
            *base.row_text(
                "labels", "share", share_x, "right", theme, color=theme.ink2, on_lines=True
            ),
        ],
        {"rows": 1},
    )


_AT = base.share_x("x", LEFT, RIGHT)
_SAID = alt.Text("text", type="nominal")


def _ground(theme: Theme) -> list[alt.Chart]:
    """What lies under the bars: tinted rows, rows to click, lines from one bar to the next."""
    bands = (
        base.data("bands")
        .mark_rect(color=theme.surface)
        .encode(x=alt.value(0), x2=alt.value("width"), y=base.row_y(), y2="end")
    )
    links = (
        base.data("links")
        .mark_rule(color=theme.rule, yOffset=base.narrow(30, 25), y2Offset=base.narrow(9, 0))
        .encode(x=_AT, y=base.row_y(), y2="end")
    )
    return [bands, base.hits("hits"), links]


def _bars(theme: Theme) -> list[alt.Chart]:
    tips = base.tip("what|What", "exact|Time", "share|Share")
    return base.share_bars(LEFT, RIGHT, theme, tips, thick=18, cursor="pointer")


def _marks(theme: Theme) -> list[alt.Chart]:
    """The target in the strip, and the allowance in the lost part, each with its name."""
    marks = base.data("marks")
    target, allowance = (marks.transform_filter(f"datum.row {where} 0") for where in ("==", ">"))
    ticks = [
        marks.mark_tick(
            orient="vertical",
            color=color,
            thickness=thickness,
            size=base.narrow(18, 24),
            yOffset=base.narrow(26, 16),
        ).encode(x=_AT, y=base.row_y())
        for color, thickness in ((theme.background, 6), (theme.ink, 2.5))
    ]
    dashes = allowance.mark_rule(color=theme.ink, strokeDash=[4, 3], y2Offset=30).encode(
        x=_AT, y=base.row_y("from"), y2="row"
    )
    aim = target.mark_text(align="right", dx=4, color=theme.ink2, yOffset=44).encode(
        x=_AT, y=base.row_y(), text=_SAID
    )
    over = allowance.mark_text(
        align=alt.ExprRef("datum.x > 0.5 ? 'right' : 'left'"),
        dx=alt.ExprRef("datum.x > 0.5 ? -6 : 6"),
        color=theme.on_bar,
        fontSize=base.narrow(0, 12),
        yOffset=base.narrow(24, 16),
    ).encode(x=_AT, y=base.row_y(), text=_SAID)
    return [dashes, *ticks, aim, over]


def _notes() -> alt.Chart:
    found: alt.Chart = (
        base.data("notes")
        .mark_text(align="left", dx=6, yOffset=base.narrow(24, 16), baseline="middle")
        .encode(x=_AT, y=base.row_y(), text=_SAID, color=base.color_of())
    )
    return found
