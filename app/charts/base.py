"""What every chart shares: templates with named data, the look of a theme, rows of bars.

Building an Altair chart costs up to a second, filling a template a few milliseconds. So a kind is
built once a theme; a view fills the datasets and the values of parameters. The width is known only
in the browser: what depends on it is an expression of `width`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import altair as alt

from app import format
from app.palette import Theme
from metrics.conventions import US_PER_S

NARROW = 560
"""A chart narrower than this, in pixels, has its labels above its bars."""

ROW = 32
"""Height of a row of bars, in pixels."""

FONT = "Source Sans, Source Sans 3, Source Sans Pro, sans-serif"

Align = Literal["left", "center", "right"]
Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]


@dataclass(frozen=True)
class Drawing:
    """A filled template: what a page shows and the review exports. `alt` says it in words."""

    spec: Spec
    datasets: Mapping[str, Rows]
    height: int
    alt: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def filled(self) -> Spec:
        """The Vega-Lite specification without its data."""
        spec = copy.deepcopy(self.spec)
        spec["height"] = self.height
        for param in spec.get("params", ()):
            if param["name"] in self.params:
                param["value"] = self.params[param["name"]]
        return spec


def narrow(small: object, wide: object) -> alt.ExprRef:
    """One expression on a phone, another elsewhere."""
    return alt.ExprRef(f"width < {NARROW} ? {small} : {wide}")


def data(name: str) -> alt.Chart:
    """An empty chart over a named dataset, to be filled in each view."""
    return alt.Chart(alt.NamedData(name=name))


def build(theme: Theme, layers: Sequence[alt.Chart], params: Mapping[str, Any]) -> Spec:
    """The template of layers that share their scales, as a dictionary."""
    chart = alt.layer(*layers).add_params(
        *(alt.param(name=name, value=value) for name, value in params.items())
    )
    made: Spec = chart.properties(
        width=800,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        padding={"left": 0, "right": 0, "top": 4, "bottom": 4},
    ).to_dict()
    made["config"] = _config(theme)
    return made


def _config(theme: Theme) -> Spec:
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelFontSize": 12,
            "labelColor": theme.ink2,
            "titleColor": theme.ink2,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "gridColor": theme.grid,
            "domainColor": theme.rule,
            "tickColor": theme.rule,
        },
        "axisY": {"labelPadding": 6},
        "text": {"fontSize": 12, "color": theme.ink},
    }


def row_y(field_: str = "row") -> alt.Y:
    """The place of a row: rows count from the top, `rows` is their number."""
    return alt.Y(
        field_,
        type="quantitative",
        axis=None,
        scale=alt.Scale(domain=[0, alt.ExprRef("rows")], reverse=True, nice=False, zero=False),
    )


def row_text(
    name: str,
    text: str,
    x: alt.ExprRef | int,
    align: Align,
    theme: Theme,
    *,
    color: str = "",
    on_lines: bool = False,
    room: int | None = None,
) -> list[alt.Chart]:
    """A column of texts beside (on a phone above) the bars; bold where `bold` is 1.

    `on_lines` keeps them readable where they lie on lines. What is wider than `room` (px) ends in
    an ellipsis: names may be of any length, and a chart would make room for them by losing its
    bars.
    """
    width = {} if room is None else {"limit": narrow("width - 150", room)}
    return [
        data(name)
        .transform_filter(f"datum.bold == {bold}")
        .mark_text(
            align=align,
            baseline="middle",
            fontWeight="bold" if bold else "normal",
            yOffset=narrow(9, ROW // 2),
            **({"color": color or theme.ink} | width | halo),
        )
        .encode(y=row_y(), x=alt.value(x), text=alt.Text(text, type="nominal"))
        for bold in (0, 1)
        for halo in (halos(theme) if on_lines else [{}])
    ]


def share_x(field_: str, left: int, right: int) -> alt.X:
    """A place from 0 to 1 between the label column and the columns of numbers."""
    return alt.X(
        field_,
        type="quantitative",
        axis=None,
        scale=alt.Scale(
            domain=[0, 1],
            range=[narrow(0, left), narrow("width", f"width - {right}")],
            nice=False,
            zero=False,
        ),
    )


def hits(name: str) -> alt.Chart:
    """Rows that can be clicked anywhere: the selection `pick` then has the row's id."""
    pick = alt.selection_point(name="pick", fields=["id"], on="click", empty=False)
    found: alt.Chart = (
        data(name)
        .mark_rect(opacity=0, cursor="pointer")
        .encode(x=alt.value(0), x2=alt.value("width"), y=row_y(), y2="end")
        .add_params(pick)
    )
    return found


def bar_offsets(thick: int = 18) -> dict[str, Any]:
    """Where in its row a bar of that thickness lies."""
    edge = (ROW - thick) // 2
    return {"yOffset": narrow(17, edge), "y2Offset": narrow(-2, -edge)}


def share_bars(
    left: int, right: int, theme: Theme, tips: list[alt.Tooltip], thick: int = 16, **mark: Any
) -> list[alt.Chart]:
    """The bars of rows from 0 to 1, as `kind` says solid, or hollow as of another sort."""
    return [
        data("bars")
        .transform_filter(f"datum.kind == '{kind}'")
        .mark_rect(fillOpacity=opacity, strokeWidth=1.2, **mark, **bar_offsets(thick))
        .encode(
            x=share_x("x0", left, right),
            x2="x1",
            y=row_y(),
            y2="end",
            color=color_of(),
            stroke=stroke_of(),
            tooltip=tips,
        )
        for kind, opacity in (("solid", 1), ("hollow", theme.hollow))
    ]


_MIDNIGHT = "utchours(datum.value) + utcminutes(datum.value) + utcseconds(datum.value) == 0"
_CLOCK = "utcseconds(datum.value) == 0 ? '%H:%M' : '%H:%M:%S'"
_MOMENT = (
    f"utcFormat(datum.value, {_MIDNIGHT} ? '%-d %b' : datum.index == 0 ? '%-d %b %H:%M' : {_CLOCK})"
)
"""A tick as its day, within a day as its time: no two of an axis say the same."""


def utc_x(field_: str = "at", **scale: Any) -> alt.X:
    """A moment in ms UTC."""
    return alt.X(
        field_,
        type="temporal",
        axis=alt.Axis(
            labelExpr=_MOMENT,
            labelOverlap=True,
            labelSeparation=8,
            tickCount=narrow(4, 8),
            grid=False,
            title=None,
        ),
        scale=alt.Scale(type="utc", nice=False, **scale),
    )


def log_x(field_: str, ticks_s: Sequence[int], title: str | None, **axis: Any) -> alt.X:
    """A length in s from the parameter `low` to `high`, with those of `ticks_s` in `ticks` said."""
    said = " : ".join(f"datum.value == {s} ? '{format.duration(s * US_PER_S)}'" for s in ticks_s)
    return alt.X(
        field_,
        type="quantitative",
        title=title,
        scale=alt.Scale(
            type="log", domain=[alt.ExprRef("low"), alt.ExprRef("high")], nice=False, clamp=True
        ),
        axis=alt.Axis(
            values=alt.ExprRef("ticks"),
            labelExpr=f"{said} : ''",
            labelOverlap=True,
            labelSeparation=8,
            **axis,
        ),
    )


def percents(format_: str = ".0%", **axis: Any) -> alt.Axis:
    """An axis of shares that says 60 %, as texts do."""
    return alt.Axis(
        format=format_,
        labelExpr="replace(datum.label, '%', ' %')",
        domain=False,
        ticks=False,
        **axis,
    )


def color_of(field_: str = "color") -> alt.Color:
    """A colour that stands in the data."""
    return alt.Color(field_, type="nominal", scale=None, legend=None)


def stroke_of(field_: str = "color") -> alt.Stroke:
    """An outline's colour that stands in the data."""
    return alt.Stroke(field_, type="nominal", scale=None, legend=None)


def tip(*fields: str) -> list[alt.Tooltip]:
    """Ready strings as a tooltip: each field's name is its heading."""
    return [alt.Tooltip(name, type="nominal", title=title) for name, title in map(_titled, fields)]


def _titled(field_: str) -> tuple[str, str]:
    name, _, title = field_.partition("|")
    return name, title or name.capitalize()


def ms(us: int) -> int:
    """A moment in ms, as charts take it."""
    return us // 1000


def halos(theme: Theme) -> list[dict[str, Any]]:
    """A text is drawn twice: its outline in the background's colour keeps it readable on lines."""
    return [{"stroke": theme.background, "strokeWidth": 3, "strokeJoin": "round"}, {}]
