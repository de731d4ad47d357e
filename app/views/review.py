"""A week in review: every objective against the week before and four weeks, and what spent it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from answers import budgets, detail, waits
from answers.budgets import Report
from answers.facts import Facts
from app.views import home
from app.views.capacity import Capacity, capacity
from app.views.spans import WEEK_US, week_of
from metrics.budget import Amount, State, amount
from metrics.capacity import Spent
from metrics.conventions import US_PER_S
from metrics.errors import UsageError
from metrics.objectives import Breach
from metrics.rulings import OWN, Kind, Ruling
from metrics.scope import Scope

WEEK_H = 7 * 24
TOP = 5
TOP_BROKEN = 10


@dataclass(frozen=True)
class Week:
    """An ISO week, Monday 00:00 UTC to the next, in µs."""

    name: str
    start_us: int

    @property
    def end_us(self) -> int:
        """Its end."""
        return self.start_us + WEEK_US

    @classmethod
    def of(cls, us: int) -> "Week":
        """The week that holds a moment."""
        start_us = week_of(us)
        year, number, _ = datetime.fromtimestamp(start_us / US_PER_S, UTC).isocalendar()
        return cls(f"{year}-W{number:02d}", start_us)

    @classmethod
    def named(cls, text: str) -> "Week":
        """The week of that name. Raises UsageError."""
        year, _, number = text.partition("-W")
        try:
            first = date.fromisocalendar(int(year), int(number), 1)
        except ValueError as e:
            raise UsageError(f"--week {text}: say it like 2026-W44") from e
        start = datetime(first.year, first.month, first.day, tzinfo=UTC)
        return cls(
            text, int((start - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(microseconds=1))
        )


@dataclass(frozen=True)
class Row:
    """An objective: its budget's state at the week's end, and the share of good by span."""

    slo: str
    tier: str | None
    target: Fraction
    state: State
    left: Fraction | None
    week: Fraction | None
    last: Fraction | None
    four: Fraction | None
    bad: int
    total: int
    unit: str
    is_over_cautious: bool
    broken: tuple[int, int, int] | None
    """Of a promise: how often it was broken this week, last week, in four weeks."""

    @property
    def is_missed(self) -> bool:
        """Whether the week alone missed the target, or broke the promise."""
        if self.broken is not None:
            return self.broken[0] > 0
        return self.week is not None and self.week < self.target


@dataclass(frozen=True)
class Review:
    """All that is walked through; amounts are in GPU-µs, moments in µs."""

    week: Week
    scope: Scope
    as_of_us: int
    is_whole: bool
    rows: tuple[Row, ...]
    spent: tuple[tuple[str, int, int, int], ...]
    """(category, this week, of it again, last week)"""
    wall: int
    jobs: tuple[tuple[str, int, int, int], ...]
    nodes: tuple[tuple[str, int, int, int], ...]
    frozen: tuple[tuple[int, int], ...]
    open_restarts: tuple[dict[str, Any], ...]
    broken: tuple[Breach, ...]
    """Promises broken in the week, those mended since included."""
    capacity: tuple[Capacity, Spent] | None
    """What the installed GPUs did this week, and last week's sums; None where none is known."""
    explained: tuple[dict[str, Any], ...]
    """Waiting time of the week and what of it is explained, of all and by tier."""
    contracts: waits.Verdicts

    @property
    def moves(self) -> list[tuple[str, int]]:
        """The three biggest changes of a category against last week, in GPU-µs."""
        found = [(name, now - before) for name, now, _, before in self.spent]
        return sorted(found, key=lambda move: -abs(move[1]))[:3]

    @property
    def missed(self) -> list[Row]:
        """Objectives that the week missed."""
        return [row for row in self.rows if row.is_missed]


def review(facts: Facts, scope: Scope, week_name: str) -> Review:
    """The review of a week, as of its end or of what is known of it."""
    week = Week.named(week_name)
    through_us = facts.data_through_us or 0
    if through_us <= week.start_us:
        raise UsageError(f"--week {week.name}: nothing is recorded of it yet")
    as_of_us = min(week.end_us, through_us)
    reports = budgets.reports(facts, scope, as_of_us)
    restarts = detail.restart_rows(facts, scope, 0, as_of_us)
    broken = [b for b in facts.breaches if week.start_us <= b.at_us < week.end_us]
    return Review(
        week,
        scope,
        as_of_us,
        through_us >= week.end_us,
        tuple(_row(report, week) for report in reports),
        _spent(facts, scope, week, "category"),
        _wall(reports, week),
        _spent(facts, scope, week, "job")[:TOP],
        _spent(facts, scope, week, "node")[:TOP],
        _frozen(facts, scope, week, as_of_us),
        tuple(row for row in restarts if row["outcome"] == "open"),
        tuple(b for b in broken if facts.in_scope(b.job, scope)),
        _capacity(facts, scope, week),
        tuple(waits.explained(facts, scope, week.start_us, as_of_us)),
        waits.verdicts(facts, scope, week.start_us, as_of_us),
    )


def _capacity(facts: Facts, scope: Scope, week: Week) -> tuple[Capacity, Spent] | None:
    if set(scope.named()) - {"cluster"}:
        return None
    now = capacity(facts, scope, week.start_us, week.end_us)
    before = capacity(facts, scope, week.start_us - WEEK_US, week.start_us).spent
    return (now, before) if now.spent.installed else None


def _row(report: Report, week: Week) -> Row:
    series, entries = report.series, report.series.entries
    this = amount(entries, week.end_us, WEEK_H)
    last = amount(entries, week.start_us, WEEK_H)
    four = amount(entries, week.end_us, 4 * WEEK_H)
    is_promise = series.measure == "checkpoint_durability"
    return Row(
        series.slo,
        series.scope.tier if series.measure == "queue_wait" else None,
        series.target,
        report.state,
        report.budget.remaining_share,
        _good(this),
        _good(last),
        _good(four),
        this.bad,
        this.total,
        series.unit.value,
        report.is_over_cautious,
        (this.bad, last.bad, four.bad) if is_promise else None,
    )


def _good(found: Amount) -> Fraction | None:
    return 1 - Fraction(found.bad, found.total) if found.total else None


def _wall(reports: Sequence[Report], week: Week) -> int:
    goodput = next((r for r in reports if r.series.measure == "goodput"), None)
    return amount(goodput.series.entries, week.end_us, WEEK_H).total if goodput else 0


def _spent(
    facts: Facts, scope: Scope, week: Week, by: str
) -> tuple[tuple[str, int, int, int], ...]:
    now = detail.spent_by(facts, by, scope, week.start_us, week.end_us, {})
    last_us = week.start_us - WEEK_US
    before = {
        row["name"]: row["lost"]
        for row in detail.spent_by(facts, by, scope, last_us, week.start_us, {})
    }
    return tuple((r["name"], r["lost"], r["again"], before.get(r["name"], 0)) for r in now)


def _frozen(facts: Facts, scope: Scope, week: Week, as_of_us: int) -> tuple[tuple[int, int], ...]:
    spans = home.course(facts, scope, as_of_us).frozen
    return tuple((max(a, week.start_us), b) for a, b in spans if b > week.start_us)


def ruled(entries: Sequence[Ruling], week: Week) -> list[Ruling]:
    """Overrides, freezes and thaws by hand, and adjustments that were written in the week."""
    apart = (*OWN, Kind.NOTE)
    return [e for e in entries if week.start_us <= e.at_us < week.end_us and e.kind not in apart]


def notes(entries: Sequence[Ruling], week: Week) -> list[Ruling]:
    """Notes kept with the week: those that name it, and those written in it."""
    return [
        e
        for e in entries
        if e.kind is Kind.NOTE and (e.body.get("week") or Week.of(e.at_us).name) == week.name
    ]


def weeks(facts: Facts) -> list[str]:
    """Every week with data, the newest first."""
    last_us = facts.data_through_us
    if last_us is None:
        return []
    # Jobs that only wait have a week, and no hour of wall-clock yet.
    first_us = facts.first_hour_us if facts.first_hour_us is not None else last_us - 1
    starts = range(week_of(first_us), last_us, WEEK_US)
    return [Week.of(us).name for us in reversed(starts)]
