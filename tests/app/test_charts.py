"""Every template compiles, in both themes, with data and without; what is drawn adds up."""

import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product
from xml.etree import ElementTree

import pytest
import vl_convert

from app import format
from app.charts import (
    area,
    base,
    budget,
    curves,
    gangs,
    intervals,
    life,
    phases,
    spend,
    steps,
    trend,
    waterfall,
)
from metrics.checkpointing import Costs
from metrics.conventions import HOUR_US
from metrics.survival import Span, curve

NOW = 1_793_000_000 * 10**6
H = HOUR_US


def a_wall() -> waterfall.Wall:
    losses = (
        waterfall.Loss("startup", "platform", H // 3, 0),
        waterfall.Loss("restart", "platform", 7 * H + 1, 4 * H),
        waterfall.Loss("job", "job", 2 * H + 12345, 0),
        waterfall.Loss("preemption", "nobody", H, 0),
    )
    lost = sum(loss.us for loss in losses)
    return waterfall.Wall(50 * H, 50 * H - lost, losses, Fraction(1, 10))


def a_life(theme: str) -> base.Drawing:
    stretch = life.Stretch(NOW + 3 * H, NOW + 4 * H, "restart", "requeue", "hardware")
    return life.drawing(
        life.Life(
            NOW,
            NOW + 20 * H,
            NOW + 20 * H,
            [(0, NOW, NOW + 3 * H), (1, NOW + 4 * H, NOW + 20 * H)],
            [stretch],
            [stretch],
            [(1, NOW + 3 * H)],
            [(NOW + 21 * H, NOW + 22 * H, "window-1")],
            [(NOW, "restart", False, H), (NOW, "restart", True, H // 2)],
            H,
            "a job",
        ),
        theme,
    )


def a_line(theme: str) -> base.Drawing:
    left = [(NOW + hour * H, 0.3 - hour / 100) for hour in range(48)]
    ahead = [(NOW + (48 + hour) * H, -0.2 + hour / 100) for hour in range(48)]
    band = [(at, left - 0.1, left + 0.1) for at, left in ahead]
    change = {"at_us": NOW + H, "kind": "through", "what": "firmware"}
    line = budget.Line(
        left, [(NOW, NOW + H)], [(NOW, NOW + H)], [change], ahead, ahead, band, 0.05, NOW, "Left"
    )
    return budget.drawing(line, theme)


def a_curve(theme: str) -> base.Drawing:
    spans = [Span(minutes * 60 * 10**6, minutes % 7 == 0) for minutes in range(1, 60)]
    one = curves.Curve("a tier", curve(spans), [7 * 60 * 10**6], 600 * 10**6, 0.5)
    return curves.drawing([one, one], theme, "Waits", Fraction(9, 10))


def a_choice(theme: str, now_s: float | None = 9180) -> base.Drawing:
    costs = Costs(240, 32_400, 840)
    best_s = costs.best_interval_s
    return intervals.drawing(
        intervals.Choice(costs, best_s, costs.flat_region_s(0.005), now_s, 0.1), theme, "a job"
    )


RESTART = phases.Restart("a job", {"detect": H, "requeue": H, "launch": None}, 2 * H, "open", H)

GANGS = [
    gangs.Gang("half", 512, 256, 2 * H),
    gangs.Gang("none", 64, None, H),
    gangs.Gang("all", 8, 16, H),
]

DRAWINGS: dict[str, Callable[[str], base.Drawing]] = {
    "waterfall": lambda theme: waterfall.drawing(a_wall(), theme, "a job"),
    "life": a_life,
    "budget line": a_line,
    "no budget line": lambda theme: budget.drawing(
        budget.Line([], [], [], [], [], [], [], 0.05, NOW, "Left"), theme
    ),
    "curves": a_curve,
    "no curve": lambda theme: curves.drawing([], theme, "Waits", Fraction(9, 10)),
    "checkpoint intervals": a_choice,
    "checkpoint intervals, none in force": lambda theme: a_choice(theme, None),
    "checkpoint intervals of a job that fails too often": lambda theme: intervals.drawing(
        intervals.Choice(Costs(240, 1800, 840), 930, (809, 1068), 9000, 0.1), theme, "a job"
    ),
    "phases": lambda theme: phases.stacked([RESTART], theme, 600 * 10**6, "Restarts"),
    "one restart": lambda theme: phases.zoomed(RESTART, theme, 600 * 10**6, "Restart 1"),
    "spending": lambda theme: spend.drawing(
        spend.Spent([spend.Spender(str(n), str(n), n, "#123456", 0, n) for n in range(1, 12)],
                    "gpu_us", 66, "of budget", "3"), theme, "Spent"
    ),
    "step times": lambda theme: steps.drawing(
        [steps.Bin(NOW, 1, 2, 3, 9, 100, 1)], 2, theme, "a job"
    ),
    "trend": lambda theme: trend.drawing(
        [trend.Series("p50", [(NOW, H), (NOW + 168 * H, None)])], H, theme, "Waits"
    ),
    "gangs": lambda theme: gangs.drawing(GANGS, theme, "GPUs gathered"),
    "no gang": lambda theme: gangs.drawing([], theme, "GPUs gathered"),
    "capacity": lambda theme: area.drawing(
        [area.Bin(NOW, NOW + H, {"useful": 6 * H, "reserves": 2 * H})], theme, "Installed GPUs"
    ),
}  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DRAWINGS)
def test_a_chart_can_be_drawn_and_says_what_it_shows(name: str, theme: str) -> None:
    drawing = DRAWINGS[name](theme)
    spec = drawing.filled() | {"datasets": {k: list(v) for k, v in drawing.datasets.items()}}
    assert vl_convert.vegalite_to_svg(spec).startswith("<svg")
    assert drawing.alt.endswith(".")


@pytest.mark.parametrize("name", DRAWINGS)
def test_no_row_of_a_dataset_has_more_than_its_first_from_which_a_page_takes_the_columns(
    name: str,
) -> None:
    for rows in DRAWINGS[name]("light").datasets.values():
        assert all(row.keys() <= rows[0].keys() for row in rows)


def test_the_bars_of_a_waterfall_begin_where_the_one_before_ended_and_sum_to_the_gap() -> None:
    drawing = DRAWINGS["waterfall"]("light")
    wall = a_wall()
    edges = [
        (bar["x0"], bar["x1"])
        for bar in drawing.datasets["bars"]
        if bar["row"] and "share" not in bar["what"] and bar["what"] != "Lost in all"
    ]
    assert edges[0][0] == 0
    assert all(before[1] == after[0] for before, after in pairwise(edges))
    assert edges[-1][1] == 1
    assert sum(loss.us for loss in wall.losses) == wall.gap_us


def test_printed_hours_of_a_waterfall_add_up() -> None:
    labels = DRAWINGS["waterfall"]("light").datasets["labels"]
    plain = [float(row["value"].split()[0]) for row in labels if not row["bold"]]
    total = next(row for row in labels if row["label"] == "Lost in all")
    assert round(sum(plain), 1) == float(total["value"].split()[0])


def test_the_curve_of_checkpoint_intervals_is_least_where_it_is_advised() -> None:
    drawing = a_choice("light")
    least = min(drawing.datasets["curve"], key=lambda point: point["all"])
    # 2 x 240 / 3,943.6 + 840 / 32,400 = 14.76 %; 160 points a factor of 64 to 80 apart.
    assert least["s"] == pytest.approx(3943.6, rel=0.03)
    assert least["all"] == pytest.approx(0.1476, abs=1e-4)
    assert all(
        point["all"] == pytest.approx(point["saving"] + point["again"] + 840 / 32_400)
        for point in drawing.datasets["curve"]
    )
    # 240 / 9,180 + 9,180 / 64,800 + 840 / 32,400 = 19.4 %.
    assert [format.spaced(mark["text"]) for mark in drawing.datasets["marks"]] == [
        "advised 65.7 min: 14.8 %",
        "now 2.5 h: 19.4 %",
    ]
    assert "now 2.5 h: 19.4 %" in format.spaced(drawing.alt)


def test_nothing_on_the_curve_of_checkpoint_intervals_lies_above_its_top() -> None:
    # It restarts for 840 of 1,800 s: 98.3 % are lost at best, three times all at the interval now.
    drawing = DRAWINGS["checkpoint intervals of a job that fails too often"]("light")
    top = drawing.params["top"]
    assert top > 0.983
    assert all(mark["y"] <= top for mark in drawing.datasets["marks"])
    assert all(name["share"] <= top for name in drawing.datasets["names"])


def _svg(drawing: base.Drawing, width: int = 800) -> str:
    spec = drawing.filled() | {"datasets": {k: list(v) for k, v in drawing.datasets.items()}}
    return vl_convert.vegalite_to_svg(spec | {"width": width})


def a_choice_of(times: float | None, save_s: float, restart_s: float) -> base.Drawing:
    costs = Costs(save_s, 32_400, restart_s)
    best_s = costs.best_interval_s
    return intervals.drawing(
        intervals.Choice(costs, best_s, costs.flat_region_s(0.005), times and times * best_s, 0.1),
        "light",
        "a job",
    )


Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels."""


def _boxes(svg: str) -> dict[str, Box]:
    """Where the texts that show (12 px, a letter half as wide) and the points of a chart lie."""
    found: dict[str, Box] = {}
    for element, x, y in _placed(ElementTree.fromstring(svg), 0, 0):
        if element.text and element.get("opacity") != "0":
            wide = 6 * len(element.text)
            left = {"middle": x - wide / 2, "end": x - wide}.get(element.get("text-anchor", ""), x)
            found[element.text] = (left, y - 9, left + wide, y + 2)
        elif element.get("aria-roledescription") == "point":
            found[f"point {len(found)}"] = (x - 4, y - 4, x + 4, y + 4)
    return found


def _placed(
    element: ElementTree.Element, x: float, y: float
) -> Iterator[tuple[ElementTree.Element, float, float]]:
    moved = re.match(r"translate\((\S+?), ?(\S+?)\)", element.get("transform", ""))
    x, y = (x + float(moved[1]), y + float(moved[2])) if moved else (x, y)
    yield element, x, y
    for child in element:
        yield from _placed(child, x, y)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


@pytest.mark.parametrize("width", [300, 358, 1100])
@pytest.mark.parametrize("save_s", [1, 103, 1500])
def test_nothing_that_is_written_on_the_curve_of_intervals_lies_on_another(
    save_s: float, width: int
) -> None:
    for times, restart_s in product((None, 0.1, 0.5, 0.9, 1, 1.5, 2.3, 5, 20), (0, 850, 30_000)):
        boxes = _boxes(_svg(a_choice_of(times, save_s, restart_s), width))
        assert len([name for name in boxes if name.startswith("point")]) == (2 if times else 1)
        hits = [
            (one, other)
            for one, other in combinations(boxes, 2)
            if _overlap(boxes[one], boxes[other]) and not one.startswith("point")
        ]
        assert hits == [], (times, restart_s)


@pytest.mark.parametrize(("lately", "is_up"), [((-0.3, -0.2, -0.1), 1), ((0.3, 0.2, 0.1), 0)])
def test_what_is_left_now_is_written_where_the_line_did_not_come_from(
    lately: tuple[float, ...], is_up: int
) -> None:
    left = [(NOW + n * H, share) for n, share in enumerate((0.5,) * 15 + lately)]
    line = budget.Line(left, [], [], [], [], [], [], 0.05, left[-1][0], "Left")
    (now,) = budget.drawing(line, "light").datasets["now"]
    assert (now["left"], now["up"]) == (lately[-1], is_up)


def test_a_state_that_is_unknown_is_not_called_no_data_where_there_are_some() -> None:
    left = [(NOW + hour * H, 0.9) for hour in range(5)]
    gaps = [(NOW, NOW + 2 * H), (NOW + 4 * H - H // 2, NOW + 9 * H)]
    line = budget.Line(left, [], gaps, [], [], [], [], 0.05, NOW + 9 * H, "Left")
    said = [row["text"] for row in budget.drawing(line, "light").datasets["unknown"]]
    assert [format.spaced(text) for text in said] == ["unknown 2 h", "no data 5 h 30 min"]


def test_a_gang_s_bar_is_filled_as_far_as_it_is_gathered() -> None:
    drawing = gangs.drawing(GANGS, "light", "GPUs gathered")
    filled = {b["what"]: b["x1"] for b in drawing.datasets["bars"] if b["kind"] == "solid"}
    assert filled == {"half": 0.5, "all": 1.0}
    assert [row["value"] for row in drawing.datasets["labels"]] == [
        "256 of 512",
        "none of 64",
        "16 of 8",
    ]


def test_the_last_numbers_of_a_trend_stand_a_line_of_text_apart() -> None:
    minute = 60 * 10**6
    series = [trend.Series("p50", [(NOW, 5 * minute)]), trend.Series("p90", [(NOW, 7 * minute)])]
    drawing = trend.drawing(series, 70 * minute, "light", "Time to restart")
    places = [row["place"] for row in drawing.datasets["names"]]
    # 12 px are a line of text; the chart's height shows `top` minutes.
    line = 12 * drawing.params["top"] / trend.HEIGHT
    assert len(places) == 3
    assert all(after - before >= line for before, after in pairwise(places))
    assert places[-1] <= drawing.params["top"]


@pytest.mark.parametrize("width", [280, 330, 1100])
@pytest.mark.parametrize("minutes", [(5, 7), (5, 5), (9.9, 46), (0.5, 0.5), (60, 61)])
def test_what_is_written_beside_a_trend_lies_neither_on_its_lines_nor_on_another(
    minutes: tuple[float, float], width: int
) -> None:
    series = [
        trend.Series(name, [(NOW + n * 168 * H, round(last * 60 * 10**6)) for n in range(5)])
        for name, last in zip(("p50", "p90"), minutes, strict=True)
    ]
    drawing = trend.drawing(series, 600 * 10**6, "light", "Time to restart")
    names = {
        text: box
        for text, box in _texts(drawing, width).items()
        if text[:3] in ("p50", "p90", "lim")
    }
    assert len(names) == 3
    assert _hits(_texts(drawing, width)) == []
    points = [box for text, box in _boxes(_svg(drawing, width)).items() if text[:5] == "point"]
    assert min(left for left, *_ in names.values()) > max(right for *_, right, _ in points)


@pytest.mark.parametrize("width", [260, 330, 1100])
@pytest.mark.parametrize("limits", [(5, 120), (5, 6), (110, 120), (1, 2)])
def test_no_limit_of_a_curve_is_written_on_another(limits: tuple[int, int], width: int) -> None:
    minute = 60 * 10**6
    spans = [Span(minutes * minute, False) for minutes in range(1, 300)]
    drawn = [
        curves.Curve(tier, curve(spans), [], limit * minute, limit / 300)
        for tier, limit in zip(("Interactive", "Standard"), limits, strict=True)
    ]
    boxes = _texts(curves.drawing(drawn, "light", "Waits", Fraction(9, 10)), width)
    said = {text: box for text, box in boxes.items() if "in" in text and "%" in text}
    assert len(said) == 2
    assert _hits(said) == []


def _spread(*parts: tuple[float, float, int]) -> list[Span]:
    """So many spans spread evenly over each stretch of seconds."""
    return [
        Span(round((low + (high - low) * n / count) * 10**6), False)
        for low, high, count in parts
        for n in range(count)
    ]


WAITS = {
    # As of a cluster: two tiers that wait almost alike below one that starts sooner.
    "alike": {
        "Interactive": _spread((0, 1, 12), (15, 60, 44), (150, 300, 40), (300, 900, 4)),
        "Standard": _spread(
            (0, 1, 5), (10, 60, 20), (60, 150, 10), (150, 300, 45), (300, 18e3, 20)
        ),
        "Batch": _spread((0, 1, 5), (10, 70, 19), (70, 160, 8), (160, 300, 50), (300, 7e4, 18)),
    },
    "apart": {
        "Interactive": _spread((1, 20, 100)),
        "Standard": _spread((60, 600, 100)),
        "Batch": _spread((3600, 90_000, 100)),
    },
    "crossing": {
        "Interactive": _spread((10, 20, 50), (4000, 9000, 50)),
        "Standard": _spread((100, 400, 100)),
    },
}


@pytest.mark.parametrize("width", [330, 358, 1100])
@pytest.mark.parametrize("name", WAITS)
def test_the_name_of_a_curve_lies_on_no_curve_and_beside_its_own(name: str, width: int) -> None:
    limits = {"Interactive": 300 * 10**6, "Standard": 7200 * 10**6}
    drawn = [
        curves.Curve(tier, curve(spans), [], limits.get(tier), 0.9 if tier in limits else None)
        for tier, spans in WAITS[name].items()
    ]
    svg = _svg(curves.drawing(drawn, "light", "Waits", Fraction(9, 10)), width)
    boxes = _boxes(svg)
    lines = dict(zip(WAITS[name], _paths(svg), strict=True))
    for tier in lines:
        away = {other: _away(boxes[tier], line) for other, line in lines.items()}
        assert min(away.values()) > 0, (tier, away)
        assert away[tier] < 9, (tier, away)


def _paths(svg: str) -> list[list[tuple[float, float]]]:
    """The points of each line of a chart."""
    return [
        [
            (x + float(a), y + float(b))
            for a, b in re.findall(r"([\d.]+),([\d.]+)", path.get("d", ""))
        ]
        for group, x, y in _placed(ElementTree.fromstring(svg), 0, 0)
        if "mark-line" in group.get("class", "")
        for path in group
    ]


def _away(box: Box, line: list[tuple[float, float]]) -> float:
    """How far a line of level and upright parts is from a box, in pixels."""
    left, top, right, bottom = box
    return min(
        math.hypot(
            max(left - max(x0, x1), min(x0, x1) - right, 0),
            max(top - max(y0, y1), min(y0, y1) - bottom, 0),
        )
        for (x0, y0), (x1, y1) in pairwise(line)
    )


def _texts(drawing: base.Drawing, width: int) -> dict[str, Box]:
    boxes = _boxes(_svg(drawing, width))
    return {text: box for text, box in boxes.items() if not text.startswith("point")}


def _hits(boxes: dict[str, Box]) -> list[tuple[str, str]]:
    return [pair for pair in combinations(boxes, 2) if _overlap(*map(boxes.__getitem__, pair))]


def test_a_trend_has_a_tick_for_each_week_and_no_other() -> None:
    week = 168 * H
    series = [trend.Series("p50", [(NOW + n * week, H) for n in range(3)])]
    drawing = trend.drawing(series, None, "light", "Waits")
    assert drawing.params["weeks"] == [(NOW + n * week) // 1000 for n in range(3)]


def test_the_quantiles_of_a_curve_lie_on_it() -> None:
    minute = 60 * 10**6
    steps = curve([Span(n * minute, False) for n in range(1, 11)])
    one = curves.Curve("a tier", steps, [], None, None, [(50, 5 * minute), (90, 9 * minute)])
    drawing = curves.drawing([one], "light", "Waits", None)
    assert [
        (q["s"], q["share"], format.spaced(q["text"])) for q in drawing.datasets["quantiles"]
    ] == [
        (300, 0.5, "p50 5 min"),
        (540, 0.9, "p90 9 min"),
    ]


def test_a_curve_whose_spans_all_ended_goes_on_to_the_edge() -> None:
    minute = 60 * 10**6
    ended = curves.Curve("all", curve([Span(minute, False)]), [], 600 * 10**6, 1.0)
    last = curves.drawing([ended], "light", "Waits", None)
    assert last.datasets["lines"][-1]["s"] == last.params["high"]
    spans = [Span(minute, False), Span(3 * minute, True)]
    waits = curves.Curve("some", curve(spans), [3 * minute], 600 * 10**6, 0.5)
    open_ = curves.drawing([waits], "light", "Waits", None)
    assert open_.datasets["lines"][-1]["s"] == 180


def test_a_share_within_a_limit_that_is_not_known_yet_is_not_drawn_as_none() -> None:
    minute = 60 * 10**6
    waits = curves.Curve("a tier", curve([Span(minute, True)]), [minute], 600 * 10**6, None)
    drawn = curves.drawing([waits], "light", "Waits", None)
    (limit,) = drawn.datasets["limits"]
    assert (limit["share"], limit["said"]) == (None, format.percent(None) + " within 10\xa0min")
    assert "unknown within" in drawn.alt


def test_a_life_without_step_records_is_not_drawn_as_steps() -> None:
    nothing = life.Life(
        NOW, NOW + H, NOW + H, [(0, NOW, NOW + H)], [], [], [], [], [], H, "a job", False
    )
    (ran,) = life.drawing(nothing, "light").datasets["progress"]
    assert (ran["what"], ran["kind"]) == ("Not instrumented", "hollow")


def test_what_a_short_job_lost_is_drawn_within_its_life() -> None:
    hour = NOW // H * H
    start, end = hour + H // 4, hour + H // 2
    lost = [(hour, "restart", False, H // 8), (hour, "restart", True, H // 16)]
    short = life.Life(start, end, end, [(0, start, end)], [], [], [], [], lost, H, "a job")
    bars = life.drawing(short, "light").datasets["bins"]
    assert [(bar["at"], bar["to"]) for bar in bars] == [(start // 1000, end // 1000)] * 2


@pytest.mark.parametrize(
    ("is_over", "is_past", "edge"),
    [(False, False, "now"), (False, True, "as of"), (True, False, "end"), (True, True, "end")],
)
def test_the_edge_of_a_life_is_called_what_it_is(is_over: bool, is_past: bool, edge: str) -> None:
    lived = life.Life(
        NOW, NOW + H, NOW + H, [(0, NOW, NOW + H)], [], [], [], [], [], H, "a job", True,
        is_over, is_past,
    )  # fmt: skip
    (line,) = life.drawing(lived, "light").datasets["now"]
    assert line["text"] == edge


def test_an_amount_that_rounds_to_nothing_is_not_printed_as_nothing() -> None:
    spent = spend.Spent([spend.Spender("a", "a", H // 50, "#123456")], "us", H, "of waiting")
    labels = spend.drawing(spent, "light", "Waits").datasets["labels"]
    assert labels[1]["value"] == "< 0.1"


def test_a_rework_that_is_not_to_scale_is_said_to_be_so() -> None:
    notes = DRAWINGS["one restart"]("light").datasets["notes"]
    assert [note["row"] for note in notes] == [1]
    nothing = phases.Restart("a job", {"detect": H}, H, "open")
    assert phases.zoomed(nothing, "light", 600 * 10**6, "Restart").datasets["notes"] == []


@pytest.mark.parametrize("kind", ["spend", "phases", "gangs"])
def test_a_very_long_name_is_shortened_and_leaves_the_bars_their_room(kind: str) -> None:
    name = "a-very-long-name-" * 20
    drawing = {
        "spend": lambda: spend.drawing(
            spend.Spent([spend.Spender("a", name, 8, "#123456")], "count", 8, "of all"), "light", ""
        ),
        "phases": lambda: phases.stacked(
            [phases.Restart(name, {"requeue": H}, H, "recovered")], "light", 600 * 10**6, ""
        ),
        "gangs": lambda: gangs.drawing([gangs.Gang(name, 8, 4, H)], "light", ""),
    }[kind]()
    spec = drawing.filled() | {"datasets": {k: list(v) for k, v in drawing.datasets.items()}}
    svg = vl_convert.vegalite_to_svg(spec | {"width": 800})
    assert name not in re.findall(r">([^<>]+)</text>", svg)
    assert re.search(r">a-very-long-[^<>]*…</text>", svg)


TICKS = {
    "a month by its days": (30 * 24 * 3600, r"\d+ [A-Z][a-z]{2}"),
    "a night by its hours": (6 * 3600, r"\d\d:00|\d+ [A-Z][a-z]{2}( \d\d:00)?"),
}


@pytest.mark.parametrize(("seconds", "form"), TICKS.values(), ids=TICKS)
def test_no_two_ticks_of_an_axis_of_time_say_the_same(seconds: int, form: str) -> None:
    end = NOW + seconds * 10**6
    drawing = life.drawing(
        life.Life(NOW, end, end, [(0, NOW, end)], [], [], [], [], [], H, "a job"), "light"
    )
    spec = drawing.filled() | {"datasets": {k: list(v) for k, v in drawing.datasets.items()}}
    texts = re.findall(r">([^<>]+)</text>", vl_convert.vegalite_to_svg(spec))
    ticks = [text for text in texts if re.fullmatch(form, text)]
    assert len(ticks) >= 3
    assert len(set(ticks)) == len(ticks)
