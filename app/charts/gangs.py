"""How much of its gang each waiting job has gathered: a bar of what it needs, filled so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import altair as alt

from app import format
from app.charts import base
from app.palette import THEMES

LEFT, RIGHT = 168, 190


@dataclass(frozen=True)
class Gang:
    """A waiting gang: GPUs that it needs, those gathered (None: no reservation), its age in µs."""

    job: str
    gpus: int
    gathered: int | None
    waited_us: int


def drawing(gangs: Sequence[Gang], theme: str, title: str) -> base.Drawing:
    """The bars, the oldest gang first."""
    color = THEMES[theme].category("useful")
    bars, labels = [], []
    for row, gang in enumerate(gangs):
        filled = min(1.0, (gang.gathered or 0) / gang.gpus)
        said = {"what": gang.job, "gathered": _value(gang), "age": format.duration(gang.waited_us)}
        place = {"row": row, "end": row + 1, "id": gang.job, "color": color}
        bars += [said | place | {"x0": 0.0, "x1": filled, "kind": "solid"}] if filled else []
        bars.append(said | place | {"x0": filled, "x1": 1.0, "kind": "hollow"})
        labels.append(
            {"row": row, "label": gang.job, "value": _value(gang), "age": said["age"], "bold": 0}
        )
    told = "; ".join(f"{label['label']} {label['value']}, {label['age']}" for label in labels[:3])
    return base.Drawing(
        template(theme),
        {"bars": bars, "labels": labels},
        max(1, len(gangs)) * base.ROW,
        f"{title}: {told or 'no gang waits'}.",
        {"rows": max(1, len(gangs))},
    )


def _value(gang: Gang) -> str:
    if gang.gathered is None:
        return f"none of {format.count(gang.gpus)}"
    return f"{format.count(gang.gathered)} of {format.count(gang.gpus)}"


@cache
def template(name: str) -> base.Spec:
    """The chart of a theme without data, built once."""
    theme = THEMES[name]
    tips = base.tip("what|Job", "gathered|GPUs gathered", "age|Has waited")
    return base.build(
        theme,
        [
            *base.share_bars(LEFT, RIGHT, theme, tips),
            *base.row_text("labels", "label", 2, "left", theme, room=LEFT - 8),
            *base.row_text("labels", "value", alt.ExprRef("width - 92"), "right", theme),
            *base.row_text("labels", "age", alt.ExprRef("width"), "right", theme, color=theme.ink2),
        ],
        {"rows": 1},
    )
