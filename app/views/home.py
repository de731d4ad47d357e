"""Budgets of a scope, its freeze, and what spent them."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from answers import budgets, detail, freezes
from answers import preview as previews
from answers.budgets import Moment, Report, Series
from answers.facts import Facts
from metrics.budget import PRESENT_BURN, WINDOW_US, State, coming
from metrics.freeze import Standing
from metrics.scope import Scope

AHEAD_H = 14 * 24
"""Hours of forecast beside the 30 days that were."""


@dataclass(frozen=True)
class Card:
    """One objective at a look; shares are exact, `spark` is for the eye.

    It has a point each six hours, of which the last is what is left now.
    """

    slo: str
    measure: str
    tier: str | None
    target: Fraction
    unit: str
    state: State
    total: int
    bad: int
    allowed: int
    left: Fraction | None
    burn: Mapping[str, Fraction | None]
    spark: tuple[float, ...]
    is_over_cautious: bool
    exhausted_us: int | None
    thaw_us: int | None
    thaw_present_us: int | None
    limit_us: int | None

    @property
    def key(self) -> str:
        """What tells it from the others of the scope."""
        return f"{self.slo}/{self.tier}" if self.tier else self.slo


def cards(facts: Facts, scope: Scope, as_of_us: int) -> list[Card]:
    """A card for each objective that applies."""
    return [_card(facts, report) for report in budgets.reports(facts, scope, as_of_us)]


def _card(facts: Facts, report: Report) -> Card:
    series, budget = report.series, report.budget
    back = [share for _, b in report.history[::-6] if (share := b.remaining_share) is not None]
    return Card(
        series.slo,
        series.measure,
        series.scope.tier if series.measure == "queue_wait" else None,
        series.target,
        series.unit.value,
        report.state,
        budget.amount.total,
        budget.amount.bad,
        budget.allowed,
        budget.remaining_share,
        report.burn,
        tuple(float(share) for share in reversed(back)),
        report.is_over_cautious,
        report.exhausted_us,
        report.thaw.at_us if report.thaw else None,
        report.thaw_at_present_burn.at_us if report.thaw_at_present_burn else None,
        _limit(facts, series),
    )


def _limit(facts: Facts, series: Series) -> int | None:
    if series.measure == "time_to_restart":
        return facts.policy.restart_limit_us
    tier = facts.policy.tier(series.scope.tier) if series.scope.tier else None
    return tier.queue_limit_us if tier and series.measure == "queue_wait" else None


@dataclass(frozen=True)
class Course:
    """The freeze's way through the last 30 days; spans are (from, to) in µs."""

    standing: Standing
    since_us: int | None
    frozen: tuple[tuple[int, int], ...]
    unknown: tuple[tuple[int, int], ...]
    holding: tuple[str, ...]
    """The objectives that hold it now."""


def course(facts: Facts, scope: Scope, as_of_us: int) -> Course:
    """The states of the closed hours, as spans."""
    found = freezes.course(facts, scope, as_of_us)
    start_us = Moment.of(facts, as_of_us).start_us
    spans: list[tuple[int, int, Standing]] = []
    for hour, state in zip(found.hours, found.states, strict=True):
        if spans and spans[-1][2] is state.standing:
            spans[-1] = (spans[-1][0], hour.end_us, state.standing)
        else:
            spans.append((hour.end_us, hour.end_us, state.standing))
    last = found.last_hour
    return Course(
        found.last.standing,
        spans[-1][0] if spans else None,
        _within(spans, Standing.FROZEN, start_us, as_of_us),
        _within(spans, Standing.UNKNOWN, start_us, as_of_us),
        tuple(dict.fromkeys(r.slo for r in last.readings if r.keeps_frozen)) if last else (),
    )


def _within(
    spans: list[tuple[int, int, Standing]], wanted: Standing, start_us: int, end_us: int
) -> tuple[tuple[int, int], ...]:
    ends = [*(span[0] for span in spans[1:]), end_us][: len(spans)]
    return tuple(
        (max(from_us, start_us), to_us)
        for (from_us, _, standing), to_us in zip(spans, ends, strict=True)
        if standing is wanted and to_us > start_us
    )


@dataclass(frozen=True)
class Line:
    """Shares of an allowance by moment in µs: what was, and what comes under two assumptions."""

    left: tuple[tuple[int, float], ...]
    nothing_lost: tuple[tuple[int, float], ...]
    present_burn: tuple[tuple[int, float], ...]
    band: tuple[tuple[int, float, float], ...]
    """(moment, least, most) between the burns of 6 hours and of 30 days."""


def line(facts: Facts, scope: Scope, as_of_us: int, key: str) -> Line:
    """The line of one objective (a card's key)."""
    report = report_of(facts, scope, as_of_us, key)
    judged = (State.WITHIN, State.EXHAUSTED)
    left = [
        (at, float(s))
        for at, b in report.history
        if (s := b.remaining_share) is not None and report.series.state(b.amount) in judged
    ]
    if report.series.measure == "checkpoint_durability":
        return Line(tuple(left), (), (), ())
    return Line(
        tuple(left),
        _ahead(report, Fraction(0)),
        _ahead(report, report.burn[PRESENT_BURN] or Fraction(0)),
        _band(report),
    )


def _band(report: Report) -> tuple[tuple[int, float, float], ...]:
    short, long = (_ahead(report, report.burn[span] or Fraction(0)) for span in ("6h", "30d"))
    return tuple(
        (at_us, min(one, other), max(one, other))
        for (at_us, one), (_, other) in zip(short, long, strict=True)
    )


def _ahead(report: Report, burn: Fraction) -> tuple[tuple[int, float], ...]:
    series = report.series
    found = coming(series.entries, series.target, report.moment.end_us, burn, AHEAD_H)
    return tuple(
        (at_us, float((allowance - bad) / allowance))
        for at_us, allowance, bad in found
        if allowance
    )


def report_of(facts: Facts, scope: Scope, as_of_us: int, key: str) -> Report:
    """The report of a card, or of a measure; the first where there is none of that key.

    What an objective is called is the site's, so goodput is asked for by what it measures.
    """
    slo, _, tier = key.partition("/")
    found = budgets.reports(facts, scope, as_of_us)
    named = [r for r in found if slo in (r.series.slo, r.series.measure)]
    fits = [r for r in named if not tier or r.series.scope.tier == tier]
    return (fits or found)[0]


@dataclass(frozen=True)
class Spent:
    """What spent a budget by one dimension: (name, amount, of it again, in the window before)."""

    rows: tuple[tuple[str, int, int, int | None], ...]
    allowed: int
    unit: str


def spent(
    facts: Facts, scope: Scope, as_of_us: int, by: str, only: tuple[tuple[str, str], ...]
) -> Spent:
    """What spent the goodput budget, by a dimension, of what fits `only`."""
    report = report_of(facts, scope, as_of_us, "goodput")
    moment, narrowed = report.moment, dict(only)
    now = detail.spent_by(facts, by, scope, moment.start_us, moment.end_us, narrowed)
    past_us = moment.start_us - (moment.end_us - moment.start_us)
    before = {
        row["name"]: row["lost"]
        for row in detail.spent_by(facts, by, scope, past_us, moment.start_us, narrowed)
    }
    # A window before the first record says nothing of what was lost in it.
    known = facts.first_hour_us is not None and facts.first_hour_us < past_us + WINDOW_US // 2
    rows = tuple(
        (r["name"], r["lost"], r["again"], before.get(r["name"], 0) if known else None) for r in now
    )
    return Spent(rows, report.budget.allowed, report.series.unit.value)


def spent_events(facts: Facts, scope: Scope, as_of_us: int, key: str, by: str) -> Spent:
    """What spent an objective that counts, by a dimension."""
    report = report_of(facts, scope, as_of_us, key)
    found = report.spending().get(by, {})
    moment = report.moment
    events = budgets.events_of(facts, report.series.measure, report.series.scope, moment.end_us)
    past_us = moment.start_us - (moment.end_us - moment.start_us)
    before = facts.event_spending(events, past_us, moment.start_us).get(by, {})
    rows = tuple((name, amount, 0, before.get(name, 0)) for name, amount in found.items())
    return Spent(rows, report.budget.allowed, report.series.unit.value)


def nodes(facts: Facts) -> list[str]:
    """Every node that an allocation names."""
    return sorted(facts.nodes())


def preview(
    facts: Facts, change: str, nodes: tuple[str, ...], away_us: int, at_us: int
) -> dict[str, Any]:
    """What a change of those nodes would cost (see answers.preview)."""
    return previews.preview(facts, change, list(nodes), away_us, at_us)


def goodput(facts: Facts, scope: Scope, as_of_us: int) -> dict[str, Any]:
    """Whole goodput beside the platform's share (see Report.goodput)."""
    return report_of(facts, scope, as_of_us, "goodput").goodput()
