"""A week's review in words and rows, for the page and for what is exported."""

from collections.abc import Sequence
from fractions import Fraction

from app import format, waiting_text
from app.charts import budget, spend
from app.charts.base import Drawing
from app.palette import BY_ID, SLO_LABELS, STATE_BADGES, THEMES, label
from app.views import home
from app.views.review import Review, Row
from metrics.rulings import Ruling

Rows = list[dict[str, str]]

SPENT_KEY = "Hollow: work done again. Tick: last week."
LINE_KEY = "Shaded: frozen, by whichever objective."
"""What a chart's marks mean, to be said under it."""


def name_of(row: Row) -> str:
    """Goodput; Queue wait, standard."""
    said = SLO_LABELS.get(row.slo, row.slo)
    return f"{said}, {row.tier}" if row.tier else said


def title(found: Review) -> str:
    """The verdict."""
    week = f"Week {int(found.week.name[-2:])}"
    promised = [row for row in found.missed if row.broken is not None]
    missed = [name_of(row).lower() for row in found.missed if row not in promised]
    if promised:
        missed.append("the checkpoint promise")
    if not missed:
        return f"{week}: every objective kept"
    most = BY_ID[found.spent[0][0]].label.lower() if found.spent else ""
    cause = f", {most} the cause" if most and "goodput" in missed else ""
    return f"{week}: {' and '.join(missed[:2])} missed{cause}"


def sentence(found: Review) -> str:
    """What follows the verdict."""
    start, end = format.day(found.week.start_us), format.day(found.week.end_us - 1)
    whole = "" if found.is_whole else " It is not over yet."
    lost = sum(now for _, now, _, _ in found.spent)
    share = format.percent(Fraction(lost, found.wall)) if found.wall else format.UNKNOWN
    return (
        f"{start} to {end}, {'fleet' if str(found.scope) == 'fleet' else found.scope}. The platform"
        f" cost large jobs {format.gpu_hours(lost)}, {share} of their GPU time.{whole}"
    )


def objectives(found: Review) -> Rows:
    """Each objective this week, last week, over four weeks."""
    return [_promise(row) if row.broken is not None else _objective(row) for row in found.rows]


def _objective(row: Row) -> dict[str, str]:
    return {
        "Objective": name_of(row),
        "State": STATE_BADGES[row.state].word,
        "This week": format.percent(row.week),
        "Last week": format.percent(row.last),
        "Four weeks": format.percent(row.four),
        "Trend": trend(row),
        "Target": format.percent(row.target, 0),
        "Budget left": format.percent(row.left),
    }


def _promise(row: Row) -> dict[str, str]:
    week, last, four = row.broken or (0, 0, 0)
    return {
        "Objective": name_of(row),
        "State": "Broken" if week else "Kept",
        "This week": f"{week} broken",
        "Last week": f"{last} broken",
        "Four weeks": f"{four} broken",
        "Trend": "same" if week == last else "▲ better" if week < last else "▼ worse",
        "Target": "none broken",
        "Budget left": "a promise",
    }


def trend(row: Row) -> str:
    """Better or worse than last week, in points."""
    if row.week is None or row.last is None:
        return format.UNKNOWN
    points = float(row.week - row.last) * 100
    if abs(points) < 0.05:
        return "same"
    return f"{'▲ better' if points > 0 else '▼ worse'} by {abs(points):.1f} points"


def moves(found: Review) -> list[str]:
    """The biggest moves, in sentences."""
    return [
        f"{BY_ID[name].label}: {format.gpu_hours(abs(change))} {'more' if change > 0 else 'less'}"
        " than last week"
        for name, change in found.moves
        if change
    ]


def decided(found: Review, entries: Sequence[Ruling]) -> list[str]:
    """Freezes and what people ruled in the week, in sentences."""
    said = [
        f"Frozen {format.moment(from_us)} to {format.moment(to_us)}"
        f" ({format.duration(to_us - from_us)})"
        for from_us, to_us in found.frozen
    ]
    said += [
        f"{entry.kind.value.capitalize()} of {entry.scope} by {entry.who},"
        f" {format.moment(entry.at_us)}: {entry.why}"
        for entry in entries
    ]
    said += [
        f"{name_of(row)} is over-cautious: less than a tenth of its budget was spent"
        for row in found.rows
        if row.is_over_cautious
    ]
    return said


def losers(rows: Sequence[tuple[str, int, int, int]], what: str) -> Rows:
    """The top jobs or nodes by charged loss."""
    return [
        {
            what: name or "not named",
            "Lost": format.gpu_hours(now),
            "Last week": format.gpu_hours(before),
            "Work done again": format.gpu_hours(again),
        }
        for name, now, again, before in rows
    ]


def restarts(found: Review) -> Rows:
    """Restarts that are open at the week's end."""
    return [
        {
            "Job": row["job"],
            "Detected": format.moment(row["detected_us"]),
            "Cause": label("cause", row["cause"]),
            "For": format.duration(row["age_us"]),
        }
        for row in found.open_restarts
    ]


def broken(found: Review) -> Rows:
    """Promises broken in the week, and whether a restore test mended them by its end."""
    return [
        {
            "Job": breach.job,
            "At": format.moment(breach.at_us),
            "Lost": format.duration(breach.lost_us),
            "Mended": format.moment(breach.mended_us)
            if breach.mended_us is not None and breach.mended_us < found.as_of_us
            else "not yet",
        }
        for breach in found.broken
    ]


def contracts_sentence(found: Review) -> str:
    """How much of the week's waiting is explained, and how often a contract was broken."""
    broken = len(found.contracts.broken)
    said = format.plural(broken, "contract was broken", "contracts were broken")
    return (
        f"{waiting_text.share(found.explained[0])} of the week’s waiting time is explained;"
        f" {said if broken else 'no contract was broken'}."
    )


def spent_chart(found: Review, theme: str) -> Drawing:
    """What spent the week, the week before as ticks."""
    look = THEMES[theme]
    spenders = [
        spend.Spender(name, label("category", name), now, look.category(name), again, before)
        for name, now, again, before in found.spent
    ]
    whole = sum(s.amount for s in spenders)
    spent = spend.Spent(spenders, "gpu_us", whole, "of the loss")
    return spend.drawing(spent, theme, f"What spent goodput in {found.week.name}")


def line_chart(found: Review, line: home.Line, course: home.Course, theme: str) -> Drawing:
    """The goodput budget over the 30 days that end with the week."""
    return budget.drawing(
        budget.Line(
            line.left,
            course.frozen,
            course.unknown,
            (),
            (),
            (),
            (),
            0.05,
            found.as_of_us,
            "Goodput budget left",
        ),
        theme,
    )
